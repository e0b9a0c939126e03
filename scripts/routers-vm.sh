#!/usr/bin/env bash
# Runs the live tests' set-ups of routers that take other devices than this kernel may have (VRF, WireGuard, bonds,
# VLANs, flow tables, PPPoE), in a virtual machine: Debian's kernel under qemu without KVM, over this machine's root,
# which it cannot write (an overlay in its memory takes what it writes). The kernel is fetched once, and kept in
# routers-vm of the target directory; it boots in some 15 s.
# Usage: routers-vm.sh LIVE-TEST-BINARY [FILTER]
set -euo pipefail
cd "$(dirname "$0")/.."
binary=$(realpath "$1")
shift
target=${CARGO_TARGET_DIR:-$PWD/target}
mkdir -p "$target/routers-vm"
kept=$(realpath "$target/routers-vm")
PATH=$PATH:/usr/sbin:/sbin

for program in qemu-system-x86_64 busybox modprobe wg pppd pppoe-server; do
    if ! command -v "$program" >/dev/null; then
        echo "routers-vm: there is no $program: run scripts/install-packages.sh routers as root" >&2
        exit 1
    fi
done

# Debian's kernel, whatever its version is today.
if [ ! -e "$kept/ready" ]; then
    echo "routers-vm: fetching Debian's kernel, once"
    rm -rf "$kept"
    mkdir -p "$kept"
    (
        cd "$kept"
        package=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: //p' | head -n 1)
        apt-get -qq download "$package"
        dpkg-deb -x "$package"_*.deb kernel
        rm "$package"_*.deb
        depmod -b kernel "$(ls kernel/lib/modules)"
    )
    touch "$kept/ready"
fi
version=$(ls "$kept/kernel/lib/modules")

# What boots: modules for this machine's root, which is then everything.
scripts/vm-initrd.sh "$kept/kernel" "$kept/initrd.gz" virtio_pci 9pnet_virtio 9p overlay <<'INIT'
$b mkdir -p /below /above /new
$b mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,ro,cache=loose root /below
$b mount -t tmpfs above /above; $b mkdir /above/upper /above/work
$b mount -t overlay -o lowerdir=/below,upperdir=/above/upper,workdir=/above/work root /new
$b mount -t proc proc /new/proc; $b mount -t sysfs sys /new/sys; $b mount -t devtmpfs dev /new/dev
$b ln -s /proc/self/fd /new/dev/fd; $b mkdir -p /new/dev/pts; $b mount -t devpts pts /new/dev/pts
$b mount -t tmpfs -o mode=755 run /new/run
exec $b chroot /new /bin/bash "$($b sed 's/.*bentpipe_run=\([^ ]*\).*/\1/' /proc/cmdline)"
INIT

# Written anew each time: the binary under test has another name whenever it is built.
{
    printf 'export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root BENTPIPE_LIVE_TESTS=routers-vm\n'
    printf 'mkdir -p /lib/modules; ln -sfn %q /lib/modules/%q\n' "$kept/kernel/lib/modules/$version" "$version"
    printf 'ip link set lo up; for module in tun pppoe nf_conntrack; do modprobe "$module"; done\n'
    printf 'cd %q && %q --color never %s\n' "$PWD/crates/cli" "$binary" "${*@Q}"
    printf 'echo "routers-vm: ended with $?"\n'
    printf 'echo o >/proc/sysrq-trigger; sleep 60\n'
} >"$kept/run.sh"

log=$kept/log
timeout 1200 qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 2048 -no-reboot \
    -kernel "$kept/kernel/boot/vmlinuz-$version" -initrd "$kept/initrd.gz" \
    -append "console=ttyS0 quiet loglevel=3 panic=-1 bentpipe_run=$kept/run.sh" \
    -virtfs local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap \
    -monitor none -serial stdio -display none </dev/null | stdbuf -oL tr -d '\r' | tee "$log"
grep -qx 'routers-vm: ended with 0' "$log"

#!/usr/bin/env bash
# Runs a folder's in-machine.sh as root in a virtual machine with systemd: Debian under qemu without KVM, from an image
# that is prepared once and kept in package-vm of the target directory. The folder is /trial there, which nothing
# changes. The kernel is the image's, or that of a folder (vm-kernel.sh).
# Usage: package-vm.sh FOLDER [KERNEL]
#        package-vm.sh --prepare                (the image alone)
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin:/sbin
if [ "$(id -u)" -ne 0 ]; then
    echo "package-vm: not root, which the machine's image takes: nothing is tried" >&2
    exit 1
fi
for program in qemu-system-x86_64 busybox mmdebstrap mke2fs modprobe; do
    if ! command -v "$program" >/dev/null; then
        echo "package-vm: there is no $program: run scripts/install-packages.sh machine as root" >&2
        exit 1
    fi
done
target=${CARGO_TARGET_DIR:-$PWD/target}
mkdir -p "$target/package-vm"
kept=$(realpath "$target/package-vm")

# What boots an image's root; then Debian's init is everything.
initrd() { # ROOT-WITH-THE-KERNEL OUTPUT
    scripts/vm-initrd.sh "$1" "$2" virtio_pci virtio_blk ext4 9pnet_virtio 9p <<'INIT'
$b mount -t ext4 /dev/vda /root
if $b grep -q bentpipe_modules /proc/cmdline; then
    $b mount -t 9p -o trans=virtio,version=9p2000.L,ro modules /root/usr/lib/modules
fi
$b umount /proc; $b umount /sys
exec $b switch_root /root /sbin/init
INIT
}

packages=systemd-sysv,dbus,iproute2,nftables,procps,kmod,curl,jq,busybox-static,iputils-ping,linux-image-amd64,passwd,init-system-helpers
if [ "$(cat "$kept/ready" 2>/dev/null)" != "$packages" ]; then
    echo "package-vm: preparing a machine's image, once, which takes two minutes"
    rm -rf "$kept"
    mkdir -p "$kept"
    root=$(mktemp -d)
    trap 'rm -rf "$root"' EXIT
    mmdebstrap --quiet --variant=minbase --include="$packages" \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        --customize-hook='chroot "$1" passwd -d root >/dev/null' bookworm "$root/debian"
    cp "$root/debian"/boot/vmlinuz-* "$kept/vmlinuz"
    initrd "$root/debian" "$kept/initrd.gz"
    # What it does once it is up: what it is given.
    cat >"$root/debian/etc/systemd/system/trial.service" <<'UNIT'
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'mkdir -p /trial && mount -t 9p -o trans=virtio,version=9p2000.L,ro trial /trial && bash /trial/in-machine.sh; echo "machine: ended with $?"; sync; systemctl poweroff -ff'
StandardOutput=file:/dev/ttyS0
StandardError=inherit
UNIT
    mkdir -p "$root/debian/etc/systemd/system/multi-user.target.wants"
    ln -s ../trial.service "$root/debian/etc/systemd/system/multi-user.target.wants/"
    echo router >"$root/debian/etc/hostname"
    mke2fs -q -t ext4 -d "$root/debian" "$kept/root.img" 1500M
    echo "$packages" >"$kept/ready"
    rm -rf "$root"
fi
if [ "$1" = --prepare ]; then
    exit 0
fi

trial=$(realpath "$1")
kernel=$kept/vmlinuz initrd=$kept/initrd.gz modules=()
line="console=ttyS0 quiet loglevel=3 panic=-1 systemd.show_status=0 systemd.mask=serial-getty@ttyS0.service net.ifnames=0"
if [ $# -gt 1 ]; then
    # In boot, or with its modules.
    kernel=$(find "$2" -name 'vmlinuz*' -type f | head -n 1) initrd=$2/initrd.gz
    initrd "$2" "$initrd"
    modules=(-virtfs "local,path=$2/lib/modules,mount_tag=modules,security_model=none,readonly=on")
    line+=" bentpipe_modules"
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
timeout --foreground 1800 qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 1024 -no-reboot -snapshot \
    -kernel "$kernel" -initrd "$initrd" -append "$line" \
    -drive "file=$kept/root.img,format=raw,if=virtio" \
    -virtfs "local,path=$trial,mount_tag=trial,security_model=none,readonly=on" \
    "${modules[@]}" -nic none -monitor none -serial stdio -display none </dev/null | stdbuf -oL tr -d '\r' | tee "$log"
grep -qx 'machine: ended with 0' "$log"

#!/usr/bin/env bash
# Installs, uses, upgrades, removes and purges the gateway's Debian package, as an operator would, in a virtual machine
# with systemd: Debian under qemu without KVM, from an image that is prepared once and kept in
# package-vm of the target directory. packaging/test/in-machine.sh says what is tried.
# Usage: test-packages.sh [PACKAGE.deb]      (without it: the one in out/package)
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
    sed -n '2,/^# Usage/s/^# \{0,1\}//p' "$0"
    exit 0
fi
shopt -s nullglob
debs=(out/package/bentpipe-gateway_*.deb)
deb=${1:-${debs[-1]:-}}
if [ ! -e "$deb" ]; then
    echo "test-packages: there is no package in out/package: run \`make deb PACKAGE=bentpipe-gateway\`" >&2
    exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "test-packages: not root, which the machine's image takes: nothing is tried" >&2
    exit 1
fi
PATH=$PATH:/usr/sbin:/sbin
for program in qemu-system-x86_64 busybox mmdebstrap mke2fs dpkg-deb; do
    if ! command -v "$program" >/dev/null; then
        echo "test-packages: there is no $program: run scripts/install-packages.sh machine as root" >&2
        exit 1
    fi
done
target=${CARGO_TARGET_DIR:-$PWD/target}
mkdir -p "$target/package-vm"
kept=$(realpath "$target/package-vm")

packages=systemd-sysv,dbus,iproute2,nftables,procps,kmod,curl,jq,busybox-static,iputils-ping,linux-image-amd64,passwd,init-system-helpers
if [ "$(cat "$kept/ready" 2>/dev/null)" != "$packages" ]; then
    echo "test-packages: preparing a machine's image, once, which takes two minutes"
    rm -rf "$kept"
    mkdir -p "$kept/initrd/bin"
    root=$(mktemp -d)
    trap 'rm -rf "$root"' EXIT
    mmdebstrap --quiet --variant=minbase --include="$packages" \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        --customize-hook='chroot "$1" passwd -d root >/dev/null' bookworm "$root/debian"
    version=$(ls "$root/debian/lib/modules")
    cp "$root/debian/boot/vmlinuz-$version" "$kept/vmlinuz"
    # What mounts the root; then Debian's init is everything.
    initrd=$kept/initrd
    mkdir -p "$initrd"/{proc,sys,dev,modules,root}
    cp "$(command -v busybox)" "$initrd/bin/busybox"
    for module in virtio_pci virtio_blk ext4 9pnet_virtio 9p; do
        modprobe -d "$root/debian" -S "$version" --show-depends "$module"
    done | awk '/^insmod/ && !seen[$2]++ { print $2 }' | while read -r file; do
        cp "$file" "$initrd/modules/"
        basename "$file"
    done >"$initrd/modules/list"
    cat >"$initrd/init" <<'INIT'
#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc; $b mount -t sysfs sys /sys; $b mount -t devtmpfs dev /dev
while read -r module; do $b insmod "/modules/$module"; done </modules/list
$b mount -t ext4 /dev/vda /root
$b umount /proc; $b umount /sys
exec $b switch_root /root /sbin/init
INIT
    chmod +x "$initrd/init"
    (cd "$initrd" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$kept/initrd.gz"
    rm -r "$initrd"
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

trial=$(mktemp -d)
trap 'rm -rf "$trial"' EXIT
cp packaging/test/in-machine.sh "$trial/"
cp "$deb" "$trial/first.deb"
# The next version: the same with another number.
dpkg-deb -R "$deb" "$trial/next"
sed -i 's/^Version: .*/&.1/' "$trial/next/DEBIAN/control"
dpkg-deb --root-owner-group -b "$trial/next" "$trial/next.deb" >/dev/null
rm -r "$trial/next"

echo "test-packages: the machine starts, which takes half a minute"
log=$kept/log
timeout 900 qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 1024 -no-reboot -snapshot \
    -kernel "$kept/vmlinuz" -initrd "$kept/initrd.gz" -append "console=ttyS0 quiet loglevel=3 panic=-1 systemd.show_status=0 systemd.mask=serial-getty@ttyS0.service net.ifnames=0" \
    -drive "file=$kept/root.img,format=raw,if=virtio" \
    -virtfs "local,path=$trial,mount_tag=trial,security_model=none,readonly=on" \
    -nic none -monitor none -serial stdio -display none </dev/null | stdbuf -oL tr -d '\r' | tee "$log"
grep -qx 'machine: ended with 0' "$log"

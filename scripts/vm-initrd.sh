#!/usr/bin/env bash
# Writes what a virtual machine boots: modules of its kernel, and what is then to be done, which is standard input.
# Usage: vm-initrd.sh ROOT-WITH-THE-KERNEL OUTPUT MODULE... <WHAT-IS-DONE
set -euo pipefail
root=$1 output=$2
shift 2
PATH=$PATH:/usr/sbin:/sbin
version=$(ls "$root/lib/modules")

initrd=$(mktemp -d)
trap 'rm -rf "$initrd"' EXIT
mkdir -p "$initrd"/{bin,proc,sys,dev,modules,root}
cp "$(command -v busybox)" "$initrd/bin/busybox"
# A module that is built into this kernel has no file.
for module in "$@"; do
    modprobe -d "$root" -S "$version" --show-depends "$module"
done | awk '/^insmod/ && !seen[$2]++ { print $2 }' | while read -r file; do
    # busybox inserts what is not compressed.
    case $file in
        *.xz) xz -dc "$file" >"$initrd/modules/$(basename "$file" .xz)" ;;
        *.zst) zstd -qdc "$file" >"$initrd/modules/$(basename "$file" .zst)" ;;
        *) cp "$file" "$initrd/modules/" ;;
    esac
    file=$(basename "$file")
    echo "${file%.ko*}.ko"
done >"$initrd/modules/list"
{
    cat <<'INIT'
#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc; $b mount -t sysfs sys /sys; $b mount -t devtmpfs dev /dev
while read -r module; do $b insmod "/modules/$module"; done </modules/list
INIT
    cat
} >"$initrd/init"
chmod +x "$initrd/init"
(cd "$initrd" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$output"

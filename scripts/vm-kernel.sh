#!/usr/bin/env bash
# Fetches the kernel that a Debian suite has today, once, into kernels of the target directory, and says in which folder
# it is, with its lib/modules. ubuntu-4.15 is Ubuntu 18.04's first, which is older than any that Debian's mirrors have.
# Usage: vm-kernel.sh SUITE|ubuntu-4.15
# Example: scripts/vm-kernel.sh bookworm-backports
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" = --help ] || [ "${1:-}" = -h ] || [ $# -ne 1 ]; then
    sed -n '2,/^# Example/s/^# \{0,1\}//p' "$0"
    exit $(($# != 1))
fi
suite=$1
PATH=$PATH:/usr/sbin:/sbin
target=${CARGO_TARGET_DIR:-$PWD/target}
mkdir -p "$target/kernels"
kernel=$(realpath "$target/kernels")/$suite
if [ -e "$kernel/ready" ]; then
    echo "$kernel"
    exit 0
fi

echo "vm-kernel: fetching the kernel of $suite, once (20 to 100 MB)" >&2
lists=$(mktemp -d)
trap 'rm -rf "$lists"' EXIT
rm -rf "$kernel"
unpack() { # ADDRESS SHA256
    /usr/lib/apt/apt-helper -o APT::Sandbox::User=root download-file "$1" "$lists/package.deb" "SHA256:$2" >/dev/null
    dpkg-deb -x "$lists/package.deb" "$kernel"
    rm "$lists/package.deb"
}
finish() {
    if [ ! -e "$kernel/lib/modules" ]; then mkdir -p "$kernel/lib" && mv "$kernel/usr/lib/modules" "$kernel/lib/"; fi
    depmod -b "$kernel" "$(ls "$kernel/lib/modules")"
    touch "$kernel/ready"
    echo "$kernel"
}
if [ "$suite" = ubuntu-4.15 ]; then
    pool=http://archive.ubuntu.com/ubuntu/pool/main/l end=4.15.0-20-generic_4.15.0-20.21_amd64.deb
    unpack "$pool/linux-signed/linux-image-$end" b92991dc7c21f0212978f17e043d32a7551fc12dd1d9365434f803a25cd1adf8
    unpack "$pool/linux/linux-modules-$end" c829da8d8fc3f4941ee7f2972b5c932bf728279c49cad0836a48238cb2875217
    finish
    exit 0
fi

mirror=http://deb.debian.org/debian
mkdir "$lists/partial"
echo "deb $mirror $suite main" >"$lists/sources.list"
apt-get -qq -o "Dir::Etc::SourceList=$lists/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$lists" \
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root update >&2
# The last of several versions.
entry() { # PACKAGE FIELD
    /usr/lib/apt/apt-helper cat-file "$lists"/*_Packages* |
        awk -v RS= -v head="Package: $1\n" 'index($0, head) == 1' | sed -n "s/^$2: //p" | tail -n 1
}
image=$(entry linux-image-amd64 Depends | grep -o 'linux-image-[0-9][^ ]*')
# Debian's newer ones are in parts.
for package in "$image" $(entry "$image" Depends | grep -oE 'linux-(base|binary|modules)-[0-9][^ ]*'); do
    unpack "$mirror/$(entry "$package" Filename)" "$(entry "$package" SHA256)"
done
finish

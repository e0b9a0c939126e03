#!/usr/bin/env bash
# Observes, splits and stops with the gateway's Debian package on kernels of several Debian suites, each in a virtual
# machine (package-vm.sh). packaging/test/kernel.sh says what is tried. The kernels are fetched once (400 MB), and kept
# in kernels of the target directory.
# Usage: test-kernels.sh [SUITE]...      (without one: bullseye bookworm bookworm-backports trixie-backports)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tested-packages.sh
suites=("$@")
if [ $# -eq 0 ]; then suites=(bullseye bookworm bookworm-backports trixie-backports); fi
deb=$(packaged 'bentpipe-gateway_*.deb' 'make deb PACKAGE=bentpipe-gateway' | tail -n 1)
target=${CARGO_TARGET_DIR:-$PWD/target}
mkdir -p "$target/kernels"
kept=$(realpath "$target/kernels")

# A suite's kernel, whatever its version is today.
fetch() { # SUITE FOLDER
    local lists mirror=http://deb.debian.org/debian image package
    lists=$(mktemp -d)
    mkdir "$lists/partial"
    echo "deb $mirror $1 main" >"$lists/sources.list"
    apt-get -qq -o "Dir::Etc::SourceList=$lists/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$lists" \
        -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root update
    # The last of several versions.
    entry() { # PACKAGE FIELD
        /usr/lib/apt/apt-helper cat-file "$lists"/*_Packages* |
            awk -v RS= -v head="Package: $1\n" 'index($0, head) == 1' | sed -n "s/^$2: //p" | tail -n 1
    }
    image=$(entry linux-image-amd64 Depends | grep -o 'linux-image-[0-9][^ ]*')
    rm -rf "$2"
    # Debian's newer ones are in parts.
    for package in "$image" $(entry "$image" Depends | grep -oE 'linux-(base|binary|modules)-[0-9][^ ]*'); do
        /usr/lib/apt/apt-helper -o APT::Sandbox::User=root download-file "$mirror/$(entry "$package" Filename)" \
            "$lists/$package.deb" "SHA256:$(entry "$package" SHA256)" >/dev/null
        dpkg-deb -x "$lists/$package.deb" "$2"
    done
    if [ ! -e "$2/lib/modules" ]; then mkdir -p "$2/lib" && mv "$2/usr/lib/modules" "$2/lib/"; fi
    depmod -b "$2" "$(ls "$2/lib/modules")"
    touch "$2/ready"
    rm -rf "$lists"
}

status=0
for suite in "${suites[@]}"; do
    kernel=$kept/$suite
    if [ ! -e "$kernel/ready" ]; then
        echo "test-kernels: fetching the kernel of $suite, once"
        fetch "$suite" "$kernel"
    fi
    echo "test-kernels: $suite has Linux $(ls "$kernel/lib/modules"); the machine starts, which takes half a minute"
    trial=$(mktemp -d -p "$kept")
    cp packaging/test/*.sh "$trial/"
    mv "$trial/kernel.sh" "$trial/in-machine.sh"
    cp "$deb" "$trial/first.deb"
    cp -al "$kernel/lib/modules" "$trial/modules"
    scripts/package-vm.sh "$trial" "$kernel" || status=1
    rm -rf "$trial"
done
exit "$status"

#!/usr/bin/env bash
# Observes, splits and stops with the gateway's Debian package on kernels of several distributions, each in a virtual
# machine (package-vm.sh): packaging/test/kernel.sh says what is tried. One that is too old is refused in one line
# (packaging/test/old-kernel.sh). The kernels are fetched once (vm-kernel.sh; 400 MB).
# Usage: test-kernels.sh [KERNEL]...      (without one: ubuntu-4.15 bullseye bookworm bookworm-backports trixie-backports)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tested-packages.sh
kernels=("$@")
if [ $# -eq 0 ]; then kernels=(ubuntu-4.15 bullseye bookworm bookworm-backports trixie-backports); fi
deb=$(packaged 'bentpipe-gateway_*.deb' 'make deb PACKAGE=bentpipe-gateway' | tail -n 1)

trial=$(mktemp -d)
trap 'rm -rf "$trial"' EXIT
cp packaging/test/{toolbox,router}.sh "$trial/"
cp "$deb" "$trial/first.deb"
status=0
for name in "${kernels[@]}"; do
    kernel=$(scripts/vm-kernel.sh "$name")
    what=kernel
    if [ "$name" = ubuntu-4.15 ]; then what=old-kernel; fi
    cp "packaging/test/$what.sh" "$trial/in-machine.sh"
    echo "test-kernels: $name has Linux $(ls "$kernel/lib/modules"); the machine starts, which takes half a minute"
    scripts/package-vm.sh "$trial" "$kernel" || status=1
done
exit "$status"

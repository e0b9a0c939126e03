#!/usr/bin/env bash
# Installs, uses, upgrades, removes and purges the gateway's Debian package, as an operator would, in a virtual machine
# with systemd (package-vm.sh). packaging/test/in-machine.sh says what is tried.
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

trial=$(mktemp -d)
trap 'rm -rf "$trial"' EXIT
cp packaging/test/*.sh "$trial/"
cp "$deb" "$trial/first.deb"
# The next version: the same with another number.
dpkg-deb -R "$deb" "$trial/next"
sed -i 's/^Version: .*/&.1/' "$trial/next/DEBIAN/control"
dpkg-deb --root-owner-group -b "$trial/next" "$trial/next.deb" >/dev/null
rm -r "$trial/next"

echo "test-packages: the machine starts, which takes half a minute"
scripts/package-vm.sh "$trial"

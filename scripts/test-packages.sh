#!/usr/bin/env bash
# Installs, uses, upgrades, removes and purges both Debian packages in virtual machines with systemd (package-vm.sh):
# packaging/test/operator.sh is what an operator types by docs/install.md, on a kernel that has tcx (Debian's backports),
# and packaging/test/lifecycle.sh what may happen later, on one that has not. Before that lintian finds neither an error nor a warning that packaging/debian/*.lintian-overrides does not explain.
# Usage: test-packages.sh [BENTPIPE-GATEWAY.deb BENTPIPE.deb]      (without them: those in out/package)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tested-packages.sh
gateway=${1:-$(packaged 'bentpipe-gateway_*.deb' 'make deb' | tail -n 1)}
whole=${2:-$(packaged 'bentpipe_*.deb' 'make deb' | tail -n 1)}
if ! command -v lintian >/dev/null; then
    echo "test-packages: there is no lintian: run scripts/install-packages.sh machine as root" >&2
    exit 1
fi

echo "test-packages: lintian looks at both, which takes half a minute"
lintian --no-cfg --allow-root --fail-on error,warning "$gateway" "$whole"

trial=$(mktemp -d)
trap 'rm -rf "$trial"' EXIT
# The package, and the next version: the same with another number.
stage() { # PACKAGE.deb FIRST NEXT
    cp "$1" "$trial/$2"
    dpkg-deb -R "$1" "$trial/next"
    sed -i 's/^Version: .*/&.1/' "$trial/next/DEBIAN/control"
    dpkg-deb -Znone --root-owner-group -b "$trial/next" "$trial/$3" >/dev/null
    rm -r "$trial/next"
}
cp packaging/test/{toolbox,router}.sh "$trial/"
stage "$gateway" first.deb next.deb
stage "$whole" whole.deb whole-next.deb

# Both at once: each machine waits for timers more than it works.
run() { # SCRIPT [KERNEL]
    local began=$SECONDS failed=0
    mkdir "$trial/$1"
    ln "$trial"/*.{deb,sh} "$trial/$1/"
    cp "packaging/test/$1.sh" "$trial/$1/in-machine.sh"
    scripts/package-vm.sh "$trial/$1" "${@:2}" || failed=1
    echo "took $((SECONDS - began)) s"
    return $failed
}
kernel=$(scripts/vm-kernel.sh bookworm-backports)
scripts/package-vm.sh --prepare
echo "test-packages: the machines of packaging/test/{operator,lifecycle}.sh start, which takes a minute or two"
{ run operator "$kernel" 2>&1 | sed -u 's/^/operator: /'; } &
operator=$!
failed=0
run lifecycle 2>&1 | sed -u 's/^/lifecycle: /' || failed=1
wait $operator || failed=1
exit $failed

#!/usr/bin/env bash
# Installs, verifies, upgrades and erases an RPM of ours with its scriptlets, in a root of its own: Debian with systemd's
# programs (none runs there) and a database of rpm's. What it depends on has other names there, and is not looked at.
# Usage: test-rpm.sh [PACKAGE.rpm]...      (without one: those in out/package)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tested-packages.sh
packages=("$@")
if [ $# -eq 0 ]; then
    found=$(packaged '*.rpm' 'make rpm')
    mapfile -t packages <<<"$found"
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "test-rpm: not root, which another root takes: nothing is tried" >&2
    exit 1
fi
root=$(mktemp -d)
trap 'umount "$root/proc" 2>/dev/null; rm -rf "$root"' EXIT
echo "test-rpm: preparing a root, which takes a minute"
mmdebstrap --quiet --variant=minbase --include=systemd,iproute2,nftables bookworm "$root" >/dev/null
mount -t proc proc "$root/proc"
rpm=(rpm --root "$root" --nodeps)
rpm --root "$root" --initdb

failed=0
holds() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@" >/tmp/test-rpm.$$ 2>&1; then
        echo "holds: $what"
    else
        echo "DOES NOT HOLD: $what"
        failed=1
        sed 's/^/    /' /tmp/test-rpm.$$ | head -n 20
    fi
    rm -f /tmp/test-rpm.$$
}
everything() {
    local home=root
    find "$root" \( -path "$root/proc" -o -path "$root/var/lib/rpm" -o -path "$root/$home/.rpmdb" \) -prune -o -print | sort
}
valid_scriptlets() { # PACKAGE
    local scriptlets
    for kind in PREIN POSTIN PREUN POSTUN; do
        scriptlets=$(rpm -qp --qf "%{$kind}" "$1" 2>/dev/null)
        if [ "$scriptlets" != "(none)" ]; then sh -n <<<"$scriptlets"; fi
    done
}
owned_by_root() { # PACKAGE
    test -z "$(rpm -qp --qf '[%{FILEUSERNAME}:%{FILEGROUPNAME} %{FILENAMES}\n]' "$1" 2>/dev/null | grep -v '^root:root ')"
}
writable_by_root_alone() { # PACKAGE
    test -z "$(rpm -qp --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' "$1" 2>/dev/null | grep -v '^l' | grep -E '^.....w|^........w')"
}
is_unchanged() { # NAME: but for what a package manager leaves to the operator
    local said
    said=$("${rpm[@]}" -V "$1") || true
    test -z "$said" || { echo "$said"; false; }
}
for package in "${packages[@]}"; do
    name=$(rpm -qp --qf '%{NAME}' "$package" 2>/dev/null)
    echo "test-rpm: $(rpm -qp "$package" 2>/dev/null)"
    holds "its scriptlets are shell" valid_scriptlets "$package"
    holds "all of it belongs to root" owned_by_root "$package"
    holds "nobody else can write it" writable_by_root_alone "$package"
    everything >"$root/before"
    "${rpm[@]}" -i "$package" 2>&1 | tee "$root/said" || failed=1
    holds "no scriptlet fails" test -z "$(grep -E 'scriptlet failed|error:' "$root/said")"
    holds "what is installed is what is in it" is_unchanged "$name"
    if [ "$name" = bentpipe-gateway ]; then
        holds "it has its user" grep -q '^bentpipe:' "$root/etc/passwd"
        holds "it runs" chroot "$root" bentpipe-gateway --version
        echo '# mine' >>"$root/etc/bentpipe/gateway.toml"
        holds "it is installed over itself" "${rpm[@]}" -U --force "$package"
        # As systemd makes it for the service.
        mkdir -p "$root/var/lib/bentpipe/gateway"
        echo '{}' >"$root/var/lib/bentpipe/gateway/gateway-links.json"
        holds "what the operator wrote is still there" grep -q '^# mine' "$root/etc/bentpipe/gateway.toml"
    else
        holds "it runs" chroot "$root" "$name" --version
    fi
    "${rpm[@]}" -e "$name" 2>&1 | tee "$root/said" || failed=1
    holds "no scriptlet fails when it is erased" test -z "$(grep -E 'scriptlet failed|error:' "$root/said")"
    if [ "$name" = bentpipe-gateway ]; then
        holds "what the operator wrote is kept under another name" grep -q '^# mine' "$root/etc/bentpipe/gateway.toml.rpmsave"
        holds "the links that it has found stay, as an RPM has no purge" test -e "$root/var/lib/bentpipe/gateway/gateway-links.json"
    fi
    rm -f "$root/said"
    everything >"$root/after"
    echo "test-rpm: left behind:"
    comm -13 "$root/before" "$root/after" | sed "s|^$root|    |" | grep -v -e '^ */after$' || true
    rm -f "$root/before" "$root/after"
done
exit "$failed"

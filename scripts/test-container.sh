#!/usr/bin/env bash
# Builds packaging's Containerfile with buildah, and starts it with and without what it needs. No registry is asked: what
# its bases are named is made of Debian's packages, and of this machine's Rust. Containers are chroots, which have neither
# a network of their own nor cgroups, and all of this machine's devices.
# Usage: test-container.sh [PROGRAM]      (instead of building it in a container, which takes minutes: one that was built here)
# Example: scripts/test-container.sh target/dist/bentpipe-gateway
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
    sed -n '2,/^# Example/s/^# \{0,1\}//p' "$0"
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v buildah >/dev/null; then
    echo "test-container: it takes root and buildah (scripts/install-packages.sh machine): nothing is tried" >&2
    exit 1
fi
target=${CARGO_TARGET_DIR:-$PWD/target}
mkdir -p "$target/container"
kept=$(realpath "$target/container")
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
buildah() { command buildah --root "$kept/store" --runroot "$kept/run" "$@"; }

has() { buildah inspect --type image "$1" >/dev/null 2>&1; }
debian=docker.io/library/debian:bookworm-slim rust=docker.io/library/rust:1-bookworm
if ! has "$debian"; then
    echo "test-container: making a base of Debian's packages, once"
    mmdebstrap --quiet --variant=minbase bookworm "$kept/base.tar" >/dev/null
    base=$(buildah from scratch)
    buildah add --quiet "$base" "$kept/base.tar" / >/dev/null
    buildah commit --quiet --rm "$base" "$debian" >/dev/null
    rm "$kept/base.tar"
fi
# Debian's compilers; Rust is mounted when it builds, as a copy would take gigabytes.
toolchain=$(rustc --print sysroot)
if ! has "$rust"; then
    base=$(buildah from "$debian")
    buildah run "$base" -- sh -c 'apt-get -qq update && apt-get -qq install --yes --no-install-recommends gcc libc6-dev ca-certificates' >/dev/null
    buildah config --env PATH=/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin --env CARGO_HOME=/cargo "$base"
    buildah commit --quiet --rm "$base" "$rust" >/dev/null
fi
if [ $# -gt 0 ]; then
    # In the place of Rust: a cargo that has built it already.
    toolchain=$kept/rust
    mkdir -p "$toolchain/bin"
    cp "$1" "$toolchain/bin/program"
    printf '#!/bin/sh\nmkdir -p target/dist && cp /rust/bin/program target/dist/bentpipe-gateway\n' >"$toolchain/bin/cargo"
    chmod +x "$toolchain/bin/cargo"
fi
echo "test-container: building the image"
buildah bud --quiet -f packaging/container/Containerfile -t bentpipe-gateway -v "$toolchain:/rust:ro" \
    -v "${CARGO_HOME:-$HOME/.cargo}/registry:/cargo/registry" . >/dev/null
buildah images --format '{{.Name}} {{.Size}}' | grep '^localhost/bentpipe-gateway'

# The filter of system calls of Debian 12's podman and buildah has bpf(2) for CAP_SYS_ADMIN alone: see compose.yaml.
container=$(buildah from --security-opt seccomp=unconfined bentpipe-gateway)
namespace=bentpipe-container-$$
trap 'buildah rm "$container" >/dev/null; ip netns del "$namespace"' EXIT
ip netns add "$namespace"
ip netns exec "$namespace" sysctl -qw net.ipv4.ip_forward=1
ip -n "$namespace" link add lan0 type veth peer name sat0
ip -n "$namespace" link set lan0 up
ip -n "$namespace" link set sat0 up
files=$(mktemp -d)
printf '[interfaces]\nlan = ["lan0"]\nsatellite = ["sat0"]\n[policy]\nobserve = true\n' >"$files/gateway.toml"
failed=0
says() { # WHAT-IT-SAYS CAPABILITIES: what the gateway says with these, in a line
    local says=$1 has=$2
    # `--cap-drop all` would win over what is added.
    local capabilities=()
    for capability in CHOWN DAC_OVERRIDE FOWNER FSETID KILL NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT; do
        capabilities+=(--cap-drop "CAP_$capability")
    done
    for capability in ${has//,/ }; do capabilities+=(--cap-add "$capability"); done
    # As the image's ENTRYPOINT and CMD are, which `buildah run` does not take.
    ip netns exec "$namespace" env STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot buildah --root "$kept/store" --runroot "$kept/run" \
        run --network host "${capabilities[@]}" -v "$files:/etc/bentpipe:ro" "$container" -- \
        timeout 5 /usr/sbin/bentpipe-gateway --wait --config /etc/bentpipe/gateway.toml >"$files/said" 2>&1 || true
    if grep -q "$says" "$files/said"; then
        echo "holds: $says"
    else
        echo "DOES NOT HOLD: $says"
        failed=1
    fi
    sed 's/^/    /' "$files/said" | head -n 8
}
says ': ready' CAP_NET_ADMIN,CAP_BPF
says 'CAP_NET_ADMIN' CAP_BPF
says 'CAP_BPF' CAP_NET_ADMIN
rm -rf "$files"
exit "$failed"

#!/usr/bin/env bash
# Builds static gateways (musl) for routers of other distributions and machines into out/dist, with checksums and a bill
# of materials (CycloneDX). zig, which links them, and cargo-zigbuild come from PyPI into a virtual environment.
# Usage: dist.sh [--test] [x86_64|aarch64|armv7]...      (without one: all; --test: the unit tests, too, foreign ones by qemu-user)
# Example: scripts/dist.sh aarch64
set -euo pipefail
cd "$(dirname "$0")/.."

tests=no architectures=()
for argument in "$@"; do
    case $argument in
        --test) tests=yes ;;
        x86_64 | aarch64 | armv7) architectures+=("$argument") ;;
        -h | --help)
            sed -n '2,/^# Example/s/^# \{0,1\}//p' "$0"
            exit 0
            ;;
        *)
            echo "dist: \`$argument\` is none of x86_64, aarch64, armv7, --test" >&2
            exit 1
            ;;
    esac
done
if [ "${#architectures[@]}" -eq 0 ]; then architectures=(x86_64 aarch64 armv7); fi

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR=$target XDG_CACHE_HOME=$target/dist-cache PYTHONDONTWRITEBYTECODE=1
scripts/venv.sh dist-venv
venv=$target/dist-venv
echo "dist: installing cargo-zigbuild and zig into $venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check "cargo-zigbuild>=0.20,<1" "ziglang>=0.13,<1"
export PATH=$venv/bin:$PATH CARGO_ZIGBUILD_PYTHON_PATH=$venv/bin/python

tools=$target/package-tools
if [ ! -x "$tools/bin/cargo-cyclonedx" ]; then
    echo "dist: building cargo-cyclonedx once, which takes some minutes"
    cargo install --quiet --locked --root "$tools" --target-dir "$tools/build" cargo-cyclonedx
    rm -rf "$tools/build"
fi

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
flags=("--remap-path-prefix=$PWD=/bentpipe" "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo")

triple() {
    case $1 in
        armv7) echo armv7-unknown-linux-musleabihf ;;
        *) echo "$1-unknown-linux-musl" ;;
    esac
}
# What runs a program of another machine; nothing where it is this one's.
runner() {
    if [ "$1" = "$(uname -m)" ]; then return; fi
    command -v "qemu-${1/armv7/arm}" || true
}

out=out/dist
mkdir -p "$out"
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
for architecture in "${architectures[@]}"; do
    triple=$(triple "$architecture")
    std=() bootstrap='' more=()
    library=$(rustc --print target-libdir --target "$triple")
    if ! compgen -G "$library/libstd-*.rlib" >/dev/null; then
        if ! command -v rustup >/dev/null; then
            echo "dist: Rust's standard library for $triple is missing, and rustup (https://rustup.rs), which has it, too" >&2
            exit 1
        fi
        echo "dist: rustup adds $triple"
        if ! rustup --quiet target add "$triple" 2>/dev/null; then
            echo "dist: rustup has no standard library for $triple here: it is built from Rust's own sources"
            rustup --quiet component add rust-src
            # A stable compiler may build its own sources with -Z, if it is asked so. What begins and ends a program
            # is in rustup's library: here it is zig's.
            std=(-Z build-std) bootstrap=1 more=(-Clink-self-contained=no "--remap-path-prefix=$(rustc --print sysroot)=/rust")
        fi
    fi
    more+=("${flags[@]}")
    CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && echo "${more[*]}")
    export CARGO_ENCODED_RUSTFLAGS
    echo "dist: building for $architecture"
    env ${bootstrap:+RUSTC_BOOTSTRAP=1} "$venv/bin/cargo-zigbuild" zigbuild "${std[@]}" --quiet --locked --profile dist \
        --package bentpipe-daemon --bin bentpipe-gateway --target "$triple"
    program=$out/bentpipe-gateway-$version-$architecture-linux-musl
    install -m 755 "$target/$triple/dist/bentpipe-gateway" "$program"
    run=$(runner "$architecture")
    if [ -n "$run" ] || [ "$architecture" = "$(uname -m)" ]; then
        echo "dist: $architecture says: $($run "$program" --version)"
    else
        echo "dist: not tried, as there is no qemu-user for $architecture here"
    fi
    if [ "$tests" = yes ] && { [ -n "$run" ] || [ "$architecture" = "$(uname -m)" ]; }; then
        echo "dist: unit tests of the core, the gateway and its file for $architecture"
        name=CARGO_TARGET_$(echo "$triple" | tr 'a-z-' 'A-Z_')_RUNNER
        env ${run:+"$name=$run"} ${bootstrap:+RUSTC_BOOTSTRAP=1} "$venv/bin/cargo-zigbuild" test "${std[@]}" --quiet --locked --lib --target "$triple" \
            -p bentpipe-core -p bentpipe-gateway -p bentpipe-config
    fi
done

echo "dist: the bill of materials"
"$tools/bin/cargo-cyclonedx" cyclonedx --quiet --manifest-path crates/daemon/Cargo.toml --format json --no-build-deps \
    --override-filename "bentpipe-gateway-$version.cdx"
mv crates/daemon/"bentpipe-gateway-$version.cdx.json" "$out/"
# It writes one for each crate of the workspace.
rm -f crates/*/"bentpipe-gateway-$version.cdx.json"
(cd "$out" && sha256sum bentpipe-gateway-"$version"* >SHA256SUMS)
ls -sh "$out"

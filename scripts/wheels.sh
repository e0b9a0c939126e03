#!/usr/bin/env bash
# Builds wheels of the Python package, with the program `bentpipe` inside, into out/wheels: for Linux on x86_64 and on
# aarch64, with glibc 2.17 or later, on either of them.
# Usage: wheels.sh [ARCHITECTURE]...      (x86_64, aarch64; without one: both)
# Example: scripts/wheels.sh aarch64
#
# zig is compiler and linker for C: ziglang, and maturin with cargo-zigbuild inside, come from PyPI into a virtual
# environment in the target folder, and so do all caches. The one thing that stays elsewhere is Rust's standard library
# for the targets, where rustup has it.
set -euo pipefail
cd "$(dirname "$0")/.."

tag=manylinux2014

architectures=("$@")
if [ $# -eq 0 ]; then
    architectures=(x86_64 aarch64)
fi
for architecture in "${architectures[@]}"; do
    case $architecture in
        x86_64 | aarch64) ;;
        -h | --help)
            sed -n '2,/^#$/s/^# \{0,1\}//p' "$0"
            exit 0
            ;;
        *)
            echo "wheels: \`$architecture\` is none of x86_64, aarch64" >&2
            exit 1
            ;;
    esac
done

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR=$target
export XDG_CACHE_HOME=$target/wheels-cache
scripts/venv.sh wheels-venv
venv=$target/wheels-venv
echo "wheels: installing maturin and zig into $venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check "maturin>=1.9,<2" "ziglang>=0.13,<1"

for architecture in "${architectures[@]}"; do
    triple=$architecture-unknown-linux-gnu
    library=$(rustc --print target-libdir --target "$triple")
    if ! compgen -G "$library/libstd-*.rlib" >/dev/null; then
        if ! command -v rustup >/dev/null; then
            echo "wheels: Rust's standard library for $triple is missing, and rustup (https://rustup.rs), which has it, too" >&2
            exit 1
        fi
        echo "wheels: rustup adds $triple"
        rustup --quiet target add "$triple"
    fi
done

# maturin finds zig by this Python.
export PATH=$venv/bin:$PATH CARGO_ZIGBUILD_PYTHON_PATH=$venv/bin/python
# What nobody sees in a wheel takes time and space.
export CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_PROFILE_RELEASE_STRIP=symbols
export PYTHONDONTWRITEBYTECODE=1
place=python/bentpipe.data/scripts
programs=$target/wheels-programs
# One that stays would be taken into the wheel of another machine.
trap 'rm -f "$place/bentpipe"' EXIT

# The program and the module are both built by maturin, so with one linker: crates that both ask for with the same features
# are compiled once.
for architecture in "${architectures[@]}"; do
    build=(maturin build --quiet --release --locked --zig --target "$architecture-unknown-linux-gnu" --compatibility "$tag")
    echo "wheels: building the program for $architecture"
    rm -rf "$programs"
    "${build[@]}" --manifest-path crates/cli/Cargo.toml --out "$programs"
    python -m zipfile --extract "$programs"/bentpipe-*.whl "$programs"
    install -D -m 755 "$programs"/bentpipe-*.data/scripts/bentpipe "$place/bentpipe"
    echo "wheels: building the package for $architecture"
    rm -f out/wheels/bentpipe-*_"$architecture".whl
    (cd python && "${build[@]}" --out ../out/wheels)
    python scripts/check_wheel.py out/wheels/bentpipe-*_"$architecture".whl
done
ls -sh out/wheels

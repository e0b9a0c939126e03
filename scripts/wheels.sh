#!/usr/bin/env bash
# Builds wheels of the Python package, with the program `bentpipe` inside, into out/wheels: for Linux on x86_64 and on
# aarch64, with glibc 2.17 or later, on either of them.
# Usage: wheels.sh [ARCHITECTURE]...      (x86_64, aarch64; without one: both)
#
# zig is compiler and linker for C: ziglang and cargo-zigbuild come from PyPI into a virtual environment in the target
# folder, and so do all caches. The one thing that stays elsewhere is Rust's standard library for the targets, where
# rustup has it.
set -euo pipefail
cd "$(dirname "$0")/.."

glibc=2.17
tag=manylinux2014

architectures=("$@")
if [ $# -eq 0 ]; then
    architectures=(x86_64 aarch64)
fi
for architecture in "${architectures[@]}"; do
    case $architecture in
        x86_64 | aarch64) ;;
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
"$venv/bin/pip" install --quiet --disable-pip-version-check \
    "maturin>=1.9,<2" "cargo-zigbuild>=0.20,<1" "ziglang>=0.13,<1"

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

# cargo-zigbuild and maturin find zig by this Python.
export PATH=$venv/bin:$PATH CARGO_ZIGBUILD_PYTHON_PATH=$venv/bin/python
# What nobody sees in a wheel: it takes time and space. One that ran before was perhaps for another machine.
export CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_PROFILE_RELEASE_STRIP=symbols
export PYTHONDONTWRITEBYTECODE=1
program=python/bentpipe.data/scripts/bentpipe
trap 'rm -f "$program"' EXIT

mkdir -p out/wheels
for architecture in "${architectures[@]}"; do
    triple=$architecture-unknown-linux-gnu
    echo "wheels: building for $architecture"
    (cd python && python -c "import build_wheel; build_wheel.build_program('$triple.$glibc')")
    newest=$(grep -ao 'GLIBC_2[.0-9]*' "$program" | sort -uV | tail -1)
    if [ "$(printf '%s\n' "GLIBC_$glibc" "$newest" | sort -V | tail -1)" != "GLIBC_$glibc" ]; then
        echo "wheels: the program asks for $newest, and $tag has no more than $glibc" >&2
        exit 1
    fi
    rm -f out/wheels/bentpipe-*_"$architecture".whl
    (cd python && maturin build --quiet --release --locked --zig --target "$triple" --compatibility "$tag" --out ../out/wheels)
done
ls -sh out/wheels

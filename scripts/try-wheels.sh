#!/usr/bin/env bash
# Tries the wheels of out/wheels. What is in them is checked; then a fresh virtual environment installs each without an
# index, imports it, simulates, and asks its program for its version. Both have to come to the same results, to the byte. The wheel for the other architecture does all that
# by qemu-user with Debian's Python for it: its packages are fetched and unpacked in the target folder, and nothing of them
# is installed. Where qemu-user is missing or the distribution's mirror has no such Python, one line says that this wheel
# was not tried.
# Usage: try-wheels.sh
set -euo pipefail
cd "$(dirname "$0")/.."

place=$(realpath -m "${CARGO_TARGET_DIR:-target}")/try-wheels
try=$PWD/scripts/try_wheel.py
export XDG_CACHE_HOME=$place/cache PYTHONNOUSERSITE=1 PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1
rm -rf "$place"
mkdir -p "$place/packages"
scripts/venv.sh try-wheels/venv
python=$place/venv/bin/python

here=$(uname -m)
case $here in
    x86_64) other=aarch64 debian=arm64 ;;
    aarch64) other=x86_64 debian=amd64 ;;
    *)
        echo "try-wheels: there are no wheels for $here" >&2
        exit 1
        ;;
esac
declare -A wheel
for architecture in "$here" "$other"; do
    wheel[$architecture]=$(compgen -G "out/wheels/bentpipe-*_$architecture.whl") || {
        echo "try-wheels: there is no wheel for $architecture (make wheel)" >&2
        exit 1
    }
    "$python" scripts/check_wheel.py "${wheel[$architecture]}"
done

# What the wheels depend on, and pip itself for the other architecture's Python: none of it is compiled.
"$python" -m pip download --quiet --only-binary :all: --dest "$place/packages" "tomli-w>=1.0" pip
offline=(install --quiet --no-index --find-links "$place/packages")

# This machine's.
"$python" -m pip "${offline[@]}" "${wheel[$here]}"
(cd "$place" && "$python" "$try" "results-$here" venv/bin/bentpipe) | tee "$place/$here"

# The other one's.
skip() {
    echo "try-wheels: the wheel for $other was not tried: $1"
    exit 0
}
qemu=$(command -v "qemu-$other") || skip "qemu-$other is missing (Debian's package qemu-user)"
command -v apt-get >/dev/null || skip "there is no apt-get here to fetch a Python for it"

# apt with a state of its own, in which nothing is installed: it fetches Python with all that this needs.
apt=$place/apt
mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$apt/log"
: >"$apt/status"
private() {
    apt-get -qq -o "APT::Architecture=$debian" -o "APT::Architectures=$debian" -o "Dir::State=$apt/state" \
        -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt/cache" -o "Dir::Log=$apt/log" \
        -o APT::Sandbox::User= -o Debug::NoLocking=true "$@" >>"$apt/log/output" 2>&1
}
# Repositories that lack the architecture are errors here, and of no interest.
private update || true
private install --yes --download-only --no-install-recommends python3 \
    || skip "apt has no Python for it ($(grep '^E:' "$apt/log/output" | tail -1))"
root=$place/root
mkdir -p "$root/usr"
for folder in bin lib lib64 sbin; do
    mkdir -p "$root/usr/$folder"
    ln -s "usr/$folder" "$root/$folder"
done
for package in "$apt"/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$root"
done
emulated=("$qemu" -L "$root")
"${emulated[@]}" "$root/usr/bin/python3" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
    || skip "its Python is older than 3.11"
# Debian's Python has no pip: that of the index is run from its wheel.
"${emulated[@]}" "$root/usr/bin/python3" -m venv --without-pip "$place/other"
"${emulated[@]}" "$place/other/bin/python" "$(compgen -G "$place/packages/pip-*.whl")/pip" "${offline[@]}" "${wheel[$other]}"
(cd "$place" && "${emulated[@]}" other/bin/python "$try" "results-$other" "${emulated[@]}" other/bin/bentpipe) | tee "$place/$other"

digest() { sed -n 's/.*: results //p' "$place/$1"; }
if [ -z "$(digest "$here")" ] || [ "$(digest "$here")" != "$(digest "$other")" ]; then
    echo "try-wheels: the wheels come to different results: compare results.csv in $place/results-$here and results-$other" >&2
    exit 1
fi
echo "try-wheels: both wheels come to the same results"

#!/usr/bin/env bash
# Tries the wheels of out/wheels: a fresh environment installs each without an index, imports it, simulates, and asks its
# program for its version. The wheel for the other architecture does all that by qemu-user with Debian's Python for it:
# its packages are fetched and unpacked in the target folder, and nothing of them is installed. Where qemu-user is missing
# or the distribution's mirror has no such Python, one line says that this wheel was not tried.
# Usage: try-wheels.sh
set -euo pipefail
cd "$(dirname "$0")/.."

place=$(realpath -m "${CARGO_TARGET_DIR:-target}")/try-wheels
export XDG_CACHE_HOME=$place/cache PYTHONNOUSERSITE=1 PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1
rm -rf "$place"
mkdir -p "$place/packages"
scripts/venv.sh try-wheels/venv
pip=$place/venv/bin/pip
here=$(uname -m)

# What the wheels depend on, and pip itself for the other architecture's Python: none of it is compiled.
"$pip" download --quiet --only-binary :all: --dest "$place/packages" "tomli-w>=1.0" pip
cat >"$place/try.py" <<'PYTHON'
import hashlib, platform, subprocess, sys
import bentpipe as bp

folder, *program = sys.argv[1:]
scenario = bp.Scenario.build(
    run={"duration": "20s"},
    host={"server": {}, "client": {}},
    link={"sat": {"between": ["server", "client"], "rate": "8Mbit/s", "delay": "250ms", "loss": 0.001}},
    flow={"main": {"from": "server", "to": "client"}},
)
campaign = bp.Campaign(scenario, runs=2, folder=folder).run(threads=1, progress=False)
rows = campaign.results.to_dict()
assert len(rows["goodput_bps"]) == 2 and all(goodput > 100_000 for goodput in rows["goodput_bps"]), rows
digest = hashlib.sha256((campaign.folder / "results.csv").read_bytes()).hexdigest()[:12]
version = subprocess.run([*program, "--version"], check=True, capture_output=True, text=True).stdout.strip()
assert version == f"bentpipe {bp.__version__}", version
print(f"{platform.machine()}, Python {platform.python_version()}, {version}: results {digest}")
PYTHON

wheel() {
    compgen -G "out/wheels/bentpipe-*_$1.whl" || { echo "try-wheels: there is no wheel for $1 (make wheel)" >&2; exit 1; }
}

# This machine's.
wheel "$here" >/dev/null
"$pip" install --quiet --no-index --find-links "$place/packages" "$(wheel "$here")"
(cd "$place" && venv/bin/python try.py "here-$here" venv/bin/bentpipe)

# The other one's.
case $here in
    x86_64) other=aarch64 debian=arm64 ;;
    aarch64) other=x86_64 debian=amd64 ;;
esac
wheel "$other" >/dev/null
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
python=("$qemu" -L "$root" "$root/usr/bin/python3")
"${python[@]}" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || skip "its Python is older than 3.11"
"${python[@]}" "$(compgen -G "$place/packages/pip-*.whl")/pip" install --quiet --no-index \
    --find-links "$place/packages" --target "$place/site" "$(wheel "$other")"
(cd "$place" && PYTHONPATH=$place/site "${python[@]}" try.py "there-$other" "$qemu" -L "$root" "$place/site/bin/bentpipe")

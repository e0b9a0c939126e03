#!/usr/bin/env bash
# Makes a virtual environment of Python in the target folder, if it is not there.
# Usage: venv.sh NAME       (PYTHON=... names another Python than python3)
# The environment is $CARGO_TARGET_DIR/NAME.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$(realpath -m "${CARGO_TARGET_DIR:-target}")/$1
python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "venv: Python 3.11 or later is needed (PYTHON=... names another than python3)" >&2
    exit 1
fi
if [ -x "$venv/bin/pip" ]; then
    exit 0
fi
# Debian has it in a package of its own.
if ! "$python" -c 'import ensurepip' 2>/dev/null; then
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        echo "venv: Python's module venv is missing (on Debian: sudo apt-get install python3-venv)" >&2
        exit 1
    fi
    echo "venv: installing python3-venv"
    apt-get -qq update
    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends python3-venv >/dev/null
fi
"$python" -m venv "$venv"

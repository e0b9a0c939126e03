#!/usr/bin/env bash
# Makes a virtual environment in the target folder with the package of python/ and what the given extras need.
# Usage: python-venv.sh [EXTRA]...      (test, docs)
# Prints nothing but what it installs; the environment is $CARGO_TARGET_DIR/python-venv.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$(realpath -m "${CARGO_TARGET_DIR:-target}")/python-venv
python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "python-venv: Python 3.11 or later is needed (PYTHON=... names another than python3)" >&2
    exit 1
fi
if [ ! -x "$venv/bin/pip" ]; then
    # Debian has it in a package of its own.
    if ! "$python" -c 'import ensurepip' 2>/dev/null; then
        if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
            echo "python-venv: Python's module venv is missing (on Debian: sudo apt-get install python3-venv)" >&2
            exit 1
        fi
        echo "python-venv: installing python3-venv"
        apt-get -qq update
        DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends python3-venv >/dev/null
    fi
    "$python" -m venv "$venv"
fi
extras=$(IFS=,; echo "$*")
echo "python-venv: building the package and installing it into $venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --editable "./python${extras:+[$extras]}"

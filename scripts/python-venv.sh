#!/usr/bin/env bash
# Makes a virtual environment in the target folder with the package of python/ and what the given extras need.
# Usage: python-venv.sh [--editable] [EXTRA]...      (test, docs)
#   --editable   Python's files are used where they stand, for who changes them
# Prints nothing but what it installs; the environment is $CARGO_TARGET_DIR/python-venv. It is installed as users do it, from the
# wheel that the build backend makes.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/venv.sh python-venv
venv=$(realpath -m "${CARGO_TARGET_DIR:-target}")/python-venv
how=()
if [ "${1:-}" = --editable ]; then
    how=(--editable)
    shift
fi
extras=$(IFS=,; echo "$*")
echo "python-venv: building the package and installing it into $venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check "${how[@]}" "./python${extras:+[$extras]}"

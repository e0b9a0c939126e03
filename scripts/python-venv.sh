#!/usr/bin/env bash
# Makes a virtual environment in the target folder with the package of python/ and what the given extras need.
# Usage: python-venv.sh [EXTRA]...      (test, docs)
# Prints nothing but what it installs; the environment is $CARGO_TARGET_DIR/python-venv.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/venv.sh python-venv
venv=$(realpath -m "${CARGO_TARGET_DIR:-target}")/python-venv
extras=$(IFS=,; echo "$*")
echo "python-venv: building the package and installing it into $venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --editable "./python${extras:+[$extras]}"

#!/usr/bin/env bash
# Checks Python's files with ruff, in a virtual environment of the target folder that has nothing else.
# Usage: ruff.sh
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/venv.sh ruff
venv=$(realpath -m "${CARGO_TARGET_DIR:-target}")/ruff
if [ ! -x "$venv/bin/ruff" ]; then
    "$venv/bin/pip" install --quiet --disable-pip-version-check "ruff>=0.8"
fi
"$venv/bin/ruff" check --quiet --no-cache --config python/pyproject.toml python scripts

#!/usr/bin/env bash
# Makes the documentation a site: out/site/index.html, which works from files alone. The notebooks are executed before.
# Usage: docs.sh [--as-they-are]      (without executing the notebooks)
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/python-venv.sh test docs
venv=$(realpath -m "${CARGO_TARGET_DIR:-target}")/python-venv
if [ "${1:-}" != --as-they-are ]; then
    echo "docs: executing the notebooks"
    "$venv/bin/python" python/notebooks/execute.py out/notebooks
    export BENTPIPE_NOTEBOOKS=out/notebooks
fi
# What the search needs in pages that are read from files: 1 KB of script, from npm's registry.
worker=$(realpath -m "${CARGO_TARGET_DIR:-target}")/iframe-worker
if [ ! -e "$worker/package/shim/index.js" ] && command -v npm >/dev/null; then
    mkdir -p "$worker"
    (cd "$worker" && tar -xzf "$(npm pack --silent iframe-worker@1)")
fi
if [ -e "$worker/package/shim/index.js" ]; then
    export BENTPIPE_IFRAME_WORKER=$worker/package/shim/index.js
else
    echo "docs: no npm here: the search will want the network"
fi
# It tells of its successor on every run.
export NO_MKDOCS_2_WARNING=1
"$venv/bin/mkdocs" --quiet build --clean
echo "docs: out/site/index.html"

#!/usr/bin/env bash
# Makes the documentation a site: out/site/index.html, which works from files alone. The notebooks are executed before.
# Usage: docs.sh [--as-they-are | --executed]
#   --as-they-are   without executing the notebooks
#   --executed      with the notebooks of out/notebooks, which `make test-python` has executed
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/python-venv.sh test docs
venv=$(realpath -m "${CARGO_TARGET_DIR:-target}")/python-venv
case ${1:-} in
    --as-they-are) ;;
    --executed)
        for notebook in python/notebooks/*.ipynb; do
            if [ ! "out/notebooks/${notebook##*/}" -nt "$notebook" ]; then
                echo "docs: out/notebooks/${notebook##*/} is missing or older than the notebook (make test-python)" >&2
                exit 1
            fi
        done
        export BENTPIPE_NOTEBOOKS=out/notebooks
        ;;
    *)
        echo "docs: executing the notebooks"
        "$venv/bin/python" python/notebooks/execute.py out/notebooks
        export BENTPIPE_NOTEBOOKS=out/notebooks
        ;;
esac
# What the search needs in pages that are read from files: 1 KB of script, from npm's registry.
worker=$(realpath -m "${CARGO_TARGET_DIR:-target}")/iframe-worker
if [ ! -e "$worker/package/shim/index.js" ] && command -v npm >/dev/null; then
    mkdir -p "$worker"
    (cd "$worker" && tar -xzf "$(npm pack --silent iframe-worker@1)")
fi
if [ -e "$worker/package/shim/index.js" ]; then
    export BENTPIPE_IFRAME_WORKER=$worker/package/shim/index.js
else
    echo "docs: no npm here: the search works only where the site is served (python3 -m http.server -d out/site)"
fi
# Notebooks as pages, kept for the next time.
export BENTPIPE_NOTEBOOK_CACHE=${worker%/*}/mkdocs-jupyter
# It tells of its successor on every run.
export NO_MKDOCS_2_WARNING=1
"$venv/bin/mkdocs" --quiet build --clean
"$venv/bin/python" scripts/check_site.py out/site
echo "docs: out/site/index.html"

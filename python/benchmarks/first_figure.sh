#!/usr/bin/env bash
# How long a first figure takes from nothing: a fresh virtual environment, the wheel with matplotlib, and the guide's ten lines
# (docs/python.md), which run 80 simulations. In a folder that is removed afterwards.
# Usage: first_figure.sh WHEEL      (`make wheel`, or `pip wheel --no-deps ./python`; PYTHON=... names another than python3)
# Packages come from pip's cache if they are there, as for anyone who has installed matplotlib before; PIP_NO_CACHE_DIR=1
# fetches them.
set -euo pipefail

if [ $# -ne 1 ] || [ ! -f "$1" ]; then
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 1
fi
wheel=$(realpath "$1")
guide=$(realpath "$(dirname "$0")/../../docs/python.md")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

now() { date +%s.%N; }
begin=$(now)
"${PYTHON:-python3}" -m venv venv
made=$(now)
venv/bin/pip install --quiet --disable-pip-version-check "$wheel[plot]"
installed=$(now)
# The first piece of Python in the guide.
awk '/^```python$/ { inside = 1; next } /^```$/ && inside { exit } inside' "$guide" >figure.py
MPLBACKEND=Agg MPLCONFIGDIR=$place venv/bin/python figure.py
drawn=$(now)
[ -s losses.svg ]
awk -v begin="$begin" -v made="$made" -v installed="$installed" -v drawn="$drawn" -v lines="$(grep -c . figure.py)" 'BEGIN {
    printf "first_figure: %.1f s: venv %.1f, pip install %.1f, %d lines %.1f\n",
        drawn - begin, made - begin, installed - made, lines, drawn - installed
    exit drawn - begin > 60
}'

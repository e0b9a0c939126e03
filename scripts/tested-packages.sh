#!/usr/bin/env bash
# What the tests of packages share: their --help, and the packages that they take from out/package.
# Usage: . scripts/tested-packages.sh      (in a script that has its arguments still)
if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
    sed -n '2,/^# Usage/s/^# \{0,1\}//p' "$0"
    exit 0
fi
PATH=$PATH:/usr/sbin:/sbin

# The packages in out/package that fit, a line each. Without one it says what makes them, and fails.
packaged() { # PATTERN COMMAND
    compgen -G "out/package/$1" | sort && return
    echo "$(basename "$0" .sh): there is no package in out/package: run \`$2\`" >&2
    return 1
}

#!/usr/bin/env bash
# The simulator's speed beside ns-2's, on the flow of `bentpipe bench sim`: packets of both directions
# for each second of processor time. They take turns, and medians count. ns-2 moves abstract packets:
# no handshake, no windows of bytes, no bytes at all.
# Usage: bench-peers.sh BENTPIPE...        (several builds of it, each on a line of its own; ROUNDS=5 of each)
# Example: scripts/bench-peers.sh target/release/bentpipe target/dist/bentpipe
set -euo pipefail

if [ $# -eq 0 ]; then
    echo "bench-peers: no program is named (see the head of $0)" >&2
    exit 1
fi
programs=("$@")
rounds=${ROUNDS:-5}
here=$(cd "$(dirname "$0")" && pwd)

if ! command -v ns >/dev/null && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    echo "bench-peers: installing ns2"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get -qq update && apt-get -qq install -y --no-install-recommends ns2; } >/dev/null || true
fi
if ! command -v ns >/dev/null; then
    echo "bench-peers: skipped: there is no ns (as root on Debian: apt-get install ns2)"
    exit 0
fi

TIMEFORMAT=%U
packets=$(mktemp)
trap 'rm -f "$packets"' EXIT
declare -A ours
theirs=()
for _ in $(seq "$rounds"); do
    for bentpipe in "${programs[@]}"; do
        packets_per_second=$("$bentpipe" bench sim --json --rounds 1 | sed 's/.*"packets_per_second":\([0-9]*\).*/\1/')
        ours[$bentpipe]+="$packets_per_second "
    done
    seconds=$({ time ns "$here/peers/one-flow.tcl" >"$packets"; } 2>&1)
    theirs+=("$(awk -v s="$seconds" '{ printf "%d", $1 / s }' "$packets")")
done
median() { printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"; }
printf 'one flow, 10 Mbit/s, 600 s simulated, median of %d:\n' "$rounds"
for bentpipe in "${programs[@]}"; do
    read -ra rates <<<"${ours[$bentpipe]}"
    printf '  %9d packets/s  %s\n' "$(median "${rates[@]}")" "$bentpipe"
done
printf '  %9d packets/s  ns-2\n' "$(median "${theirs[@]}")"

#!/usr/bin/env bash
# The link emulator's speed: what rate it carries, and how late it releases packets beside a bare timer of the same
# run, both at real-time priority, so that what else runs is out of the figures; medians of some rounds. With the
# source folder of a peer (mahimahi, built there) its figure is beside ours.
# Usage: bench-link.sh BENTPIPE [PEER_SOURCE] [ROUNDS]
set -euo pipefail

bentpipe=$(realpath "$1")
peer=${2:-}
rounds=${3:-5}
if [ "$(id -u)" -ne 0 ]; then
    echo "bench-link: needs root for its network namespaces: run it with sudo" >&2
    exit 1
fi

files=$(mktemp -d)
host="bentpipe-$$-bench-link"
server=
finish() {
    trap - EXIT INT TERM
    if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
    ip netns delete "$host" 2>/dev/null || true
    rm -rf "$files"
}
trap finish EXIT
trap 'exit 130' INT TERM

median() { sort -n "$1" | sed -n "$((($(wc -l <"$1") + 1) / 2))p"; }

# A field of the JSON object in a file: a number, or nothing.
field() { sed -n "s/.*\"$1\":\(-\{0,1\}[0-9.e+]*\).*/\1/p" "$2" | head -n 1; }

# One line: what was asked, what was received, and how late it was.
self_test() {
    local name=$1 what=$2
    local of="$files/${1//[^a-z0-9]/_}"
    shift 2
    for _ in $(seq "$rounds"); do
        "$bentpipe" link "--self-test=$what" --realtime --json "$@" >"$files/result" 2>/dev/null
        for key in rate_bit_s up_rate_bit_s release_error_p50_us release_error_p99_us timer_error_p50_us \
            timer_error_p99_us processor_ns_per_packet; do
            field "$key" "$files/result" >>"$of.$key"
        done
    done
    line "$name" "$what"
}

line() {
    local of="$files/${1//[^a-z0-9]/_}" up=
    if [ "$2" = both ]; then up=$(awk '{ printf " + %.3f", $1 / 1e9 }' <<<"$(median "$of.up_rate_bit_s")"); fi
    printf '%-36s %.3f%s Gbit/s, late by %s us (median) and %s us (99 %%), a bare timer by %s and %s us, %s ns a packet\n' \
        "$1" "$(awk '{ print $1 / 1e9 }' <<<"$(median "$of.rate_bit_s")")" "$up" \
        "$(median "$of.release_error_p50_us")" "$(median "$of.release_error_p99_us")" \
        "$(median "$of.timer_error_p50_us")" "$(median "$of.timer_error_p99_us")" \
        "$(median "$of.processor_ns_per_packet")"
}

echo "bentpipe link --self-test, 1500-byte packets, median of $rounds:"
self_test "2 Gbit/s one way, 20 ms" down --rate 2Gbit/s --delay 20ms
self_test "1 Gbit/s both ways, 20 ms" both --rate 1Gbit/s --delay 20ms
# Packets in flight: a rate times a delay.
self_test "1 Gbit/s, 10 packets in flight" down --rate 1Gbit/s --delay 0.12ms --queue 1MB
self_test "1 Gbit/s, 100,000 in flight" down --rate 1Gbit/s --delay 1.2s --queue 1MB

ip netns add "$host"
ip -n "$host" link set lo up
# A new server for each connection: one whose client has vanished with its network is busy for long.
serve() {
    if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
    ip netns exec "$host" iperf3 --server >"$files/server" 2>&1 &
    server=$!
    for _ in $(seq 50); do
        if ip netns exec "$host" ss -Hltn 'sport = :5201' | grep -q .; then break; fi
        sleep 0.1
    done
}

# The receiver's rate of a TCP connection through COMMAND, which runs what follows behind a link.
through() {
    local name=$1 address=$2
    shift 2
    : >"$files/rates"
    for _ in $(seq "$rounds"); do
        serve
        # What precedes iperf3 is the emulator.
        if ip netns exec "$host" "$@" iperf3 --client "$address" --time 4 --omit 2 --json >"$files/result" 2>/dev/null; then
            awk '/"sum_received"/ { received = 1 }
                 received && /"bits_per_second"/ { gsub(/[^0-9.e+]/, "", $2); print $2; exit }' \
                "$files/result" >>"$files/rates"
        fi
    done
    if [ -s "$files/rates" ]; then
        printf '%-36s %.3f Gbit/s\n' "$name" "$(awk '{ print $1 / 1e9 }' <<<"$(median "$files/rates")")"
    else
        printf '%-36s no figure\n' "$name"
    fi
}

echo "one TCP connection (iperf3), 5 ms each way, no limit of rate, median of $rounds:"
through "bentpipe link" 198.18.0.1 "$bentpipe" link --realtime --delay 5ms --
if [ -n "$peer" ]; then
    if [ -x "$peer/src/frontend/mm-delay" ]; then
        # It is set-uid, does not run as root, and wants a host that forwards; that host's address is its first.
        ip netns exec "$host" sysctl -q -w net.ipv4.ip_forward=1
        through "mahimahi (mm-delay)" 100.64.0.1 setpriv --reuid 65534 --regid 65534 --clear-groups \
            "$peer/src/frontend/mm-delay" 5
    else
        echo "bench-link: there is no src/frontend/mm-delay in $peer: is it mahimahi, and built?"
    fi
fi

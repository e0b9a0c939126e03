#!/usr/bin/env bash
# Bulk throughput through one gateway beside plain kernel forwarding, in one run, and what forwarding costs more beside a gateway that
# splits nothing (TCP and small UDP packets): iperf3 between two namespaces with a third between them, no emulated link.
# The hosts use CUBIC, whatever the machine's default is.
# Usage: bench-throughput.sh BENTPIPE [SECONDS]
set -euo pipefail

bentpipe=$(realpath "$1")
seconds=${2:-5}
if [ "$(id -u)" -ne 0 ]; then
    echo "bench: needs root for its network namespaces: run it with sudo" >&2
    exit 1
fi

# Names as the testbed's: what is left of a killed run, the next one knows by the process id.
run="bentpipe-$$-bench"
files=$(mktemp -d)
children=()
finish() {
    trap - EXIT INT TERM
    for child in "${children[@]}"; do kill "$child" 2>/dev/null || true; done
    wait
    for host in h1 g h2; do ip netns delete "$run-$host" 2>/dev/null || true; done
    rm -rf "$files"
}
trap finish EXIT
trap 'exit 130' INT TERM

for host in h1 g h2; do ip netns add "$run-$host"; ip -n "$run-$host" link set lo up; done
ip -n "$run-h1" link add eth0 type veth peer name lan0 netns "$run-g"
ip -n "$run-h2" link add eth0 type veth peer name sat0 netns "$run-g"
ip -n "$run-h1" -batch - <<'IP'
link set eth0 up
address add 10.92.1.2/24 dev eth0
route add default via 10.92.1.1 congctl cubic
IP
ip -n "$run-h2" -batch - <<'IP'
link set eth0 up
address add 10.92.2.2/24 dev eth0
route add default via 10.92.2.1 congctl cubic
IP
ip -n "$run-g" -batch - <<'IP'
link set lan0 up
link set sat0 up
address add 10.92.1.1/24 dev lan0
address add 10.92.2.1/24 dev sat0
IP
ip netns exec "$run-g" sysctl -q -w net.ipv4.ip_forward=1

ip netns exec "$run-h2" iperf3 --server >"$files/server" 2>&1 &
children+=($!)
for _ in $(seq 50); do
    ip netns exec "$run-h2" ss -Hltn 'sport = :5201' | grep -q . && break
    sleep 0.1
done

# One line: what, streams, Gbit/s, retransmissions of the sender.
measure() {
    local what=$1 streams=$2
    ip netns exec "$run-h1" iperf3 --client 10.92.2.2 --time "$seconds" --parallel "$streams" \
        --json >"$files/result" || { grep error "$files/result" >&2; return 1; }
    awk -v what="$what" -v streams="$streams" '
        /"sum_sent"/ { sent = 1 }
        /"sum_received"/ { sent = 0; received = 1 }
        sent && /"retransmits"/ { gsub(/[^0-9]/, "", $2); retransmits = $2 }
        received && /"bits_per_second"/ { gsub(/[^0-9.e+]/, "", $2); rate = $2; received = 0 }
        END { printf "%-24s %2d streams %7.2f Gbit/s %6d retransmissions\n",
                     what, streams, rate / 1e9, retransmits }' "$files/result"
}

# One line: what, thousands of datagrams of 64 bytes a second that arrive, as fast as one sender can.
measure_small() {
    ip netns exec "$run-h1" iperf3 --client 10.92.2.2 --time "$seconds" --udp --bitrate 0 --length 64 \
        --json >"$files/result" || { grep error "$files/result" >&2; return 1; }
    awk -v what="$1" -v seconds="$seconds" '
        /"packets"/ { gsub(/[^0-9]/, "", $2); sent = $2 }
        /"lost_packets"/ { gsub(/[^0-9]/, "", $2); lost = $2 }
        END { printf "%-24s %17.1f thousand datagrams a second\n", what, (sent - lost) / seconds / 1000 }' \
        "$files/result"
}

# Starts a gateway with more lines in its file.
start() {
    printf '[interfaces]\nlan = ["lan0"]\nsatellite = ["sat0"]\n%b' "$1" >"$files/gateway.toml"
    ip netns exec "$run-g" "$bentpipe" gateway --config "$files/gateway.toml" >"$files/gateway" &
    gateway=$!
    children+=("$gateway")
    for _ in $(seq 100); do
        grep -q "bentpipe gateway: ready" "$files/gateway" && return
        sleep 0.1
    done
    echo "bench: the gateway did not start" >&2
    exit 1
}

measure "kernel forwarding" 1
measure "kernel forwarding" 4
start ""
measure "one gateway" 1
measure "one gateway" 4
kill "$gateway"
wait "$gateway" || true

# All connections come by for the first 150 s; what is not split is let go by then.
start "[policy]\nobserve = true\n"
sleep 155
for round in 1 2 3; do
    measure "not split, $round" 1
    measure_small "not split, $round"
done
kill "$gateway"
wait "$gateway" || true
for round in 1 2 3; do
    measure "kernel forwarding, $round" 1
    measure_small "kernel forwarding, $round"
done

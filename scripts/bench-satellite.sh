#!/usr/bin/env bash
# The table of `bentpipe bench satellite`, live: nginx and curl on real Linux hosts in network namespaces, over
# `bentpipe link` at 8 Mbit/s and 500 ms with one bandwidth-delay product of queue. All columns of a row
# run at the same time, each in namespaces of its own. Seconds, the mean of the rounds; a transfer that takes
# longer than the patience is given up, and counts as that long (">").
#
# Usage: bench-satellite.sh BENTPIPE [-n ROUNDS] [-c CASES] [-t SECONDS] [-p PEPSAL]
#   -n  transfers of each file (3)
#   -c  only cases that match this pattern: '10 MB', 'one gateway', 'upload', 'loss 1%' (all)
#   -t  patience with one transfer (90)
#   -p  a source tree of PEPsal: it is built in a temporary folder, and gets a column with BBR
# The exit status is 1 if a byte was wrong.
# Needs root, and nginx, curl and nftables (scripts/install-packages.sh). The whole table takes three quarters of an hour.
set -euo pipefail

usage() { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; }
[[ ${1:-} == -h || ${1:-} == --help ]] && { usage; exit 0; }
[[ $# -ge 1 && -x $1 ]] || { echo "bench-satellite: the first argument is the bentpipe to run (--help says more)" >&2; exit 2; }
bentpipe=$(realpath "$1")
shift
rounds=3 cases='' patience=90 pepsal=''
while getopts 'n:c:t:p:' option; do
    case $option in
        n) rounds=$OPTARG ;;
        c) cases=$OPTARG ;;
        t) patience=$OPTARG ;;
        p) pepsal=$(realpath "$OPTARG") ;;
        *) exit 2 ;;
    esac
done
[[ $rounds =~ ^[1-9][0-9]*$ && $patience =~ ^[1-9][0-9]*$ ]] || { echo "bench-satellite: -n and -t take whole numbers" >&2; exit 2; }
[[ $(id -u) -eq 0 ]] || { echo "bench-satellite: network namespaces need root" >&2; exit 1; }
for program in ip nft nginx curl awk; do
    command -v "$program" >/dev/null || { echo "bench-satellite: missing: $program (scripts/install-packages.sh)" >&2; exit 1; }
done

run=bentpipe-$$
status=0
files=$(mktemp -d)
finish() {
    trap - EXIT INT TERM
    # Whatever still runs in our namespaces, and what we started outside of them.
    for space in $(ip netns list | awk -v run="$run-" 'index($1, run) == 1 { print $1 }'); do
        ip netns pids "$space" | xargs -r kill 2>/dev/null || true
        ip netns delete "$space" || true
    done
    wait 2>/dev/null || true
    rm -rf "$files"
}
trap finish EXIT
trap 'exit 130' INT TERM

if [[ -n $pepsal ]]; then
    mkdir "$files/pepsal"
    : >"$files/pepsal/config.h"
    gcc -w -O2 -DVERSION='"2"' -DPACKAGE='"pepsal"' -I"$files/pepsal" -I"$pepsal/include" \
        -o "$files/pepsal/pepsal" "$pepsal"/src/*.c -lpthread -lrt -lm ||
        { echo "bench-satellite: PEPsal does not build" >&2; exit 1; }
fi

mkdir "$files/site"
for size in 10000 100000 1000000 2000000 10000000; do
    head -c "$size" /dev/urandom >"$files/site/$size"
done

in_space() { ip netns exec "$run-$1-$2" "${@:3}"; }

wait_for() { # FILE TEXT
    for _ in $(seq 100); do
        grep -q "$2" "$1" 2>/dev/null && return
        sleep 0.1
    done
    echo "bench-satellite: not ready: $(tail -n 3 "$1")" >&2
    return 1
}

# The namespaces of a column: client - g1 - sat - g2 - server. Linux's hosts send with CONTROL.
build() { # COLUMN CONTROL
    local column=$1 control=$2 space
    for space in client g1 sat g2 server; do
        ip netns add "$run-$column-$space"
        ip -n "$run-$column-$space" link set lo up
    done
    cable() { # SPACE DEVICE SPACE DEVICE NETWORK PART PART
        ip -n "$run-$column-$1" link add "$2" type veth peer name "$4" netns "$run-$column-$3"
        ip -n "$run-$column-$1" address add "10.94.$5.$6/24" dev "$2"
        ip -n "$run-$column-$3" address add "10.94.$5.$7/24" dev "$4"
        ip -n "$run-$column-$1" link set "$2" up
        ip -n "$run-$column-$3" link set "$4" up
    }
    cable client eth0 g1 lan0 1 2 1
    cable g1 sat0 sat ground1 2 1 2
    cable g2 sat0 sat ground2 3 1 2
    cable server eth0 g2 lan0 4 2 1
    for space in g1 sat g2; do
        in_space "$column" "$space" sysctl -q -w net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0
    done
    for space in client server; do
        in_space "$column" "$space" sysctl -q -w net.ipv4.tcp_no_metrics_save=1
    done
    ip -n "$run-$column-client" route add default via 10.94.1.1 congctl "$control"
    ip -n "$run-$column-server" route add default via 10.94.4.1 congctl "$control"
    ip -n "$run-$column-g1" route add default via 10.94.2.2 congctl "$control"
    ip -n "$run-$column-g2" route add default via 10.94.3.2 congctl "$control"
    ip -n "$run-$column-sat" route add 10.94.1.0/24 via 10.94.2.1
    ip -n "$run-$column-sat" route add 10.94.4.0/24 via 10.94.3.1
    mkdir -p "$files/$column/put"
    cat >"$files/$column/nginx.conf" <<EOF
daemon off; master_process off; user root; pid $files/$column/pid; error_log stderr;
events { worker_connections 64; }
http {
    access_log off; sendfile on; root $files/site;
    client_body_temp_path $files/$column/a; proxy_temp_path $files/$column/b; fastcgi_temp_path $files/$column/c;
    uwsgi_temp_path $files/$column/d; scgi_temp_path $files/$column/e;
    server {
        listen 80;
        location /put/ { root $files/$column; dav_methods PUT; client_max_body_size 100m; }
    }
}
EOF
    in_space "$column" server nginx -p "$files/$column" -e stderr -c "$files/$column/nginx.conf" \
        >"$files/$column/nginx" 2>&1 &
    for _ in $(seq 50); do
        in_space "$column" server curl -s -o /dev/null http://127.0.0.1/10000 && break
        sleep 0.1
    done
}

gateway() { # COLUMN SPACE known|unknown
    local config=$files/$1/$2.toml
    printf '[interfaces]\nlan = ["lan0"]\nsatellite = ["sat0"]\n' >"$config"
    [[ $3 == unknown ]] || printf '[satellite]\nrate = "8Mbit/s"\nround-trip = "500ms"\n' >>"$config"
    in_space "$1" "$2" "$bentpipe" gateway --config "$config" >"$files/$1/$2" 2>&1 &
    wait_for "$files/$1/$2" "bentpipe gateway: ready"
}

proxy() { # COLUMN SPACE: PEPsal takes all TCP, as its own iptables example does
    in_space "$1" "$2" nft -f - <<'EOF'
table ip pepsal {
    chain divert {
        type filter hook prerouting priority mangle;
        iifname { "lan0", "sat0" } meta l4proto tcp tproxy to :5000 meta mark set 1 accept
    }
}
EOF
    ip -n "$run-$1-$2" rule add fwmark 1 lookup 100
    ip -n "$run-$1-$2" route add local default dev lo table 100
    # With the machine's limit on open files it keeps to what it can have.
    in_space "$1" "$2" "$files/pepsal/pepsal" -p 5000 -c 1024 >"$files/$1/$2" 2>&1 &
    sleep 0.5
}

# All rounds of one column of one row: a line of seconds for each round.
transfer() { # COLUMN BYTES LOSS download|upload
    local column=$1 bytes=$2 loss=$3 way=$4 link got=$files/$1/got
    # Not by the function: what is killed is to be the emulator, not a shell around it.
    ip netns exec "$run-$column-sat" "$bentpipe" link --between ground1,ground2 --rate 8Mbit/s --delay 250ms \
        --queue 517500B --loss "$loss" --seed 2 >"$files/$column/link" 2>&1 &
    link=$!
    wait_for "$files/$column/link" "bentpipe link: ready"
    local arguments=(--output "$got" "http://10.94.4.2/$bytes")
    if [[ $way == upload ]]; then
        got=$files/$column/put/got
        # Without asking first whether it is welcome: that would be a round trip more.
        arguments=(--header 'Expect:' --upload-file "$files/site/$bytes" http://10.94.4.2/put/got)
    fi
    for _ in $(seq "$rounds"); do
        rm -f "$got"
        in_space "$column" client curl --silent --noproxy '*' --max-time "$patience" --write-out '%{time_total}\n' \
            "${arguments[@]}" >>"$files/$column/seconds" || true
        # What was given up must at least be the beginning, as far as it is there.
        [[ ! -e $got ]] || cmp -s -n "$(stat -c %s "$got")" "$got" "$files/site/$bytes" ||
            echo "wrong" >>"$files/$column/seconds"
        # The connection's end also crosses the emulated link: without it the satellite is a plain router.
        sleep 3
    done
    kill "$link"
    wait "$link" 2>/dev/null || true
}

mean() { # COLUMN
    awk -v patience="$patience" '
        /wrong/ { wrong = 1; next }
        { sum += $1; n++; if ($1 > patience - 0.5) over = 1 }
        END { if (wrong) printf "WRONG"; else if (!n) printf "-"; else printf "%s%.2f", over ? ">" : "", sum / n }' \
        "$files/$1/seconds"
}

row() { # NAME BYTES LOSS download|upload COLUMN...
    local name=$1 bytes=$2 loss=$3 way=$4 column
    shift 4
    [[ -z $cases ]] || grep -q -- "$cases" <<<"$name" || return 0
    local jobs=()
    for column in "$@"; do
        : >"$files/$column/seconds"
        transfer "$column" "$bytes" "$loss" "$way" &
        jobs+=($!)
    done
    wait "${jobs[@]}"
    printf '%-38s' "$name"
    for column in "$@"; do
        printf ' %12s' "$(mean "$column")"
        ! grep -q wrong "$files/$column/seconds" || status=1
    done
    printf '\n'
}

heading() { # WIDTH COLUMN...
    printf '%-38s' "$1"
    shift
    for column in "$@"; do printf ' %12s' "$column"; done
    printf '\n'
}

losses=(0.1% 1% 2% 5%)
columns=(cubic bbr unknown known)
[[ -z $pepsal ]] || columns+=(pepsal-bbr)
echo "bench-satellite: $rounds rounds; live Linux hosts, 8 Mbit/s, 500 ms, $(uname -r)" >&2
build cubic cubic
build bbr bbr
build unknown cubic && gateway unknown g1 unknown && gateway unknown g2 unknown
build known cubic && gateway known g1 known && gateway known g2 known
[[ -z $pepsal ]] || { build pepsal-bbr bbr && proxy pepsal-bbr g1 && proxy pepsal-bbr g2; }
heading 'seconds' "${columns[@]}"
for size in 10:KB 100:KB 1:MB 10:MB; do
    bytes=$((${size%:*} * 1000))
    [[ $size == *KB ]] || bytes=$((bytes * 1000))
    row "${size%:*} ${size#*:} without loss" "$bytes" 0 download "${columns[@]}"
done
for size in 2 10; do
    for loss in "${losses[@]}"; do
        row "$size MB, packet loss $loss" $((size * 1000000)) "$loss" download "${columns[@]}"
    done
done

columns=(cubic server client server-rate client-rate)
build server cubic && gateway server g2 unknown
build client cubic && gateway client g1 unknown
build server-rate cubic && gateway server-rate g2 known
build client-rate cubic && gateway client-rate g1 known
echo
heading 'one gateway, at the end of the' "${columns[@]}"
for way in download upload; do
    for size in 100:KB 1:MB 10:MB; do
        bytes=$((${size%:*} * 1000))
        [[ $size == *KB ]] || bytes=$((bytes * 1000))
        for loss in 0% 0.1% 1%; do
            row "one gateway, $way, ${size%:*} ${size#*:}, loss $loss" "$bytes" "$loss" "$way" "${columns[@]}"
        done
    done
done
exit "$status"

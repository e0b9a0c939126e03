#!/bin/bash
# A router with a firewall that drops by default and masquerades, a client behind it, and a server behind a slow link.
. /trial/toolbox.sh

modprobe -a tun veth sch_netem sch_tbf nft_masq nft_ct
ip netns add client
ip netns add server
ip link add lan0 type veth peer name eth0 netns client
ip link add sat0 type veth peer name eth0 netns server
ip address add 10.1.0.1/24 dev lan0
ip address add 10.2.0.1/24 dev sat0
ip link set lan0 up
ip link set sat0 up
ip -n client address add 10.1.0.2/24 dev eth0
ip -n server address add 10.2.0.2/24 dev eth0
for side in client server; do
    ip -n $side link set lo up
    ip -n $side link set eth0 up
done
ip -n client address add 10.1.0.3/24 dev eth0
ip -n client route add default via 10.1.0.1
ip -n server route add 10.1.0.3 via 10.2.0.1
tc qdisc add dev sat0 root netem delay 100ms limit 2000
ip netns exec server tc qdisc add dev eth0 root netem delay 100ms rate 20mbit limit 2000
sysctl -qw net.ipv4.ip_forward=1
cat >/etc/nftables.conf <<'NFT'
flush ruleset
table inet fw {
    chain forward {
        type filter hook forward priority 0; policy drop;
        ct state established,related accept
        iifname "lan0" oifname "sat0" accept
    }
    chain input {
        type filter hook input priority 0; policy drop;
        ct state established,related accept
        iifname { "lo", "lan0" } accept
    }
    chain nat {
        type nat hook postrouting priority 100;
        oifname "sat0" ip saddr != 10.1.0.3 masquerade
    }
}
NFT
holds "the firewall is loaded" systemctl restart nftables
serve server
download() { # FILE [ADDRESS]: its bytes must be right, as one address of the client's gets them
    ip netns exec client curl -sf --max-time 120 --interface "${2:-10.1.0.2}" "http://10.2.0.2/$1" | cmp - "/srv/www/$1"
}
holds "a download works without a gateway" within 20 download small

under_load() { # WHAT COMMAND...
    local what=$1 loaded=0
    shift
    download large 10.1.0.3 &
    local running=$!
    sleep 2
    holds "$what" "$@"
    wait $running || loaded=$?
    holds "and the download under way is whole" test $loaded = 0
}
# A connection that says something as often, for as long as it lasts.
listen() { # NAME
    ip netns exec client curl -sN --interface 10.1.0.3 http://10.2.0.2/cgi-bin/ticks | wait_for_ticks "$1" &
}

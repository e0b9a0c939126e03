#!/bin/bash
# Runs in the virtual machine of scripts/test-packages.sh, as root: what an operator types by docs/install.md, from the
# package to the first split connection. The router has the rules of OpenWrt's fw4: input and forward drop, zones lan and
# wan, masquerading, MSS clamping. Behind its modem are 300 ms each way, a hub with a gateway of its own, and a server.
# Meanwhile a download, a connection that says something and a ping every 100 ms go on: none of them may notice.
set -uo pipefail
cd /
. /trial/toolbox.sh

# -- the network: client - this router - modem - hub - server ---------------------------------------------------------
modprobe -a tun veth bridge sch_netem nft_masq nft_ct nft_flow_offload
for host in client modem hub server; do
    ip netns add $host
    ip -n $host link set lo up
done
ip link add br-lan type veth peer name eth0 netns client
ip link add wan0 type veth peer name dish netns modem
ip -n modem link add earth type veth peer name sat0 netns hub
ip -n hub link add lan0 type veth peer name eth0 netns server
ip -n modem link add bridge type bridge
for port in dish earth; do
    ip -n modem link set $port master bridge
    ip -n modem link set $port up
    ip netns exec modem tc qdisc add dev $port root netem delay 300ms rate 4mbit limit 1000
done
ip -n modem link set bridge up
ip address add 192.168.1.1/24 dev br-lan
ip address add 100.64.0.2/24 dev wan0
ip link set br-lan up
ip link set wan0 up
ip route add default via 100.64.0.1
ip -n client address add 192.168.1.2/24 dev eth0
ip -n hub address add 100.64.0.1/24 dev sat0
ip -n hub address add 10.3.0.1/24 dev lan0
ip -n server address add 10.3.0.2/24 dev eth0
for at in "client eth0" "hub sat0" "hub lan0" "server eth0"; do ip -n ${at% *} link set ${at#* } up; done
ip -n client route add default via 192.168.1.1
ip -n server route add default via 10.3.0.1
sysctl -qw net.ipv4.ip_forward=1
ip netns exec hub sysctl -qw net.ipv4.ip_forward=1
rules() { # [offloading]: as fw4 writes them
    local table='' through=''
    if [ "${1:-}" = offloading ]; then
        table='flowtable ft { hook ingress priority 0; devices = { "br-lan", "wan0" }; }'
        through='meta l4proto { tcp, udp } flow add @ft'
    fi
    cat <<NFT
flush ruleset
table inet fw4 {
    $table
    chain input {
        type filter hook input priority filter; policy drop;
        iifname "lo" accept
        ct state vmap { established : accept, related : accept }
        tcp flags & (fin | syn | rst | ack) == syn jump syn_flood
        iifname "br-lan" accept
        iifname "wan0" jump input_wan
        jump handle_reject
    }
    chain forward {
        type filter hook forward priority filter; policy drop;
        $through
        ct state vmap { established : accept, related : accept }
        iifname "br-lan" jump forward_lan
        iifname "wan0" jump forward_wan
        jump handle_reject
    }
    chain syn_flood {
        limit rate 25/second burst 50 packets return
        drop
    }
    chain handle_reject {
        meta l4proto tcp reject with tcp reset
        reject
    }
    chain input_wan {
        icmp type echo-request accept
        ct status dnat accept
        jump handle_reject
    }
    chain forward_lan {
        oifname "wan0" ct state invalid drop
        oifname "wan0" accept
    }
    chain forward_wan {
        ct status dnat accept
        jump handle_reject
    }
    chain srcnat {
        type nat hook postrouting priority srcnat; policy accept;
        oifname "wan0" meta nfproto ipv4 masquerade
    }
    chain mangle_forward {
        type filter hook forward priority mangle; policy accept;
        iifname "wan0" tcp flags & (fin | syn | rst) == syn tcp option maxseg size set rt mtu
        oifname "wan0" tcp flags & (fin | syn | rst) == syn tcp option maxseg size set rt mtu
    }
}
NFT
}
rules >/etc/nftables.conf
holds "the firewall is loaded" systemctl restart nftables
serve server
# A download of 100 kB/s, whose every line can be checked. The server holds it back, as curl's --limit-rate pauses for long.
cat >/srv/www/cgi-bin/endless <<'CGI'
#!/bin/bash
. /trial/toolbox.sh
printf 'Content-Type: text/plain\r\n\r\n'
line() { printf '%010000d\n' $((number++)); }
every_100_ms line
CGI
chmod +x /srv/www/cgi-bin/endless
get() { ip netns exec client curl -sfN --max-time "${2:-600}" "http://10.3.0.2/$1"; }
download() { get "$1" 120 | cmp - "/srv/www/$1"; }
holds "a download works without a gateway" within 20 download small

# -- what must not notice ---------------------------------------------------------------------------------------------
ip netns exec client ping -D -i 0.1 10.3.0.2 >/tmp/ping &
# Each says how much it has written: as long as that grows, it is not silent. One loop looks at all of them, as a machine
# that is emulated starts no ten programs in 100 ms. How long it does not come to look is the machine's own silence.
mkdir /tmp/goes-on /tmp/longest
goes_on() { # NAME PATH: a download that nothing may interrupt
    ip netns exec client curl -sfN "http://10.3.0.2/$2" >"/dev/shm/$1" &
    echo $! >"/tmp/goes-on/$1"
}
look() {
    local each name value pid grows now=${EPOCHREALTIME/./}
    for each in machine /tmp/goes-on/*; do
        grows=$each
        if [ "$each" != machine ]; then
            read -r pid <"$each"
            while read -r name value; do
                if [ "$name" = wchar: ]; then grows=$value; fi
            done 2>/dev/null <"/proc/$pid/io"
            each=${each##*/}
        fi
        if ((now - ${last[$each]:=$now} > ${longest[$each]:=0})); then
            longest[$each]=$((now - last[$each]))
            echo "$((longest[$each] / 1000)) ms, until $SECONDS s" >"/tmp/longest/$each"
        fi
        if [ "$grows" != "${written[$each]:-}" ] || [ "$each" = machine ]; then last[$each]=$now; fi
        written[$each]=$grows
    done
}
(
    declare -A written last longest
    every_100_ms look
) &
lasts() { # NAME
    echo "measured: the longest silence of the $1: $(cat "/tmp/longest/$1")"
    test "$1" = machine || kill -0 "$(cat "/tmp/goes-on/$1")"
}
goes_on connection cgi-bin/ticks
goes_on download cgi-bin/endless
sleep 5

# -- what is typed ----------------------------------------------------------------------------------------------------
typed=0
began=$SECONDS
types() { # WHAT COMMAND...
    typed=$((typed + 1))
    echo "# ${*:2}"
    holds "$@"
    grep -v '^$' /tmp/said | cut -c1-150 | head -n 20 | sed 's/^/    /'
}
cp $trial/first.deb /tmp/bentpipe-gateway.deb
types "the package installs" apt-get -qq install -y /tmp/bentpipe-gateway.deb
types "two interfaces are named, by an editor" sed -i 's/^#lan = .*/lan = ["br-lan"]/; s/^#satellite = .*/satellite = ["wan0"]/' /etc/bentpipe/gateway.toml
types "nothing is in the way" $ask check /etc/bentpipe/gateway.toml
types "it starts" systemctl enable --now $unit
types "it says that it observes" $ask status
holds "it observes" is .observes
types "it is tried for five minutes" $ask enable --try 5min
# A machine that stands still for 0.8 s has its gateway's watchdog let the kernel forward.
split_download() { download small && is '.totals.split >= 1'; }
holds "a download passes, and is split" within 60 split_download
types "it says what it splits" $ask status
echo "measured: $((SECONDS - began)) s from the package to the first split connection, and its download, with $typed commands"
goes_on split-connection cgi-bin/ticks
types "it is to split for good" sed -i 's/^observe = true/#observe = true/' /etc/bentpipe/gateway.toml
types "the file is read again" systemctl reload $unit
holds "it splits for good" within 5 is '(.observes | not) and .trial_left_s == null'

# -- the hub's, as from a package of its own --------------------------------------------------------------------------
# A systemd in a namespace of the network would see the other one's /sys: it is started by hand.
sed 's/"br-lan"/"lan0"/; s/"wan0"/"sat0"/' /etc/bentpipe/gateway.toml >/etc/bentpipe/hub.toml
holds "nothing is in the hub's way" ip netns exec hub $ask check /etc/bentpipe/hub.toml
ip netns exec hub $ask --config /etc/bentpipe/hub.toml --name hub >/tmp/hub 2>&1 &
hub=$!
at_hub() { ip netns exec hub $ask status --name hub --json | jq -e "$1"; }
holds "the hub's starts" within 90 at_hub .diverting
before=$(is .totals.split)
holds "a download passes both" download small
holds "both split it" at_hub '.totals.split >= 1'
holds "ours, too" is ".totals.split > $before"
# As OpenWrt has it by default on many routers.
rules offloading >/etc/nftables.conf
holds "flows are offloaded in software from now on" nft -f /etc/nftables.conf
holds "a download passes" download small
holds "and is split" is ".totals.split > $before + 1"
holds "nothing is in its way" is '.diverting and (.problems | length) == 0'

# -- removed ----------------------------------------------------------------------------------------------------------
kill $hub
wait $hub
began=$SECONDS
holds "the package is purged" apt-get -qq purge -y bentpipe-gateway
tr '\r' '\n' </tmp/said | grep -v '^(Reading database'
echo "measured: $((SECONDS - began)) s to purge it, of which the gateway took from its stop to its end:"
journalctl -u $unit --no-pager -o short-monotonic | grep -E 'Stopping|Stopped' | tail -n 2
holds "a download passes without them" download small
lasts machine
for each in connection download split-connection; do
    holds "the $each goes on" lasts $each
    cat /tmp/said
done
pkill -INT -x ping
pkill -x curl
sleep 1
size=$(stat -c %s /dev/shm/download)
in_order() { head -n -1 /dev/shm/download | awk '$0 + 0 != NR - 1 || length != 10000 { exit 1 }'; }
holds "the download has the lines that were sent" in_order
echo "measured: $size bytes of the download, $(grep -c icmp_seq= /tmp/ping) pings"
lost_pings /tmp/ping >/tmp/gaps
sed 's/^/measured: pings /' /tmp/gaps
holds "no ping was lost" test ! -s /tmp/gaps
exit $((failed > 0))

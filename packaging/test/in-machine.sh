#!/bin/bash
# Runs in the virtual machine of scripts/test-packages.sh, as root: a router with a firewall that drops by default and
# masquerades, a client behind it, and a server behind a slow link. What is downloaded while the firewall restarts is not
# masqueraded: while its rules are away, the router itself resets what is, with and without a gateway. Each line says what holds, or does not.
set -uo pipefail
cd /
trial=/trial
unit=bentpipe-gateway
ask=/usr/sbin/bentpipe-gateway

holds() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@" >/tmp/said 2>&1; then
        echo "holds: $what"
    else
        echo "DOES NOT HOLD: $what"
        sed 's/^/    /' /tmp/said | head -n 20
        journalctl -u $unit -t bentpipe-gateway --no-pager -n 4 -o cat | sed 's/^/    journal: /'
        failed=$((failed + 1))
    fi
}
failed=0
within() { # SECONDS COMMAND...
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        if [ $SECONDS -ge $end ]; then return 1; fi
        sleep 0.3
    done
}
not() { ! "$@"; }
is() { # FILTER: whether the gateway's status has it
    $ask status --json | jq -e "$1"
}
main_pid() { systemctl show -P MainPID $unit; }
field() { sed -n "s/^$2:[ \t]*//p" "/proc/$1/status"; }

# -- the network ------------------------------------------------------------------------------------------------------
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
mkdir /srv/www
head -c 3000000 /dev/urandom >/srv/www/small
head -c 12000000 /dev/urandom >/srv/www/large
ip netns exec server busybox httpd -f -p 80 -h /srv/www &
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
under_load "the firewall is loaded again without a gateway" systemctl restart nftables

# -- installed --------------------------------------------------------------------------------------------------------
find / -xdev \( -path /proc -o -path /sys -o -path /trial \) -prune -o -print 2>/dev/null | sort >/tmp/before
holds "the package installs" dpkg -i $trial/first.deb
grep -A8 'nothing runs' /tmp/said | tee /tmp/installed
holds "installing says what this host lacks and has" grep -q 'interfaces: .*sat0' /tmp/installed
holds "nothing runs, and nothing is enabled" not systemctl is-active --quiet $unit
holds "no device of ours is there" not ip link show bp-sat
holds "it has a user of its own" getent passwd bentpipe
holds "its man pages are there" test -e /usr/share/man/man8/bentpipe-gateway.8.gz -a -e /usr/share/man/man5/gateway.toml.5.gz

# -- the first start --------------------------------------------------------------------------------------------------
began=$SECONDS
systemctl start $unit
holds "without interfaces it does not start, and is not tried again" test "$(systemctl show -P ExecMainStatus $unit)" = 78
holds "the log has one line with the place" test "$(journalctl -u $unit -o cat --no-pager -t bentpipe-gateway | grep -c '/etc/bentpipe/gateway.toml')" = 1
sed -i 's/^#lan = .*/lan = ["lan0"]/; s/^#satellite = .*/satellite = ["sat0"]/' /etc/bentpipe/gateway.toml
holds "check says that it observes only, or that all is well" $ask check /etc/bentpipe/gateway.toml
holds "it starts" systemctl enable --now $unit
pid=$(main_pid)
holds "it runs as its own user" test "$(stat -c %U /proc/"$pid")" = bentpipe
holds "it may do with the network what it needs, and nothing more" test "$(field "$pid" CapEff)" = 0000008000001000
holds "nothing it starts may have more" test "$(field "$pid" CapBnd)" = 0000008000001000
holds "no new privileges" test "$(field "$pid" NoNewPrivs)" = 1
holds "a filter of system calls" test "$(field "$pid" Seccomp)" = 2
holds "systemd has its status" grep -q 'observes' <(systemctl show -P StatusText $unit)
holds "it observes" is .observes
holds "a download passes while it observes" download small
holds "and is not split" is '.totals.split == 0'
holds "root tries it for five minutes" $ask enable --try 5min
holds "a download passes" download small
holds "and is split" is '.totals.split >= 1'
echo "measured: $((SECONDS - began)) s from the start to the first split download"
useradd --system --user-group --groups bentpipe engineer
useradd --system stranger
holds "a member of its group may ask" setpriv --reuid engineer --regid engineer --init-groups $ask status
holds "and nobody else" not setpriv --reuid stranger --regid stranger --init-groups $ask status

# -- reload, firewall, upgrade, restart, under load -------------------------------------------------------------------
sed -i 's/^observe = true/#observe = true/' /etc/bentpipe/gateway.toml
holds "the file is read again" systemctl reload $unit
holds "it splits for good" within 5 is '(.observes | not) and .trial_left_s == null'
under_load "the firewall is loaded again" systemctl restart nftables
holds "it splits still" is '.diverting and (.observes | not)'
holds "it is the same process" test "$(main_pid)" = "$pid"
under_load "the package is upgraded" dpkg -i $trial/next.deb
holds "the upgrade has restarted nothing" test "$(main_pid)" = "$pid"
holds "its configuration is as it was" grep -q '^satellite = \["sat0"\]' /etc/bentpipe/gateway.toml
under_load "it is restarted" systemctl restart $unit
holds "it is another process" not test "$(main_pid)" = "$pid"
holds "and splits" download small
holds "flows are split" within 5 is '.totals.split >= 1'
holds "the journal has entries of its own with a priority" test -n "$(journalctl -u $unit PRIORITY=6 TARGET=bentpipe_daemon::gateway::signals -o cat)"
under_load "it is killed" kill -KILL "$(main_pid)" || true
holds "it comes back by itself" within 15 is .diverting

# -- what is missing --------------------------------------------------------------------------------------------------
$ask --config /etc/bentpipe/gateway.toml >/tmp/second 2>&1
holds "a second one is refused in one line" test "$(wc -l </tmp/second)" = 1
cat /tmp/second
cat >/etc/bentpipe/two.toml <<'TOML'
[interfaces]
lan = ["lan0"]
satellite = ["sat1"]
TOML
holds "a second link has a unit of its own, which waits for its interface" systemctl start $unit@two
sleep 35
holds "and says so, for longer than systemd's watchdog waits" grep -q 'waits for sat1' <(systemctl show -P StatusText $unit@two)
ip link add sat1 type dummy
ip link set sat1 up
holds "it begins when that comes" within 10 ip link show bp-sat-two
holds "and can be asked by its name" within 10 $ask status --name two
systemctl stop $unit@two
holds "a gateway that is stopped takes its devices with it" not ip link show bp-sat-two
holds "and the other one can still be asked" $ask status
mv /usr/sbin/nft /usr/sbin/nft.away
holds "without nft it starts" systemctl restart $unit
mv /usr/sbin/nft.away /usr/sbin/nft
holds "and splits" download small

# -- removed ----------------------------------------------------------------------------------------------------------
under_load "the package is removed" dpkg -r bentpipe-gateway
holds "a download passes without it" download small
holds "no device of ours is left" not ip link show bp-sat
holds "no program of ours is left on the interface" test -z "$(tc filter show dev sat0 egress)"
holds "its file stays until it is purged" test -e /etc/bentpipe/gateway.toml
rm /etc/bentpipe/two.toml
holds "the package is purged" dpkg -P bentpipe-gateway
userdel engineer
userdel stranger
find / -xdev \( -path /proc -o -path /sys -o -path /trial \) -prune -o -print 2>/dev/null | sort >/tmp/after
comm -13 /tmp/before /tmp/after | grep -v -e ^/tmp/ -e ^/var/log/ -e ^/var/lib/dpkg -e ^/var/lib/systemd -e ^/var/cache -e '^/etc/.*-$' >/tmp/left
holds "purging leaves nothing" test ! -s /tmp/left -a ! -e /run/bentpipe/gateway
cat /tmp/left
holds "nor a user" not getent passwd bentpipe
exit $((failed > 0))

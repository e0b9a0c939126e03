#!/bin/bash
# Runs in the virtual machine of scripts/test-packages.sh, as root, on the router of router.sh. What is downloaded while
# the firewall restarts is not masqueraded: while its rules are away, the router itself resets what is, with and without
# a gateway. Each line says what holds, or does not.
set -uo pipefail
cd /
. /trial/router.sh

under_load "the firewall is loaded again without a gateway" systemctl restart nftables

# From here to the end: a ping five times a second, and a connection.
ip netns exec client ping -D -I 10.1.0.3 -i 0.2 10.2.0.2 >/tmp/ping &
listen "a connection from before"
# A machine that is emulated stands still at times: no connection can be better than that.
every_100_ms echo x | wait_for_ticks "the machine itself" &

# -- installed --------------------------------------------------------------------------------------------------------
everything() { find / -xdev \( -path /proc -o -path /sys -o -path /trial \) -prune -o -print 2>/dev/null | sort; }
left_since() { # LIST: but for what Debian's own programs keep
    everything | comm -13 "$1" - | grep -v -e ^/tmp/ -e ^/var/log/ -e ^/var/lib/dpkg -e ^/var/lib/systemd -e ^/var/cache -e '^/etc/.*-$' >/tmp/left
    cat /tmp/left
    test ! -s /tmp/left
}
everything >/tmp/before
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
started=$SECONDS
holds "and is not split" is '.totals.split == 0'
holds "root tries it for five minutes" $ask enable --try 5min
holds "a download passes" download small
holds "and is split" is '.totals.split >= 1'
holds "all processors receive what it writes" within 5 grep -q '[1-9a-f]' /sys/class/net/bp-sat/queues/rx-0/rps_cpus
holds "and it may take its own out" within 5 nsenter --mount --target "$pid" \
    setpriv --reuid bentpipe --regid bentpipe --clear-groups test -w /sys/class/net/bp-sat/queues/rx-0/rps_cpus
echo "measured: $((SECONDS - began)) s from the start to the first split download"
useradd --system --user-group --groups bentpipe engineer
useradd --system stranger
holds "a member of its group may ask" setpriv --reuid engineer --regid engineer --init-groups $ask status
holds "and nobody else" not setpriv --reuid stranger --regid stranger --init-groups $ask status

# -- reload, firewall, upgrade, restart, under load -------------------------------------------------------------------
sed -i 's/^observe = true/#observe = true/' /etc/bentpipe/gateway.toml
holds "the file is read again" systemctl reload $unit
holds "it splits for good" within 5 is '(.observes | not) and .trial_left_s == null'
listen "a split connection"
under_load "the firewall is loaded again" systemctl restart nftables
holds "it splits still" is '.diverting and (.observes | not)'
holds "it is the same process" test "$(main_pid)" = "$pid"
under_load "the package is upgraded" dpkg -i $trial/next.deb
holds "the upgrade has restarted nothing" test "$(main_pid)" = "$pid"
holds "its configuration is as it was" grep -q '^satellite = \["sat0"\]' /etc/bentpipe/gateway.toml
tc monitor >/tmp/traffic-control &
monitor=$!
under_load "it is restarted" systemctl restart $unit
kill $monitor
holds "before Linux 6.6 it keeps the interface's clsact, as no packet is lost then" not grep -E 'qdisc clsact .*sat0' /tmp/traffic-control
holds "it is another process" not test "$(main_pid)" = "$pid"
holds "and splits" download small
holds "flows are split" within 5 is '.totals.split >= 1'
holds "the journal has entries of its own with a priority" test -n "$(journalctl -u $unit PRIORITY=6 TARGET=bentpipe_daemon::gateway::signals -o cat)"
under_load "it is killed" kill -KILL "$(main_pid)" || true
holds "it comes back by itself" within 60 is .diverting

# -- the package with everything, next to it --------------------------------------------------------------------------
listening() { ss -Hlntup | sed 's/[^ ]*pid=[^ ]*//' | sort; }
listening >/tmp/listening
pid=$(main_pid)
everything >/tmp/before-whole
holds "the package with everything installs next to it" dpkg -i $trial/whole.deb
holds "it runs" bentpipe --version
holds "it has no unit" not grep systemd <(dpkg -L bentpipe)
holds "nothing of it runs" not pgrep -x bentpipe
holds "nor listens" cmp /tmp/listening <(listening)
holds "it is upgraded" dpkg -i $trial/whole-next.deb
holds "the gateway is the same process" test "$(main_pid)" = "$pid"
holds "it is purged" dpkg -P bentpipe
holds "that leaves nothing" left_since /tmp/before-whole
holds "nor is anything else listened to" cmp /tmp/listening <(listening)

# -- what is missing --------------------------------------------------------------------------------------------------
$ask --config /etc/bentpipe/gateway.toml >/tmp/second 2>&1
holds "a second one is refused in one line" test "$(wc -l </tmp/second)" = 1
cat /tmp/second
holds "with what is to be done" grep -q 'stop it, or give this one a --name' /tmp/second
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
holds "it begins when that comes" within 90 ip link show bp-sat-two
holds "and can be asked by its name" within 90 $ask status --name two
systemctl stop $unit@two
holds "a gateway that is stopped takes its devices with it" not ip link show bp-sat-two
holds "and the other one can still be asked" $ask status
# Each in one line, with what is to be done.
ip netns add elsewhere
ip netns exec elsewhere sysctl -qw net.ipv4.ip_forward=1
for device in lan9 sat9; do
    ip -n elsewhere link add $device type dummy
    ip -n elsewhere link set $device up
done
printf '[interfaces]\nlan = ["lan9"]\nsatellite = ["sat9"]\n' >/tmp/elsewhere.toml
refused() { # WHAT-IT-SAYS PREPARATION: a gateway that is started after that says so in one line, and ends
    ip netns exec elsewhere unshare -m sh -c "$2; exec timeout 20 ${3:-} $ask --config /tmp/elsewhere.toml" >/tmp/refused 2>&1
    cat /tmp/refused
    test "$(wc -l </tmp/refused)" = 1 && grep -q "$1" /tmp/refused
}
holds "/run is read-only" refused 'can be written: in a container, mount a tmpfs' 'mount -t tmpfs -o ro,mode=755 none /run'
holds "no /dev/net/tun" refused '/dev/net/tun is missing' 'mount -t tmpfs none /dev/net'
holds "no CAP_NET_ADMIN" refused 'CAP_NET_ADMIN' : 'setpriv --bounding-set -net_admin --inh-caps -net_admin'
holds "no CAP_BPF" refused 'CAP_BPF' : 'setpriv --bounding-set -bpf,-sys_admin --inh-caps -bpf,-sys_admin'
mkdir /tmp/full
mount -t tmpfs -o size=128k none /tmp/full
download small &
$ask record -o /tmp/full/some.pcapng --payload --for 20s >/tmp/full-said 2>&1
cat /tmp/full-said
wait $!
umount /tmp/full
holds "a full disk ends a recording in one line" grep -q 'no space is left' /tmp/full-said
stopped=$SECONDS
# What is known of links is written down when it ends: here of one that an earlier run has found.
systemctl stop $unit
mount -t tmpfs -o size=8k none /var/lib/bentpipe/gateway
chown bentpipe: /var/lib/bentpipe/gateway
as_bentpipe() { setpriv --reuid bentpipe --clear-groups sh -c "umask 077; $1"; }
link='{"identity":7,"hosts":[],"bits-per-second":8000000,"round-trip-ms":512,"arriving-bits-per-second":250000,"age-s":5}'
as_bentpipe "echo '{\"version\":1,\"written\":$(date +%s),\"links\":[$link]}' >'/var/lib/bentpipe/gateway/bentpipe gateway-links.json'"
as_bentpipe 'cat /dev/zero >/var/lib/bentpipe/gateway/all' 2>/dev/null
holds "with a full /var/lib/bentpipe it starts" systemctl start $unit
holds "and splits" download small
systemctl stop $unit
holds "and says in one line where no space is left" grep -q 'no space is left at /var/lib/bentpipe/gateway/.*make room' <(journalctl -u $unit -n 60 -o cat)
umount /var/lib/bentpipe/gateway
mv /usr/sbin/nft /usr/sbin/nft.away
holds "without nft it starts" systemctl restart $unit
holds "and says what it cannot find" grep -q 'nft. is missing.*apt-get install nftables' <($ask check)
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
holds "purging leaves nothing" left_since /tmp/before
holds "nor anything in /run" test ! -e /run/bentpipe/gateway
holds "nor a user" not getent passwd bentpipe
silence "the machine itself"
holds "a connection from before all this goes on" silence "a connection from before"
cat /tmp/said
holds "so does one that was split" silence "a split connection"
cat /tmp/said
# The last ones are still on their way: it is gaps that count.
pkill -INT -x ping
sleep 1
echo "measured: $(grep -c icmp_seq= /tmp/ping) pings; the first start was before $started s, the first stop after $stopped s"
lost_pings /tmp/ping >/tmp/gaps
sed 's/^/measured: pings /' /tmp/gaps
# Before Linux 6.6 the kernel drops what leaves by an interface while `clsact` is added or removed, which is at the first
# start and at each stop for good.
holds "no ping was lost from its first start to its first stop" awk "\$4 > $started && \$4 < $stopped { exit 1 }" /tmp/gaps
holds "no two pings in a row were lost" not grep -qv '^lost: 1,' /tmp/gaps
exit $((failed > 0))

#!/bin/bash
# Runs in the virtual machine of scripts/test-kernels.sh, as root, on a kernel before Linux 5.10: the package says in one
# line that it takes a newer one, and changes nothing.
set -uo pipefail
cd /
. /trial/toolbox.sh
for device in lan0 sat0; do
    ip link add $device type dummy
    ip link set $device up
done
sysctl -qw net.ipv4.ip_forward=1

one_line() { # COMMAND...: it fails, in one line with a remedy
    "$@" >/tmp/one 2>&1 && return 1
    cat /tmp/one
    test "$(wc -l </tmp/one)" = 1 && grep -q 'takes 5.10 or later: install a newer kernel' /tmp/one
}
holds "the package installs" dpkg -i $trial/first.deb
cat /tmp/said
holds "and says what is wrong with this kernel" grep -q 'takes 5.10 or later: install a newer kernel' /tmp/said
sed -i 's/^#lan = .*/lan = ["lan0"]/; s/^#satellite = .*/satellite = ["sat0"]/' /etc/bentpipe/gateway.toml
holds "check says so" not $ask check
cat /tmp/said
holds "it ends in one line" one_line $ask --config /etc/bentpipe/gateway.toml
cat /tmp/said
systemctl start $unit
holds "the unit does not start" not systemctl is-active --quiet $unit
systemctl status $unit --no-pager -n 0 | head -n 12
sleep 12
journalctl -u $unit --no-pager -o cat | tee /tmp/journal
holds "the journal has the line" grep -q 'takes 5.10 or later: install a newer kernel' /tmp/journal
holds "no device of ours is there" not ip link show bp-sat
holds "it is purged" dpkg -P bentpipe-gateway
exit $((failed > 0))

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
    if "$@" >/tmp/one 2>&1; then return 1; fi
    cat /tmp/one
    test "$(wc -l </tmp/one)" = 1 && grep -q 'takes 5.10 or later: install a newer kernel' /tmp/one
}
holds "the package installs" dpkg -i $trial/first.deb
cat /tmp/said
cp /tmp/said /tmp/installed
holds "and says what is wrong with this kernel" grep -q 'does not start: .*takes 5.10 or later: install a newer kernel' /tmp/installed
sed -i 's/^#lan = .*/lan = ["lan0"]/; s/^#satellite = .*/satellite = ["sat0"]/' /etc/bentpipe/gateway.toml
$ask check /etc/bentpipe/gateway.toml | tee /tmp/checked
holds "check says so" grep -q 'does not start: .*takes 5.10 or later: install a newer kernel' /tmp/checked
holds "it ends in one line" one_line $ask --config /etc/bentpipe/gateway.toml
cat /tmp/said
systemctl start $unit
holds "the unit does not start, and is not tried again" test "$(systemctl show -P ExecMainStatus -P ActiveState $unit | sort | xargs)" = "78 failed"
journalctl -u $unit --no-pager -o cat | tee /tmp/journal
holds "the journal has the line, once" test "$(grep -c 'takes 5.10 or later: install a newer kernel' /tmp/journal)" = 1
holds "no device of ours is there" not ip link show bp-sat
holds "it is purged" dpkg -P bentpipe-gateway
exit $((failed > 0))

#!/bin/bash
# Runs in the virtual machine of scripts/test-kernels.sh, as root, on the router of router.sh: what the package does on
# this kernel.
set -uo pipefail
cd /
. /trial/router.sh

holds "the package installs" dpkg -i $trial/first.deb
grep -A8 'nothing runs' /tmp/said
sed -i 's/^#lan = .*/lan = ["lan0"]/; s/^#satellite = .*/satellite = ["sat0"]/' /etc/bentpipe/gateway.toml
holds "it starts" systemctl start $unit
pid=$(main_pid)
holds "as its own user" test "$(stat -c %U /proc/"$pid")" = bentpipe
holds "with CAP_NET_ADMIN and CAP_BPF alone" test "$(field "$pid" CapEff)" = 0000008000001000
holds "it observes" is .observes
holds "a download passes" download small
holds "and is not split" is '.totals.split == 0'
holds "it splits" $ask enable
holds "a download passes" download small
holds "and is split" is '.totals.split >= 1'
holds "a large one passes" download large
holds "nothing is in its way" is '.diverting and (.problems | length) == 0'
echo "measured: $(uname -r): $(ip -d link show sat0 | grep -o 'tcx[^ ]*' | head -n 1) $(tc filter show dev sat0 egress | grep -c bpf) filters at sat0"
$ask status
holds "it is killed, and a download passes" kill -KILL "$pid"
holds "at once" download small
holds "it comes back by itself" within 60 is .diverting
holds "it stops" systemctl stop $unit
holds "a download passes without it" download small
holds "nothing of it is left" not ip link show bp-sat
holds "nor on the interface" test -z "$(tc filter show dev sat0 egress)"
holds "it is purged" dpkg -P bentpipe-gateway
exit $((failed > 0))

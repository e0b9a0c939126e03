#!/usr/bin/env bash
# Writes the rule sets of real firewalls as fixtures of the live tests (crates/cli/tests/live/routers/rules). firewalld,
# ufw, Docker and libvirt are installed from Debian 12 in a throw-away root, run in a network namespace with the test
# network's interfaces and addresses, and set up with their own commands; then their rules are listed. Needs root,
# debootstrap and the network; fetches some 250 MB. KEEP=1 keeps the root for the next time.
# Usage: capture-rules.sh [NAME...]   (all of firewalld, ufw, docker, libvirt)
set -euo pipefail
cd "$(dirname "$0")/.."
rules=$PWD/crates/cli/tests/live/routers/rules
root=${CARGO_TARGET_DIR:-$PWD/target}/rules-root
name=bentpipe-rules-$$

if [ ! -e "$root/ready" ]; then
    echo "capture-rules: a root with Debian 12 and its firewalls, which takes minutes"
    mkdir -p "$root"
    debootstrap --variant=minbase --include=ca-certificates,iproute2,iptables,nftables,dbus,procps,kmod \
        bookworm "$root" http://deb.debian.org/debian >/dev/null
    unshare -m sh -c '
        set -e
        mount --make-rprivate / && mount -t proc p "$1/proc" && mount --bind /dev "$1/dev"
        printf "#!/bin/sh\nexit 101\n" >"$1/usr/sbin/policy-rc.d" && chmod 755 "$1/usr/sbin/policy-rc.d"
        export DEBIAN_FRONTEND=noninteractive
        chroot "$1" apt-get -qq update
        chroot "$1" apt-get -qq install -y --no-install-recommends firewalld ufw docker.io \
            libvirt-daemon-system libvirt-clients dnsmasq-base busybox-static >"$1/install.log" 2>&1
        touch "$1/ready"' sh "$root"
fi

# A namespace with the interfaces of the router under test.
lay_network() {
    ip netns add "$name"
    ip -n "$name" link set lo up
    local number interface
    for number in 1:lan0 2:sat0 5:dmz0; do
        interface=${number#*:}
        ip -n "$name" link add "$interface" type veth peer name "peer${number%:*}"
        ip -n "$name" addr add "10.91.${number%:*}.1/24" dev "$interface"
        ip -n "$name" addr add "fd00:91:0:${number%:*}::1/64" dev "$interface" nodad
        ip -n "$name" link set "$interface" up
        ip -n "$name" link set "peer${number%:*}" up
    done
    ip -n "$name" route add default via 10.91.2.2
    ip -n "$name" -6 route add default via fd00:91:0:2::2
}
take_down() {
    local pid
    for pid in $(ip netns pids "$name" 2>/dev/null); do kill -9 "$pid" 2>/dev/null || true; done
    ip netns del "$name" 2>/dev/null || true
}
trap take_down EXIT

# inside COMMANDS: a shell in the root and the namespace; its mounts end with it and with the daemons that it leaves.
# The root is a mount of its own, as Docker wants. What it lists is in the root's /listed, as a daemon would hold a pipe
# open.
inside() {
    nsenter --net="/run/netns/$name" unshare --mount sh -c '
        mount --make-rprivate / && mount --bind "$1" "$1" && cd "$1"
        mount -t proc p proc; mount -t sysfs s sys; mount --rbind /dev dev; mount -t tmpfs t run
        mount --rbind /sys/fs/cgroup sys/fs/cgroup
        mkdir -p run/lock run/dbus && pivot_root . mnt
        exec chroot . /bin/bash -c "set -eu; umount -l /mnt; $2"' sh "$root" "$1"
}
version() { chroot "$root" dpkg-query -W -f='${Version}' "$1"; }
# write FILE PACKAGE HOW: its standard input behind a head that says where it is from.
write() {
    {
        printf '# Written by %s %s of Debian 12, which scripts/capture-rules.sh set up so:\n' "$2" "$(version "$2")"
        printf '%s\n' "$3" | sed '/^$/d; s/^/#   /'
        # What differs from one run to the next says nothing.
        grep -v '^# \(Generated\|Completed\|Warning\)' | sed 's/\[[0-9]*:[0-9]*\]/[0:0]/'
    } >"$rules/$1"
    echo "capture-rules: wrote $1, $(wc -l <"$rules/$1") lines"
}

firewalld() {
    local setup="
firewall-cmd --permanent --zone=internal --change-interface=lan0
firewall-cmd --permanent --zone=external --change-interface=sat0
firewall-cmd --permanent --zone=dmz --change-interface=dmz0
firewall-cmd --permanent --zone=external --add-forward-port=port=8080:proto=tcp:toport=7100:toaddr=10.91.1.2
firewall-cmd --permanent --new-policy=out
firewall-cmd --permanent --policy=out --add-ingress-zone=internal
firewall-cmd --permanent --policy=out --add-egress-zone=external
firewall-cmd --permanent --policy=out --add-egress-zone=dmz
firewall-cmd --permanent --policy=out --set-target=ACCEPT"
    inside "exec >/dev/null; dbus-daemon --system --fork; firewalld --nopid & sleep 8
        $setup
        firewall-cmd --reload; sleep 2; nft list table inet firewalld >>/listed"
    write firewalld.nft firewalld "$setup" <"$root/listed"
}

ufw() {
    # NAT is not ufw's own: its manual has it written into this file.
    local setup="
ufw default deny incoming
ufw default deny routed
ufw allow in on lan0 to any port 22 proto tcp
ufw route allow in on lan0 out on sat0
ufw route allow in on lan0 out on dmz0
ufw route allow in on sat0 out on lan0 to 10.91.1.2 port 7100 proto tcp
ufw --force enable"
    local nat="*nat\n:PREROUTING ACCEPT\n:POSTROUTING ACCEPT"
    nat="$nat\n-A PREROUTING -i sat0 -p tcp --dport 8080 -j DNAT --to 10.91.1.2:7100"
    nat="$nat\n-A POSTROUTING -o sat0 -j MASQUERADE\nCOMMIT"
    inside "exec >/dev/null; ufw --force reset; iptables -t nat -F
        cp /usr/share/ufw/iptables/before.rules /etc/ufw/before.rules
        sed -i '1i $nat' /etc/ufw/before.rules
        $setup
        iptables-save >>/listed; echo === >>/listed; ip6tables-save >>/listed"
    sed '/^===/,$d' "$root/listed" | write ufw.iptables ufw "$setup
and masquerade and a port-forward in /etc/ufw/before.rules, as its manual has it"
    sed '1,/^===/d' "$root/listed" | write ufw.ip6tables ufw "$setup"
}

# docker_by nft|legacy FILE
docker_by() {
    local setup="
docker run -d -p 8080:7100 IMAGE sleep 100
iptables -I DOCKER-USER -i lan0 -j ACCEPT
iptables -I DOCKER-USER -o lan0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT"
    inside "exec >/dev/null; update-alternatives --set iptables /usr/sbin/iptables-$1 2>&1
        echo 0 >/proc/sys/net/ipv4/ip_forward
        dockerd --storage-driver=vfs >/var/log/dockerd.log 2>&1 & daemon=\$!
        for second in \$(seq 60); do docker info >/dev/null 2>&1 && break; sleep 1; done
        mkdir -p /tmp/image/bin && cp /bin/busybox /tmp/image/bin/sleep
        tar -C /tmp/image -c . | docker import - image
        id=\$(docker run -d -p 8080:7100 image sleep 100)
        $(sed '1,2d' <<<"$setup")
        iptables-save >>/listed; docker rm -f \$id; kill \$daemon; wait \$daemon || true
        update-alternatives --auto iptables"
    write "$2" docker.io "$setup" <"$root/listed"
}
docker() { docker_by nft docker.iptables; }


libvirt() {
    inside "exec >/dev/null; dbus-daemon --system --fork; virtlogd -d; libvirtd -d; sleep 5
        virsh -c qemu:///system net-start default; sleep 1; iptables-save >>/listed"
    write libvirt.iptables libvirt-daemon "virsh net-start default" <"$root/listed"
}

for firewall in "${@:-firewalld}" $([ $# -gt 0 ] || echo ufw docker libvirt); do
    lay_network
    rm -f "$root/listed"
    "$firewall"
    take_down
done
[ -n "${KEEP:-}" ] || rm -rf --one-file-system "$root"

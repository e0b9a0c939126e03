//! Set-ups with devices that not every kernel has: they run in a virtual machine.

use super::setups::{BARE, NFT, Setup, SetupHost};

const PLAIN: Setup = Setup { is_emulated: false, ..BARE };

/// The router's own programs are outside the VRF, but for its server.
const VRF: Setup = Setup {
    name: "vrf",
    commands: &[(
        SetupHost::Router,
        "ip link add red type vrf table 77
         ip link set red up
         sysctl -qw net.ipv4.tcp_l3mdev_accept=1 net.ipv4.udp_l3mdev_accept=1
         sysctl -qw net.ipv4.ip_nonlocal_bind=1 net.ipv6.ip_nonlocal_bind=1
         for device in lan0 sat0 dmz0; do ip link set $device master red; done
         ip address replace fd00:91:0:1::1/64 dev lan0 nodad
         ip address replace fd00:91:0:2::1/64 dev sat0 nodad
         ip address replace fd00:91:0:5::1/64 dev dmz0 nodad
         ip route add default via 10.91.2.2 vrf red
         ip -6 route add default via fd00:91:0:2::2 vrf red",
    )],
    refused: &["published", "router-lan", "router-far"],
    ..PLAIN
};

const VLAN_ON_BOND: Setup = Setup {
    name: "vlan_on_bond",
    commands: &[
        (
            SetupHost::Router,
            "ip link add bond0 type bond mode active-backup miimon 100
             ip address flush dev sat0
             ip link set sat0 down
             ip link set sat0 master bond0
             ip link set bond0 up
             ip link add link bond0 name bond0.10 type vlan id 10
             ip link set bond0.10 up
             ip address add 10.91.2.1/24 dev bond0.10
             ip address add fd00:91:0:2::1/64 dev bond0.10 nodad
             ip route replace default via 10.91.2.2
             ip -6 route replace default via fd00:91:0:2::2",
        ),
        (
            SetupHost::Satellite,
            "ip address flush dev ground1
             ip link add link ground1 name ground1.10 type vlan id 10
             ip link set ground1.10 up
             ip address add 10.91.2.2/24 dev ground1.10
             ip address add fd00:91:0:2::2/64 dev ground1.10 nodad
             ip route replace 10.91.1.0/24 via 10.91.2.1
             ip -6 route replace fd00:91:0:1::/64 via fd00:91:0:2::1",
        ),
    ],
    satellite: "bond0.10",
    ..PLAIN
};

/// wg-quick takes the default route over, by its mark, its `ip rule`s and its nft table.
const WG_QUICK: Setup = Setup {
    name: "wg_quick",
    commands: &[
        (
            SetupHost::Satellite,
            "umask 077; mkdir -p /run/wg-keys; cd /run/wg-keys
             for end in near far; do wg genkey > $end; wg pubkey < $end > $end.pub; done
             ip link add wg0 type wireguard
             wg set wg0 private-key far listen-port 51820 peer $(cat near.pub) \
                 allowed-ips 10.91.8.0/24,10.91.1.0/24,fd00:91:0:8::/64,fd00:91:0:1::/64
             ip link set wg0 mtu 1420 up
             ip address add 10.91.8.2/24 dev wg0
             ip address add fd00:91:0:8::2/64 dev wg0 nodad
             ip route replace 10.91.1.0/24 dev wg0
             ip -6 route replace fd00:91:0:1::/64 dev wg0",
        ),
        (
            SetupHost::Router,
            "umask 077; cd /run/wg-keys
             printf '[Interface]\nPrivateKey = %s\nAddress = 10.91.8.1/24, fd00:91:0:8::1/64\nMTU = 1420\n' \
                 $(cat near) > wg0.conf
             printf '[Peer]\nPublicKey = %s\nAllowedIPs = 0.0.0.0/0, ::/0\nEndpoint = 10.91.2.2:51820\n' \
                 $(cat far.pub) >> wg0.conf
             wg-quick up ./wg0.conf",
        ),
    ],
    satellite: "wg0",
    ..PLAIN
};

/// OpenWrt's `flow_offloading 1`.
const FLOW_TABLE: Setup = Setup {
    name: "flow_table",
    rules: &[(
        NFT,
        "table inet ft {
           flowtable ft { hook ingress priority 0; devices = { lan0, sat0, dmz0 }; }
           chain forward { type filter hook forward priority filter;
             meta l4proto { tcp, udp } flow add @ft; }; }",
    )],
    ..PLAIN
};

const PPPOE: Setup = Setup {
    name: "pppoe",
    commands: &[
        (
            SetupHost::Satellite,
            "ip address flush dev ground1
             echo noauth > /run/pppoe-server-options
             pppoe-server -k -I ground1 -L 10.91.2.2 -R 10.91.2.1 -N 1 -O /run/pppoe-server-options",
        ),
        (
            SetupHost::Router,
            "ip address flush dev sat0
             pppd plugin rp-pppoe.so sat0 noauth nodefaultroute ifname ppp0 user site updetach
             ip address add fd00:91:0:2::1/64 dev ppp0 nodad
             ip route replace default dev ppp0
             ip -6 route replace default dev ppp0",
        ),
        (
            SetupHost::Satellite,
            "ip address add fd00:91:0:2::2/64 dev ppp0 nodad
             ip route replace 10.91.1.0/24 dev ppp0
             ip -6 route replace fd00:91:0:1::/64 dev ppp0",
        ),
    ],
    satellite: "ppp0",
    ..PLAIN
};

/// What strongSwan has the kernel do for a tunnel between the two sites' networks in IPv4, and its
/// rules in the firewall.
const IPSEC: Setup = Setup {
    name: "ipsec",
    commands: &[
        (
            SetupHost::Router,
            "for end in '10.91.2.1 10.91.3.1 0x100' '10.91.3.1 10.91.2.1 0x101'; do
                 set -- $end
                 ip xfrm state add src $1 dst $2 proto esp spi $3 reqid 1 mode tunnel \
                     aead 'rfc4106(gcm(aes))' 0x000102030405060708090a0b0c0d0e0f10111213 128
             done
             ip xfrm policy add src 10.91.1.0/24 dst 10.91.4.0/24 dir out priority 371327 \
                 tmpl src 10.91.2.1 dst 10.91.3.1 proto esp reqid 1 mode tunnel
             for way in fwd in; do
                 ip xfrm policy add src 10.91.4.0/24 dst 10.91.1.0/24 dir $way priority 371327 \
                     tmpl src 10.91.3.1 dst 10.91.2.1 proto esp reqid 1 mode tunnel
             done
             iptables-nft -P FORWARD DROP
             iptables-nft -A FORWARD -i lan0 -o dmz0 -j ACCEPT
             iptables-nft -A FORWARD -i dmz0 -o lan0 -m conntrack --ctstate ESTABLISHED -j ACCEPT
             iptables-nft -I FORWARD -s 10.91.1.0/24 -d 10.91.4.0/24 -o sat0 -m policy --dir out --pol ipsec \
                 --reqid 1 --proto esp -j ACCEPT
             iptables-nft -I FORWARD -s 10.91.4.0/24 -d 10.91.1.0/24 -i sat0 -m policy --dir in --pol ipsec \
                 --reqid 1 --proto esp -j ACCEPT",
        ),
        (
            SetupHost::FarRouter,
            "for end in '10.91.2.1 10.91.3.1 0x100' '10.91.3.1 10.91.2.1 0x101'; do
                 set -- $end
                 ip xfrm state add src $1 dst $2 proto esp spi $3 reqid 1 mode tunnel \
                     aead 'rfc4106(gcm(aes))' 0x000102030405060708090a0b0c0d0e0f10111213 128
             done
             ip xfrm policy add src 10.91.4.0/24 dst 10.91.1.0/24 dir out priority 371327 \
                 tmpl src 10.91.3.1 dst 10.91.2.1 proto esp reqid 1 mode tunnel
             for way in fwd in; do
                 ip xfrm policy add src 10.91.1.0/24 dst 10.91.4.0/24 dir $way priority 371327 \
                     tmpl src 10.91.2.1 dst 10.91.3.1 proto esp reqid 1 mode tunnel
             done",
        ),
    ],
    unsplit: &[
        "up ipv4",
        "down ipv4",
        "short ipv4",
        "half-closed ipv4",
        "idle ipv4",
        "inwards ipv4",
    ],
    ..PLAIN
};

/// Those that a kernel with all of this can have.
pub(super) const SETUPS: &[Setup] = &[VRF, VLAN_ON_BOND, WG_QUICK, FLOW_TABLE, PPPOE, IPSEC];

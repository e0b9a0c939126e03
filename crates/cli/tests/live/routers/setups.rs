//! The routers' set-ups: what is done to a plain router, what of the transfers it refuses by
//! itself, and what of them is split.

use std::net::Ipv4Addr;

use super::uplinks::{
    FOREIGN_MARKS, MWAN3, PBR, TAILSCALE, TWO_UPLINKS_BY_FROM, TWO_UPLINKS_BY_IIF,
};

/// A host that a setup configures with commands.
#[derive(Debug, Clone, Copy)]
pub(super) enum SetupHost {
    Router,
    Satellite,
    Lan,
    Third,
    FarRouter,
    Far,
}

/// One column of the matrix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setup {
    pub(super) name: &'static str,
    /// Commands that succeed in a namespace of a kernel that can have this.
    pub(super) needs: &'static str,
    /// In this order, behind the rules' own.
    pub(super) commands: &'static [(SetupHost, &'static str)],
    /// What loads them, and rules of the router.
    pub(super) rules: &'static [(&'static str, &'static str)],
    /// The gateway's interfaces, and more keys for the satellite's side.
    pub(super) lan: &'static [&'static str],
    pub(super) satellite: &'static str,
    pub(super) keys: &'static str,
    /// The rows that the router does not let through, with or without a gateway.
    pub(super) refused: &'static [&'static str],
    /// The rows that go another way, or that the guide says are not split.
    pub(super) unsplit: &'static [&'static str],
    /// The third host is a guest on the router, with this address.
    pub(super) guest: Option<Ipv4Addr>,
    pub(super) narrow_hop: bool,
    /// `bentpipe gateway check` names an interface to configure instead.
    pub(super) is_told: bool,
    /// Connection tracking has no more entries with a gateway. They stay for as long as both runs
    /// take.
    pub(super) is_tracked_once: bool,
    /// The satellite is an emulated link; otherwise it is a router, which may have other devices.
    pub(super) is_emulated: bool,
}

pub(super) const NFT: &str = "nft -f -";

/// A router that does nothing but route. All others differ from it.
pub(super) const BARE: Setup = Setup {
    name: "bare",
    needs: "",
    commands: &[],
    rules: &[],
    lan: &["lan0"],
    satellite: "sat0",
    keys: "",
    refused: &["published"],
    unsplit: &[],
    guest: None,
    narrow_hop: false,
    is_told: false,
    is_tracked_once: false,
    is_emulated: true,
};

const DEFAULT_DROP: Setup = Setup {
    name: "default_drop",
    rules: &[(NFT, include_str!("rules/nftables.nft"))],
    refused: &["inwards"],
    ..BARE
};

const MASQUERADE: Setup = Setup {
    name: "masquerade",
    rules: &[(
        NFT,
        "table inet nat {
           chain pre { type nat hook prerouting priority dstnat;
             iifname sat0 meta nfproto ipv4 tcp dport 8080 dnat ip to 10.91.1.2:7100;
             iifname sat0 meta nfproto ipv6 tcp dport 8080 dnat ip6 to [fd00:91:0:1::2]:7100; }
           chain post { type nat hook postrouting priority srcnat; oifname { sat0, dmz0 } masquerade; }; }",
    )],
    refused: &[],
    ..BARE
};

const CONDITIONAL_DROP: Setup = Setup {
    name: "conditional_drop",
    rules: &[(
        NFT,
        "table inet site { chain forward { type filter hook forward priority 0;
           iifname lan0 oifname != { sat0, dmz0 } drop;
           iifname != { lan0, sat0, dmz0 } reject;
           oifname != { lan0, sat0, dmz0 } drop; }; }",
    )],
    ..BARE
};

pub(super) const FW4: Setup = Setup {
    name: "fw4",
    rules: &[(NFT, include_str!("rules/fw4.nft"))],
    // A traffic rule is all that IPv6 needs.
    refused: &["inwards ipv4", "published ipv6"],
    ..BARE
};

const FIREWALLD: Setup = Setup {
    name: "firewalld",
    rules: &[(NFT, include_str!("rules/firewalld.nft"))],
    refused: &["inwards", "published ipv6"],
    ..BARE
};

const UFW: Setup = Setup {
    name: "ufw",
    rules: &[
        ("iptables-nft-restore", include_str!("rules/ufw.iptables")),
        ("ip6tables-nft-restore", include_str!("rules/ufw.ip6tables")),
    ],
    needs: "iptables-nft -S",
    // Its rule for the published port lets in everyone that knows the address inside.
    refused: &["inwards ipv6", "published ipv6"],
    ..BARE
};

const IPTABLES_LEGACY: Setup = Setup {
    name: "iptables_legacy",
    rules: &[
        ("iptables-legacy-restore", include_str!("rules/router.iptables")),
        ("ip6tables-legacy-restore", include_str!("rules/router.ip6tables")),
    ],
    needs: "iptables-legacy -t nat -S; ip6tables-legacy -S",
    refused: &["inwards", "published ipv6"],
    ..BARE
};

/// The third host becomes what runs on the router, behind a bridge of its own.
const DOCKER_GUEST: &[(SetupHost, &str)] = &[
    (
        SetupHost::Router,
        "ip link add docker0 type bridge
         ip address flush dev dmz0
         ip link set dmz0 master docker0
         ip address add 172.17.0.1/16 dev docker0
         ip link set docker0 up",
    ),
    (
        SetupHost::Third,
        "ip link delete alt0
         ip address flush dev eth0
         ip address add 172.17.0.2/16 dev eth0
         ip route add default via 172.17.0.1",
    ),
];

const DOCKER: Setup = Setup {
    name: "docker",
    commands: DOCKER_GUEST,
    rules: &[("iptables-nft-restore", include_str!("rules/docker.iptables"))],
    lan: &["lan0", "docker0"],
    needs: "iptables-nft -S; ip link add docker0 type bridge",
    // Docker publishes a port to the LAN and to the far side; its own firewall is for IPv4 alone.
    refused: &["inwards ipv4", "published ipv6"],
    guest: Some(Ipv4Addr::new(172, 17, 0, 2)),
    ..BARE
};

const DOCKER_LEGACY: Setup = Setup {
    name: "docker_legacy",
    rules: &[("iptables-legacy-restore", include_str!("rules/docker.iptables"))],
    needs: "iptables-legacy -t nat -S; ip link add docker0 type bridge",
    ..DOCKER
};

const LIBVIRT: Setup = Setup {
    name: "libvirt",
    commands: &[
        (
            SetupHost::Router,
            "ip link add virbr0 type bridge
             ip address flush dev dmz0
             ip link set dmz0 master virbr0
             ip address add 192.168.122.1/24 dev virbr0
             ip link set virbr0 up",
        ),
        (
            SetupHost::Third,
            "ip link delete alt0
             ip address flush dev eth0
             ip address add 192.168.122.2/24 dev eth0
             ip route add default via 192.168.122.1",
        ),
    ],
    rules: &[("iptables-nft-restore", include_str!("rules/libvirt.iptables"))],
    lan: &["lan0", "virbr0"],
    needs: "iptables-nft -S; ip link add virbr0 type bridge",
    refused: &["published", "third", "udp-third"],
    guest: Some(Ipv4Addr::new(192, 168, 122, 2)),
    ..BARE
};

const BRIDGE: &str = "ip link add br0 type bridge
     ip link set lan0 master br0
     ip address flush dev lan0
     ip address add 10.91.1.1/24 dev br0
     ip address add fd00:91:0:1::1/64 dev br0 nodad
     ip link set br0 up";

/// The LAN's interface is a port of a bridge: the one above is to be configured.
const BRIDGE_PORT_NAMED: Setup = Setup {
    name: "bridge_port_named",
    commands: &[(SetupHost::Router, BRIDGE)],
    needs: "ip link add br0 type bridge",
    is_told: true,
    ..BARE
};

/// Two hosts on one bridge, whose frames to each other cross the router's firewall.
const BR_NETFILTER: Setup = Setup {
    name: "br_netfilter",
    commands: &[
        (SetupHost::Router, BRIDGE),
        (
            SetupHost::Router,
            "ip address flush dev dmz0
             ip link set dmz0 master br0
             ip address add 10.91.5.1/24 dev br0
             ip address add fd00:91:0:5::1/64 dev br0 nodad
             echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables
             echo 1 > /proc/sys/net/bridge/bridge-nf-call-ip6tables",
        ),
        (
            SetupHost::Lan,
            "ip route add 10.91.5.0/24 dev eth0; ip route add fd00:91:0:5::/64 dev eth0",
        ),
        (
            SetupHost::Third,
            "ip route replace 10.91.1.0/24 dev eth0; ip route replace fd00:91:0:1::/64 dev eth0",
        ),
    ],
    rules: &[(
        NFT,
        "table inet filter { chain forward { type filter hook forward priority filter; policy drop;
           ct state vmap { established : accept, related : accept, invalid : drop };
           iifname br0 accept; meta l4proto ipv6-icmp accept; }; };
         table inet nat { chain post { type nat hook postrouting priority srcnat;
           oifname sat0 masquerade; }; }",
    )],
    lan: &["br0"],
    needs: "ip link add br0 type bridge; test -e /proc/sys/net/bridge/bridge-nf-call-iptables",
    refused: &["inwards", "published"],
    ..BARE
};

/// Segments to a host behind a narrow hop are too long; the router masquerades and drops what is
/// invalid.
const NARROW_HOP: Setup = Setup {
    name: "narrow_lan_hop",
    rules: &[(NFT, include_str!("rules/nftables.nft"))],
    refused: &["inwards", "published"],
    narrow_hop: true,
    ..BARE
};

/// The table of tracked connections is the scarce thing. It is not filled, as its limit is the
/// whole machine's.
const TRACKED_ONCE: Setup = Setup {
    name: "tracked_once",
    commands: &[(
        SetupHost::Router,
        "for state in fin_wait time_wait close close_wait last_ack syn_sent syn_recv; do
             echo 3600 > /proc/sys/net/netfilter/nf_conntrack_tcp_timeout_$state
         done
         echo 3600 > /proc/sys/net/netfilter/nf_conntrack_udp_timeout
         echo 3600 > /proc/sys/net/netfilter/nf_conntrack_udp_timeout_stream",
    )],
    rules: &[(
        NFT,
        "table inet track { chain forward { type filter hook forward priority filter;
           ct state established,related accept; }; }",
    )],
    needs: "test -e /proc/sys/net/netfilter/nf_conntrack_count",
    is_tracked_once: true,
    ..BARE
};

/// Hosts probe for the path's MTU, and the gateways are told.
const PROBING: &str = "echo 1 > /proc/sys/net/ipv4/tcp_mtu_probing";
const SILENT_1280: Setup = Setup {
    name: "silent_1280",
    commands: &[
        (
            SetupHost::Satellite,
            "ip link set ground1 mtu 1280; ip link set ground2 mtu 1280
             nft 'table inet silent { chain out { type filter hook output priority 0;
               icmp type destination-unreachable drop; icmpv6 type packet-too-big drop; }; }'",
        ),
        (SetupHost::Lan, PROBING),
        (SetupHost::Router, PROBING),
        (SetupHost::Far, PROBING),
    ],
    keys: "mss = 1220",
    ..BARE
};

/// Those that this kernel can have.
pub(super) const SETUPS: &[Setup] = &[
    BARE,
    MASQUERADE,
    DEFAULT_DROP,
    CONDITIONAL_DROP,
    FW4,
    FIREWALLD,
    UFW,
    IPTABLES_LEGACY,
    DOCKER,
    DOCKER_LEGACY,
    LIBVIRT,
    TWO_UPLINKS_BY_FROM,
    TWO_UPLINKS_BY_IIF,
    MWAN3,
    PBR,
    TAILSCALE,
    FOREIGN_MARKS,
    BRIDGE_PORT_NAMED,
    BR_NETFILTER,
    TRACKED_ONCE,
    NARROW_HOP,
    SILENT_1280,
];

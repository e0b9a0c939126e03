//! What has nothing to do with the satellite works as without us on a router with a stateful
//! firewall and NAT: c – h1 – m – h2, and d on a third interface of m, in network namespaces.

use crate::network::{Network, Reflector};
use bentpipe_net::divert::checks::Finding;
use std::net::SocketAddr;

/// One connection, and whom it is to reach.
struct Case {
    name: &'static str,
    /// From where.
    from: (&'static str, &'static str),
    /// To where.
    to: &'static str,
    /// Where the server is.
    server: (&'static str, &'static str),
}

const fn case(
    name: &'static str,
    from: (&'static str, &'static str),
    to: &'static str,
    server: (&'static str, &'static str),
) -> Case {
    Case { name, from, to, server }
}

const CASES: &[Case] = &[
    case("over the satellite", ("h1", "10.77.1.2"), "10.77.2.2:7001", ("h2", "10.77.2.2:7001")),
    case(
        "over the satellite, IPv6",
        ("h1", "fd77:1::2"),
        "[fd77:2::2]:7001",
        ("h2", "[fd77:2::2]:7001"),
    ),
    case("to a narrow hop", ("c", "10.77.4.2"), "10.77.2.2:7002", ("h2", "10.77.2.2:7002")),
    case(
        "to a narrow hop, IPv6",
        ("c", "fd77:4::2"),
        "[fd77:2::2]:7002",
        ("h2", "[fd77:2::2]:7002"),
    ),
    case("to the router", ("h1", "10.77.1.2"), "10.77.1.1:7001", ("m", "10.77.1.1:7001")),
    case("to the router, IPv6", ("h1", "fd77:1::2"), "[fd77:1::1]:7001", ("m", "[fd77:1::1]:7001")),
    case("by the router", ("m", "10.77.1.1"), "10.77.1.2:7003", ("h1", "10.77.1.2:7003")),
    case("to a third interface", ("h1", "10.77.1.2"), "10.77.3.2:7001", ("d", "10.77.3.2:7001")),
    case(
        "to a third interface, IPv6",
        ("h1", "fd77:1::2"),
        "[fd77:3::2]:7001",
        ("d", "[fd77:3::2]:7001"),
    ),
    case("redirected", ("h1", "10.77.1.2"), "10.77.2.2:7080", ("m", "10.77.1.1:7128")),
    case("redirected, IPv6", ("h1", "fd77:1::2"), "[fd77:2::2]:7080", ("m", "[fd77:1::1]:7128")),
    case("to a published port", ("h1", "10.77.1.2"), "10.77.1.1:7090", ("d", "10.77.3.2:7005")),
    case("to another's port", ("h1", "10.77.1.2"), "10.77.2.2:7090", ("d", "10.77.3.2:7005")),
    case("forwarded inwards", ("h2", "10.77.2.2"), "10.77.2.1:7060", ("h1", "10.77.1.2:7004")),
    case("routed by source", ("h1", "10.77.1.3"), "10.77.9.9:7001", ("d", "10.77.9.9:7001")),
    case("routed by mark", ("h1", "10.77.1.2"), "10.77.9.9:7070", ("d", "10.77.9.9:7070")),
    case(
        "over the satellite behind destination NAT",
        ("h1", "10.77.1.2"),
        "10.77.1.1:7091",
        ("h2", "10.77.2.2:7006"),
    ),
    case(
        "over the satellite by mark alone",
        ("h1", "10.77.1.2"),
        "10.77.8.8:7071",
        ("h2", "10.77.8.8:7071"),
    ),
];

/// A router as they are: stateful, masqueraded, with redirects, published ports and a backup link.
/// Its forward chain has these rules of ours.
pub(crate) fn router(network: &Network, ours: &str) {
    network.add_third_interface();
    let firewall = "nft 'table inet fw {
           chain in { type filter hook input priority 0; policy drop;
             ct state established,related accept
             ct state invalid drop
             iifname lo accept
             meta l4proto { icmp, ipv6-icmp } accept
             iifname g1 tcp dport { 7001, 7128 } accept
           }
           chain through { type filter hook forward priority 0; policy drop;
             ct state established,related accept
             ct state invalid counter drop
             OURS
             iifname g1 oifname { g2, g3 } accept
             ct status dnat accept
           }
         }
         table inet nat {
           chain pre { type nat hook prerouting priority -100;
             iifname g1 tcp dport 7080 redirect to :7128
             iifname g1 tcp dport 7090 dnat ip to 10.77.3.2:7005
             iifname g1 tcp dport 7091 dnat ip to 10.77.2.2:7006
             iifname g2 tcp dport 7060 dnat ip to 10.77.1.2:7004
           }
           chain post { type nat hook postrouting priority 100; oifname { g2, g3 } masquerade; }
         }
         table inet steer {
           chain pre { type filter hook prerouting priority -150;
             iifname g1 tcp dport 7070 meta mark set meta mark and 0xffffc0ff or 0x200
             iifname g1 tcp dport 7071 meta mark set meta mark and 0xffffc0ff or 0x300
           }
         }'
         ip route add 10.77.9.0/24 via 10.77.2.2
         ip route add 10.77.8.0/24 via 10.77.3.2
         ip route add default via 10.77.3.2 table 5
         ip route add default via 10.77.2.2 table 6
         ip rule add from 10.77.1.3 lookup 5 pref 1000
         ip rule add fwmark 0x200/0x3f00 lookup 5 pref 2000
         ip rule add fwmark 0x300/0x3f00 lookup 6 pref 2001";
    network.run("m", &firewall.replace("OURS", ours));
    // Behind the masquerade they need not know the way back.
    network
        .run("h2", "ip route del default; ip -6 route del default; ip addr add 10.77.8.8 dev lo");
}

/// Those that fail, with the reason.
pub(crate) fn failures(network: &Network) -> Vec<String> {
    let mut failures = Vec::new();
    for Case { name, from, to, server } in CASES {
        let to: SocketAddr = to.parse().unwrap();
        let listen: SocketAddr = server.1.parse().unwrap();
        let from = (from.0, from.1.parse().unwrap());
        if let Err(error) = network.try_transfer(from, to, (server.0, listen), 300_000) {
            failures.push(format!("{name}: {error}"));
        }
    }
    failures
}

#[test]
fn a_router_s_other_traffic_passes_as_without_us() {
    let Some(network) = Network::new("beside") else { return };
    router(&network, "iifname { bp-near, bp-far } accept; iifname g1 oifname bp-near accept");
    assert_eq!(failures(&network), Vec::<String>::new(), "without us");
    let reflector = Reflector::start(&network);
    // Marks that choose the satellite for some are lost on the way through a gateway: said. (A gateway sleeps then.)
    let names: Vec<&str> = reflector.findings.iter().map(Finding::name).collect();
    assert_eq!(names, ["policy_routing"]);
    assert_eq!(failures(&network), Vec::<String>::new(), "with us");
    let crossed = network.run("m", "cat /sys/class/net/bp-near/statistics/tx_packets");
    assert!(crossed.trim().parse::<u64>().unwrap() > 100, "{crossed}");
    reflector.stop();
    network.assert_clean();
}

#[test]
fn foreign_marks_are_neither_taken_nor_changed() {
    let Some(network) = Network::new("marks") else { return };
    let reflector = Reflector::start(&network);
    let [v4, v6] = ["10.77.2.2:7001", "[fd77:2::2]:7001"].map(|it| it.parse().unwrap());
    for mark in [0x1000_0000, 0x2000_0000, 0x6d6f_6c65] {
        for address in [v4, v6] {
            network.try_marked(("m", mark), ("h2", address)).unwrap();
        }
    }
    // Another's bits are not touched, and those that are not ours do not keep a packet from us.
    network.run(
        "m",
        "nft 'table inet other {
           chain pre { type filter hook prerouting priority -150; iifname g1 meta mark set 0x30000400; }
           chain seen { type filter hook postrouting priority 0; iifname g1 meta mark != 0x30000400 counter; }
         }'",
    );
    // Of TCP alone: now and then the kernel itself says something on each device.
    network.run(
        "m",
        "nft 'table inet crossed {
           chain out { type filter hook postrouting priority 0; oifname bp-near meta l4proto tcp counter; }
         }'",
    );
    let crossed = || {
        let counter = network.run("m", "nft list chain inet crossed out");
        let packets = counter.split_once("packets ").expect("a counter").1;
        packets.split(' ').next().and_then(|count| count.parse::<u64>().ok()).expect("a number")
    };
    let before = crossed();
    network.transfer("10.77.2.2", 100_000);
    assert_eq!(crossed(), before, "a foreign mark");
    network.run("m", "nft flush chain inet other pre; nft add rule inet other pre iifname g1 meta mark set 0x400");
    network.run("m", "nft flush chain inet other seen; nft add rule inet other seen iifname g1 meta mark != 0x400 counter");
    network.transfer("10.77.2.2", 100_000);
    assert_ne!(crossed(), before, "a mark beside ours");
    let changed = network.run("m", "nft list chain inet other seen");
    assert!(changed.contains("packets 0 "), "{changed}");
    // Nor does anybody clear ours.
    network.run(
        "m",
        "nft flush chain inet other seen; nft flush chain inet other pre
                      nft 'add chain inet other late { type filter hook prerouting priority 0; }
                           add rule inet other late meta mark set meta mark and 0x00ffffff'",
    );
    let before = crossed();
    network.transfer("10.77.2.2", 100_000);
    assert_ne!(crossed(), before, "somebody clears marks");
    reflector.stop();
    network.assert_clean();
}

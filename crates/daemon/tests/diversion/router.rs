//! A router as they are, with a stateful firewall, NAT and policy routing: c – h1 – m – h2, and d
//! on a third interface of m, in network namespaces. What it does it does with us as without us.

use crate::network::Network;
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

/// Bytes of each, there and back.
const LENGTH: usize = 300_000;

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

/// Stateful, masqueraded, with redirects, published ports and a backup link. It knows nothing of
/// our devices.
pub(crate) fn router(network: &Network) {
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
    network.run("m", firewall);
    // Behind the masquerade they need not know the way back.
    network
        .run("h2", "ip route del default; ip -6 route del default; ip addr add 10.77.8.8 dev lo");
}

/// Bytes of all that lead over the satellite.
pub(crate) fn over_the_satellite() -> u64 {
    let cases = CASES.iter().filter(|case| case.server.0 == "h2").count();
    2 * (cases * LENGTH) as u64
}

/// Those that fail, with the reason.
pub(crate) fn failures(network: &Network) -> Vec<String> {
    let mut failures = Vec::new();
    for Case { name, from, to, server } in CASES {
        let to: SocketAddr = to.parse().unwrap();
        let listen: SocketAddr = server.1.parse().unwrap();
        let from = (from.0, from.1.parse().unwrap());
        if let Err(error) = network.try_transfer(from, to, (server.0, listen), LENGTH) {
            failures.push(format!("{name}: {error}"));
        }
    }
    failures
}

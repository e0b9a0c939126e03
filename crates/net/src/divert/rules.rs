//! The texts for `ip -batch` and `nft -f`, as functions of the configuration.

use super::{DivertConfig, Selector, zones};
use std::fmt::{self, Write};

/// Packets that may wait in a TUN device for us: some 60 ms of full-sized packets at 1 Gbit/s.
const TUN_QUEUE: u32 = 5_000;
/// The largest MTU there is: the device is to limit nothing.
pub(super) const TUN_MTU: u32 = 65_535;
/// A dummy address (RFC 7600, "IPv4 dummy address"), so that reverse path filters let packets in.
pub(super) const TUN_ADDRESS: &str = "192.0.0.8";

/// TCP, fragments too. In IPv6 it follows at once, or behind the fragment header.
pub(super) const TCP: [&str; 3] =
    ["ip protocol tcp ", "ip6 nexthdr tcp ", "ip6 nexthdr ipv6-frag frag nexthdr tcp "];

/// ICMP errors that quote a TCP segment: the quoted IP header follows eight bytes, and its protocol
/// is TCP.
pub(super) const TCP_ERRORS: [&str; 2] = [
    "ip frag-off & 0x3fff == 0 icmp type destination-unreachable @th,136,8 6 ",
    "icmpv6 type { destination-unreachable, packet-too-big } @th,112,8 6 ",
];

/// A rule that sends marked packets to one of our routing tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) priority: u32,
    /// Where the packets come in.
    pub(super) interface: String,
    pub(super) mark: u32,
    pub(super) mask: u32,
    pub(super) table: u32,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rule { priority, interface, mark, mask, table } = self;
        write!(f, "priority {priority} iif {interface} fwmark {mark:#x}/{mask:#x} lookup {table}")
    }
}

/// The settings of a TUN device, as files below `/proc/sys` with their values.
pub(super) fn settings(tun: &str) -> [(String, &'static str); 3] {
    let of = |name: &str| format!("net/ipv4/conf/{tun}/{name}");
    // This host's own ICMP errors come back out of the device, if they concern no flow.
    [(of("rp_filter"), "2"), (of("forwarding"), "1"), (of("accept_local"), "1")]
}

/// Brings the TUN devices up, also where that is done in part.
pub(super) fn devices(config: &DivertConfig) -> String {
    let mut text = String::new();
    for side in &config.sides {
        let tun = &side.tun;
        let mtu = config.mtu;
        let _ = writeln!(text, "link set dev {tun} mtu {mtu} txqueuelen {TUN_QUEUE}");
        let _ = writeln!(text, "address replace {TUN_ADDRESS}/32 dev {tun} noprefixroute");
        let _ = writeln!(text, "link set dev {tun} up");
    }
    text
}

/// Routes of our tables into the TUN devices; the same text for IPv4 and IPv6.
pub(super) fn routes(config: &DivertConfig) -> String {
    let mut text = String::new();
    for (side, table) in config.sides.iter().zip(config.route_tables) {
        let _ = writeln!(text, "route replace default dev {} table {table}", side.tun);
    }
    text
}

/// The mark of this host's own errors that are led to the device of a side with `mark`: a number of which no bit may
/// differ, as programs choose marks for themselves (SO_MARK). The rule cannot ask for ICMP: where a mark changes the
/// route, IPv4's look-up is made without the protocol (Linux, `ip_route_me_harder`).
fn own_error_mark(mark: u32) -> u32 {
    !mark
}

/// The rules that lead to our routing tables; the same for IPv4 and IPv6.
pub(super) fn ip_rules(config: &DivertConfig) -> Vec<Rule> {
    let mut rules = Vec::new();
    for (number, side) in config.sides.iter().enumerate() {
        let (mark, mask) = (config.marks[number], config.mark_mask);
        let own_errors =
            (config.selector == Selector::Tcp).then(|| ("lo", own_error_mark(mark), u32::MAX));
        let interfaces = side.interfaces.iter().map(|name| (name.as_str(), mark, mask));
        rules.extend(interfaces.chain(own_errors).map(|(interface, mark, mask)| Rule {
            priority: config.rule_priority,
            interface: interface.into(),
            mark,
            mask,
            table: config.route_tables[number],
        }));
    }
    rules
}

/// Our whole nft table, replacing one of that name in the same transaction.
pub(super) fn nft(config: &DivertConfig, tracking: bool) -> String {
    let name = &config.nft_table;
    let mut text = format!("add table inet {name}\ndelete table inet {name}\n");
    let _ = writeln!(text, "table inet {name} {{");
    if tracking {
        text.push_str(&zones::chains(config));
    }
    text.push_str(&divert(config, tracking));
    if config.selector == Selector::Tcp {
        text.push_str(&own_errors(config));
    }
    text.push_str("}\n");
    text
}

/// Marks what crosses from one side to the other, and takes the mark off when the route is chosen.
fn divert(config: &DivertConfig, tracking: bool) -> String {
    // Behind everybody: NAT has given the packet the addresses that it is routed by, others have
    // set their marks, and nobody clears ours.
    let mut text = String::from(
        "  chain divert {\n    type filter hook prerouting priority 10000; policy accept;\n",
    );
    if tracking {
        text.push_str(&zones::exceptions(config));
    }
    let (mask, keep) = (config.mark_mask, !config.mark_mask);
    let selections = match config.selector {
        Selector::All => vec![""],
        Selector::Tcp => TCP.iter().chain(&TCP_ERRORS).copied().collect(),
    };
    for (number, side) in config.sides.iter().enumerate() {
        let from = set(&side.interfaces);
        let to = set(&config.sides[1 - number].interfaces);
        let mark = config.marks[number];
        for selection in &selections {
            // What we write bears no mark: with its own and without, the packet must go the same way.
            let _ = writeln!(
                text,
                "    iifname {from} {selection}meta mark & {mask:#x} == 0 fib daddr oifname {to} \
                 fib daddr . mark oifname {to} meta mark set meta mark & {keep:#x} | {mark:#x}"
            );
        }
    }
    let tuns = set(&[&config.sides[0].tun, &config.sides[1].tun]);
    text.push_str("  }\n  chain unmark {\n");
    text.push_str("    type filter hook forward priority raw; policy accept;\n");
    let _ = writeln!(text, "    oifname {tuns} meta mark set meta mark & {keep:#x}");
    text.push_str("  }\n");
    text
}

/// The errors of this host's own kernel about what we write, where a route's MTU is less than the
/// interface's: they go out to one side and are about what goes to the other.
fn own_errors(config: &DivertConfig) -> String {
    // "route": a changed mark chooses the route again.
    let mut text = String::from(
        "  chain own_errors {\n    type route hook output priority -99; policy accept;\n",
    );
    for (number, side) in config.sides.iter().enumerate() {
        let (to, mark) = (set(&side.interfaces), own_error_mark(config.marks[1 - number]));
        for error in TCP_ERRORS {
            let _ = writeln!(text, "    oifname {to} {error}meta mark 0 meta mark set {mark:#x}");
        }
    }
    text.push_str("  }\n");
    text
}

/// An anonymous set of interface names.
pub(super) fn set<S: AsRef<str>>(names: &[S]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{}\"", name.as_ref())).collect();
    format!("{{ {} }}", quoted.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::Side;
    use super::*;

    fn config() -> DivertConfig {
        let side = |interfaces: &[&str], tun: &str| Side {
            interfaces: interfaces.iter().map(|&name| name.into()).collect(),
            tun: tun.into(),
        };
        DivertConfig::tcp([side(&["lan0", "lan1"], "bp-near"), side(&["sat0"], "bp-far")])
    }

    #[test]
    fn only_our_bits_of_the_mark_change_and_only_where_none_is_set() {
        let text = nft(&config(), false);
        let marks = " | 0x10000000\n";
        let set = "meta mark set meta mark & 0xcfffffff | 0x10000000\n";
        assert_eq!(text.matches(marks).count(), text.matches(set).count(), "{text}");
        let marking: Vec<&str> =
            text.lines().filter(|line| line.contains("0xcfffffff |")).collect();
        assert!(marking.iter().all(|it| it.contains("meta mark & 0x30000000 == 0 ")), "{text}");
        assert!(text.contains(r#"iifname { "lan0", "lan1" } ip6 nexthdr tcp"#), "{text}");
        assert!(text.contains(r#"fib daddr oifname { "sat0" }"#), "{text}");
        assert!(!text.contains("ct zone"), "{text}");
    }

    #[test]
    fn errors_about_what_we_write_come_to_the_device_of_the_side_where_it_went() {
        let text = nft(&config(), false);
        for part in [
            r#"iifname { "sat0" } ip frag-off & 0x3fff == 0 icmp type destination-unreachable"#,
            r#"oifname { "lan0", "lan1" } icmpv6 type { destination-unreachable, packet-too-big } @th,112,8 6 meta mark 0 meta mark set 0xdfffffff"#,
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn every_interface_has_its_rule() {
        let rules: Vec<String> = ip_rules(&config()).iter().map(Rule::to_string).collect();
        assert_eq!(rules.len(), 3 + 2);
        let has = |end: &str| rules.contains(&format!("priority 252 iif {end}"));
        assert!(has("sat0 fwmark 0x20000000/0x30000000 lookup 25201"), "{rules:?}");
        // What programs of this host choose is not ours for having some bits in common.
        assert!(has("lo fwmark 0xdfffffff/0xffffffff lookup 25201"), "{rules:?}");
    }
}

//! Connection tracking zones: the leg of side 0 is tracked apart from that of side 1.
//!
//! A zone is chosen before anything else is known of a packet: before destination NAT, and before a
//! firewall marks it. What is put into ours is what the route sends from side 0 to side 1, and what
//! we write for side 0. All else stays where it would be without us.
//!
//! Some of it is sent elsewhere afterwards: by a redirect to this host or by destination NAT to
//! another, by a mark that policy routing looks at. Its answers come in where nothing tells them
//! from others, and conntrack must look for them in our zone. So the kernel notes, where such a
//! packet leaves prerouting for good, from whom to whom its answers will go.

use super::DivertConfig;
use super::rules::{TCP, TCP_ERRORS, set};
use std::fmt::Write;

/// As many connections as a large machine tracks by default (`nf_conntrack_max`).
const ANSWERS: u32 = 262_144;
/// For so long answers may be waited for: a SYN's (RFC 5382, section 5: four minutes) and others'
/// (REQ-5: two hours and four minutes).
const TIMEOUTS: [(&str, &str); 2] =
    [("tcp flags & (syn | ack) == syn ", "4m"), ("tcp flags & (syn | ack) != syn ", "124m")];

/// Families of addresses, in nft's words.
const FAMILIES: [&str; 2] = ["ip", "ip6"];

/// The chains that choose a zone, and the sets that they go by.
pub(super) fn chains(config: &DivertConfig) -> String {
    let [near, far] = &config.sides;
    let (lan, satellite) = (set(&near.interfaces), set(&far.interfaces));
    let zone = config.conntrack_zone;
    let mut text = String::new();
    for family in FAMILIES {
        let key = key(family, ["saddr", "daddr"], ["sport", "dport"]);
        let _ = writeln!(text, "  set answers_{family} {{");
        let _ = writeln!(text, "    typeof {key}");
        let _ = writeln!(text, "    flags dynamic, timeout; size {ANSWERS}; timeout 124m;");
        let _ = writeln!(text, "  }}");
    }
    let answers = FAMILIES.map(|family| {
        let key = key(family, ["saddr", "daddr"], ["sport", "dport"]);
        format!("    {key} @answers_{family} ct zone set {zone}\n")
    });
    text.push_str("  chain legs {\n");
    text.push_str("    type filter hook prerouting priority raw; policy accept;\n");
    // Only TCP has two legs. Anything else crosses in one piece, and conntrack must find the
    // answer in the zone where it saw the question.
    for kind in TCP.iter().chain(&TCP_ERRORS) {
        let _ = writeln!(
            text,
            "    iifname {lan} {kind}fib daddr oifname {satellite} ct zone set {zone}"
        );
        let _ = writeln!(text, "    iifname \"{}\" {kind}ct zone set {zone}", far.tun);
    }
    text.extend(answers.clone());
    text.push_str("  }\n  chain own_legs {\n");
    text.push_str("    type filter hook output priority raw; policy accept;\n");
    // About what we have written for side 0.
    for kind in TCP_ERRORS {
        let _ = writeln!(text, "    oifname {satellite} {kind}ct zone set {zone}");
    }
    text.extend(answers);
    text.push_str("  }\n");
    for (chain, hook, to) in [
        ("to_this_host", "input", String::new()),
        ("elsewhere", "postrouting", format!("oifname != \"{}\" ", near.tun)),
    ] {
        let _ = writeln!(text, "  chain {chain} {{");
        // Behind source NAT.
        let _ = writeln!(text, "    type filter hook {hook} priority 10000; policy accept;");
        for family in FAMILIES {
            let key = key(family, ["daddr", "saddr"], ["dport", "sport"]);
            for (kind, timeout) in TIMEOUTS {
                let _ = writeln!(
                    text,
                    "    iifname {lan} {to}ct zone {zone} ct direction original {kind}\
                     update @answers_{family} {{ {key} timeout {timeout} }}"
                );
            }
        }
        text.push_str("  }\n");
    }
    text
}

/// Rules at the head of the chain that diverts: a connection is diverted with both of its legs in
/// their zones, or not at all.
pub(super) fn exceptions(config: &DivertConfig) -> String {
    let [near, far] = &config.sides;
    let (lan, satellite) = (set(&near.interfaces), set(&far.interfaces));
    let zone = config.conntrack_zone;
    let mut text = String::new();
    // Destination NAT or a mark has led there what was not on its way there.
    let _ = writeln!(text, "    iifname {lan} meta l4proto tcp ct zone != {zone} accept");
    // Answers to these, and to what was in our zone and has not been diverted.
    let _ = writeln!(text, "    iifname {satellite} ct direction reply ct status dnat accept");
    let _ = writeln!(text, "    iifname {satellite} meta l4proto tcp ct zone {zone} accept");
    let _ = writeln!(
        text,
        "    iifname {satellite} tcp flags & syn == syn fib saddr oifname != {satellite} accept"
    );
    text
}

/// Who speaks to whom.
fn key(family: &str, [from, to]: [&str; 2], [source, destination]: [&str; 2]) -> String {
    format!("{family} {from} . tcp {source} . {family} {to} . tcp {destination}")
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

    /// The rules of a chain.
    fn chain<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
        let (_, chain) = text.split_once(&format!("chain {name} {{\n")).expect("a chain");
        let (chain, _) = chain.split_once("  }\n").expect("its end");
        chain.lines().skip(1).map(str::trim).collect()
    }

    /// Side 0 speaks to this host and to third interfaces, too: conntrack would see only half of a
    /// connection of which one direction alone is in our zone.
    #[test]
    fn the_zone_covers_what_the_route_sends_from_side_0_to_side_1_and_no_more() {
        let text = chains(&config());
        let legs = chain(&text, "legs");
        let of_side_0 =
            legs.iter().filter(|rule| rule.starts_with("iifname { \"lan0\", \"lan1\" }"));
        let end = "fib daddr oifname { \"sat0\" } ct zone set 25200";
        assert_eq!(of_side_0.clone().count(), TCP.len() + TCP_ERRORS.len(), "{text}");
        assert!(of_side_0.clone().all(|rule| rule.ends_with(end)), "{text}");
        let written = legs.iter().filter(|rule| rule.starts_with("iifname \"bp-far\" "));
        assert_eq!(written.count(), TCP.len() + TCP_ERRORS.len(), "{text}");
        assert!(legs.iter().all(|rule| !rule.starts_with("iifname { \"sat0\" }")), "{text}");
    }

    #[test]
    fn what_goes_elsewhere_after_all_is_noted_with_its_answer_s_addresses() {
        let text = chains(&config());
        for name in ["to_this_host", "elsewhere"] {
            for rule in chain(&text, name) {
                assert!(rule.contains("ct zone 25200 ct direction original "), "{rule}");
                assert!(rule.contains("daddr . tcp dport . ip"), "{rule}");
            }
        }
        for name in ["legs", "own_legs"] {
            let looked_up = chain(&text, name).into_iter().filter(|rule| rule.contains("@answers"));
            assert_eq!(looked_up.count(), 2, "{text}");
        }
    }
}

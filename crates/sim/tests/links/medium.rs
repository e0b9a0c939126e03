//! Lines that share a medium: one packet at a time.

use super::scenario;
use crate::support::{link, outcome, played};
use std::fmt::Write;

/// Goodput in bit/s both ways, of a transfer each way over a link with these keys.
fn both_ways(keys: &str) -> [f64; 2] {
    let link = format!(
        "rate = \"10Mbit/s\"\nqueue = \"100packets\"\noverhead = \"38B\"\nmin-packet = \"46B\"\n{keys}"
    );
    let flows = "[flow.there]\nfrom = \"server\"\nto = \"client\"\n[flow.back]\nfrom = \"client\"\nto = \"server\"";
    let outcome = played(&scenario("duration = \"60s\"\nwarm-up = \"10s\"", &link, flows));
    [0, 1].map(|flow| outcome.flows[flow].goodput)
}

#[test]
fn a_half_duplex_link_carries_one_packet_at_a_time() {
    let [there, back] = both_ways("");
    assert!(there > 8.8e6 && back > 8.8e6, "{there} {back}");
    let [there, back] = both_ways("medium = \"wire\"");
    let sum = there + back;
    // Both together less than one alone, and no less than collisions and acknowledgments cost.
    assert!((7.0e6..9.5e6).contains(&sum), "{there} {back}");
    assert!(there > 0.5e6 && back > 0.5e6, "{there} {back}");
}

#[test]
fn one_direction_alone_has_all_of_it() {
    let flow = "[flow.main]\nfrom = \"server\"\nto = \"client\"\nworkload = \"udp\"\nrate = \"9Mbit/s\"\nbackground = false";
    let keys = "rate = \"10Mbit/s\"\nmedium = \"wire\"";
    let outcome = played(&scenario("duration = \"10s\"", keys, flow));
    let sat = link(&outcome, "sat", "server");
    assert_eq!((sat.counters.dropped.packets, sat.counters.lost.packets), (0, 0));
    assert!(sat.counters.delivered.packets >= 11_249, "{:?}", sat.counters);
}

/// Several stations on a bus: what all of them send together does not exceed its rate.
#[test]
fn stations_on_a_bus_share_its_rate() {
    let mut text = String::from(
        "tcp = \"linux\"\n[run]\nduration = \"30s\"\nwarm-up = \"5s\"\n[router.bus]\n[host.sink]\n",
    );
    let link = |name: &str| {
        format!(
            "[link.{name}]\nbetween = [\"{name}\", \"bus\"]\nrate = \"10Mbit/s\"\noverhead = \"38B\"\nqueue = \"50packets\"\n\
             medium = \"bus\"\nback = {{ medium = \"none\", rate = \"unlimited\" }}\n"
        )
    };
    text += &link("sink");
    for station in 0..5 {
        let name = format!("s{station}");
        let _ = write!(text, "[host.{name}]\n{}", link(&name));
        let _ = write!(text, "[flow.{name}]\nfrom = \"{name}\"\nto = \"sink\"\n");
    }
    let outcome = outcome(&text);
    let sum: f64 = outcome.flows.iter().map(|flow| flow.goodput).sum();
    assert!((7.0e6..9.5e6).contains(&sum), "{sum}");
    assert!(
        outcome.flows.iter().all(|flow| flow.goodput > 0.2e6),
        "{}",
        crate::support::brief(&outcome)
    );
}

//! A link's MTU: hosts at its ends announce what fits, and others are told.

use super::DONE;
use crate::support::{link, main_flow, outcome};

/// A transfer over a path whose middle link has this MTU, with gateways or routers at its ends.
fn path(kind: &str, mtu: &str) -> bentpipe_results::RunResults {
    let node = |name: &str, lan: &str| match kind {
        "gateway" => format!("[gateway.{name}]\nlan-links = \"{lan}\""),
        _ => format!("[router.{name}]"),
    };
    let (g1, g2) = (node("g1", "near"), node("g2", "far"));
    outcome(&format!(
        r#"
tcp = "linux"
[run]
{DONE}
[host.server]
[host.client]
{g1}
{g2}
[link.near]
between = ["server", "g1"]
delay = "10ms"
rate = "100Mbit/s"
[link.sat]
between = ["g1", "g2"]
delay = "50ms"
rate = "8Mbit/s"
{mtu}
[link.far]
between = ["g2", "client"]
delay = "10ms"
rate = "100Mbit/s"
[flow.main]
from = "server"
to = "client"
bytes = "1MB"
"#
    ))
}

#[test]
fn senders_learn_of_a_smaller_mtu_on_their_way() {
    for kind in ["router", "gateway"] {
        let (plain, narrow) = (path(kind, ""), path(kind, "mtu = \"1000B\""));
        for outcome in [&plain, &narrow] {
            assert_eq!(main_flow(outcome).counts.delivered, 1_000_000, "{kind}");
        }
        let sat = link(&narrow, "sat", "g1").counters.delivered;
        let mean = sat.bytes as f64 / sat.packets as f64;
        assert!(mean <= 1000.0 && mean > 900.0, "{kind}: {mean}");
        let wide = link(&plain, "sat", "g1").counters.delivered;
        assert!(wide.bytes as f64 / wide.packets as f64 > 1400.0, "{kind}");
    }
}

#[test]
fn a_host_on_a_narrow_link_announces_what_fits() {
    let text = |flow: &str| {
        format!(
            "tcp = \"linux\"\n[run]\n{DONE}\n[host.server]\n[host.client]\n[link.slip]\nbetween = [\"server\", \"client\"]\n\
             rate = \"64kbit/s\"\nmtu = \"296B\"\n[flow.main]\nfrom = \"server\"\nto = \"client\"\n{flow}\n"
        )
    };
    let outcome = outcome(&text("bytes = \"100KB\""));
    let slip = link(&outcome, "slip", "server").counters;
    // 256 bytes less twelve for timestamps a packet, and not one more than need be.
    assert!(slip.delivered.packets >= 100_000 / 244 && slip.delivered.packets < 100_000 / 244 + 10);
    assert_eq!(main_flow(&outcome).counts.retransmissions, 0);
    // What cannot pass is refused when the file is read.
    let refused =
        bentpipe_scenario::Scenario::parse(&text("workload = \"ping\"\npacket = \"300B\""));
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("does not pass link `slip`"), "{error}");
}

//! The effects of jitter, reordering and damage on flows.

use super::{DATAGRAMS, DONE, TRANSFER, scenario};
use crate::support::{link, main_flow, played};
use bentpipe_results::RunResults;

fn datagrams(keys: &str) -> RunResults {
    let keys = format!(
        "delay = \"10ms\"\n{keys}\nback = {{ jitter = \"0s\", corrupt = 0, duplicate = 0, reorder = 0 }}"
    );
    played(&scenario("duration = \"100s\"", &keys, DATAGRAMS))
}

/// That `count` of about 100,000 differs from `share` by no more than four standard errors.
fn about(count: u64, share: f64) {
    let n = 100_000.0;
    let error = (share * (1.0 - share) / n).sqrt();
    let found = count as f64 / n;
    assert!((found - share).abs() < 4.0 * error + 2e-4, "{found} for {share}");
}

#[test]
fn damaged_packets_are_lost_and_counted() {
    let outcome = datagrams("corrupt = \"2%\"");
    let sat = link(&outcome, "sat", "server").counters;
    about(sat.lost.packets, 0.02);
    assert_eq!(main_flow(&outcome).counts.arrived, sat.delivered.packets);
    // A TCP packet of which a bit is wrong is found out by its checksum: the transfer is whole.
    let keys = "rate = \"8Mbit/s\"\ndelay = \"10ms\"\ncorrupt = \"1%\"";
    let outcome = played(&scenario(DONE, keys, TRANSFER));
    assert_eq!(main_flow(&outcome).counts.delivered, 1_000_000);
    assert!(link(&outcome, "sat", "server").counters.lost.packets > 0);
}

#[test]
fn held_up_packets_are_overtaken_and_others_keep_their_order() {
    let run = |keys: &str| {
        let keys = format!("rate = \"8Mbit/s\"\ndelay = \"50ms\"\nqueue = \"200packets\"\n{keys}");
        let outcome = played(&scenario(DONE, &keys, TRANSFER));
        (main_flow(&outcome).counts.retransmissions, outcome)
    };
    // Jitter that keeps the order makes nothing to be retransmitted; one that does not, or packets
    // that are held up, do so unless the sender waits.
    let (jitter, outcome) = run("jitter = { uniform = [\"0ms\", \"30ms\"] }");
    assert_eq!(jitter, 0, "{}", crate::support::brief(&outcome));
    let newreno = |keys: &str| {
        let keys = format!("rate = \"8Mbit/s\"\ndelay = \"50ms\"\nqueue = \"200packets\"\n{keys}");
        let flow = format!("{TRANSFER}\ntcp = {{ recovery = \"newreno\" }}");
        main_flow(&played(&scenario(DONE, &keys, &flow))).counts.retransmissions
    };
    assert_eq!(newreno("jitter = { uniform = [\"0ms\", \"30ms\"] }"), 0);
    assert!(newreno("jitter = { uniform = [\"0ms\", \"30ms\"] }\norder = \"by-arrival\"") > 0);
    assert!(newreno("reorder = \"1%\"\nreorder-by = \"20ms\"") > 0);
}

#[test]
fn jitter_moves_the_mean_delay() {
    let mean = |keys: &str| {
        let keys = format!("delay = \"10ms\"\n{keys}");
        let flow = "[flow.main]\nfrom = \"server\"\nto = \"client\"\nworkload = \"request-response\"\nreply = \"100B\"\nrequests = 5000";
        let outcome = played(&scenario(DONE, &keys, flow));
        main_flow(&outcome).mean_completion.expect("replies have come").as_secs_f64()
    };
    // Two ways, each longer by 5 ms on the average.
    let more = mean("jitter = { uniform = [\"0ms\", \"10ms\"] }") - mean("");
    assert!((more - 0.010).abs() < 0.0003, "{more}");
}

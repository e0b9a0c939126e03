//! UDP and pings.

use super::{flow, lasting, ms, scenario, times};
use crate::support::{brief, main_flow, outcome, played};
use bentpipe_core::units::Rate;
use bentpipe_results::RunResults;

/// One flow, for so many seconds.
fn only(link: &str, keys: &str, seconds: u64) -> RunResults {
    played(&lasting(seconds, link, &flow(keys)))
}

/// One flow that counts, until it is done.
fn counted(link: &str, keys: &str) -> RunResults {
    played(&scenario(link, &flow(&format!("{keys}\nbackground = false"))))
}

#[test]
fn a_constant_flow_sends_at_its_rate() {
    let outcome = only("", "workload = \"udp\"\nrate = \"1Mbit/s\"\npacket = \"1000B\"", 100);
    let flow = main_flow(&outcome);
    // One at the very beginning, and at the end.
    assert_eq!(flow.counts.datagrams, 12_501);
    // Those of the last 250 ms are on their way.
    assert_eq!(flow.counts.arrived, 12_501 - 32);
    assert_eq!(flow.counts.delivered, flow.counts.arrived * (1000 - 28));
}

#[test]
fn bursts_and_pauses_have_their_mean_rate() {
    // Bursts that are no multiple of the interval: on for 2/5 of the time.
    let keys = "workload = \"udp\"\narrivals = \"on-off\"\nrate = \"1Mbit/s\"\non = \"20ms\"\noff = \"30ms\"";
    let sent = main_flow(&only("", keys, 1000)).counts.datagrams;
    assert!(sent.abs_diff(50_000) <= 1, "{sent}");
    // Random ones: of n cycles of 1 s and 1.35 s, the share that is on has the standard error
    // p (1 - p) √(2 / n).
    let keys = "workload = \"udp\"\narrivals = \"on-off\"\nrate = \"64kbit/s\"\npacket = \"200B\"\n\
                on = { exponential = \"1s\" }\noff = { exponential = \"1.35s\" }";
    let sent = main_flow(&only("", keys, 20_000)).counts.datagrams as f64;
    let share = 1.0 / 2.35;
    let error = share * (1.0 - share) * (2.0 * 2.35 / 20_000.0_f64).sqrt();
    let found = sent / (20_000.0 * 40.0);
    println!("on-off: {found:.5} of the time, {share:.5} ± {error:.5}");
    assert!((found - share).abs() < 3.0 * error, "{found}, {share} ± {error}");
}

#[test]
fn a_poisson_process_has_its_mean_and_its_variance() {
    let keys = "workload = \"udp\"\narrivals = \"poisson\"\nrate = \"1Mbit/s\"";
    let sent = main_flow(&only("", keys, 1000)).counts.datagrams as f64;
    assert!((sent - 125_000.0).abs() < 3.0 * 125_000.0_f64.sqrt(), "{sent}");
}

#[test]
fn an_overloaded_link_loses_what_it_cannot_send() {
    let link = "rate = \"1Mbit/s\"\nqueue = \"10packets\"";
    let outcome = only(link, "workload = \"udp\"\nrate = \"1.6Mbit/s\"", 1000);
    let flow = main_flow(&outcome);
    let share = flow.counts.arrived as f64 / flow.counts.datagrams as f64;
    // 1 - the rate's share, but for what the queue and the path hold.
    assert!((share - 1.0 / 1.6).abs() < 1e-3, "{share}");
    assert_eq!(
        outcome.run.dropped + flow.counts.arrived + 42,
        flow.counts.datagrams,
        "{}",
        brief(&outcome)
    );
    let sat = &outcome.links[0];
    assert!((sat.utilisation().unwrap() - 1.0).abs() < 1e-3);
}

#[test]
fn a_ping_takes_the_round_trip_and_its_bytes() {
    let keys = "workload = \"ping\"\npackets = 10";
    assert_eq!(times(&counted("", keys)), [ms(500); 10]);
    let outcome = counted("rate = \"64kbit/s\"\nback = { rate = \"64kbit/s\" }", keys);
    let rate = Rate::from_bits_per_sec(64_000);
    assert_eq!(times(&outcome), [ms(500) + 2 * rate.time_for(84); 10]);
    let flow = main_flow(&outcome);
    assert_eq!(
        (flow.counts.datagrams, flow.counts.arrived, flow.begun, flow.completed),
        (10, 10, 10, 10)
    );
    // The last echo ends the flow.
    assert_eq!(outcome.run.end, ms(9 * 1000 + 500) + 2 * rate.time_for(84));
}

#[test]
fn lost_pings_are_known_at_the_end() {
    let link = "loss = 0.1\nback = { loss = 0.1 }";
    let keys = "workload = \"ping\"\nevery = \"100ms\"\npackets = 10000";
    let outcome = only(link, keys, 3000);
    let flow = main_flow(&outcome);
    assert_eq!((flow.counts.datagrams, flow.completed), (10_000, flow.counts.arrived));
    assert_eq!(flow.begun - flow.completed, outcome.run.lost);
    let answered = flow.counts.arrived as f64 / 1e4;
    let error = (0.81 * 0.19 / 1e4_f64).sqrt();
    assert!((answered - 0.81).abs() < 3.0 * error, "{answered}");
    assert_eq!(flow.mean_completion, Some(ms(500)));
}

#[test]
fn a_flood_is_as_fast_as_its_echoes() {
    // Longer than 10 ms: a hundred a second, and one more for each echo that comes between.
    let flow = only("", "workload = \"ping\"\nevery = \"flood\"\npackets = 50", 60);
    assert_eq!(main_flow(&flow).counts.arrived, 50);
    assert_eq!(
        flow.flows[0].finished.map(bentpipe_core::time::Instant::as_nanos),
        Some(490_000_000 + 500_000_000)
    );
    // Shorter: one for each echo.
    let near = r#"
[run]
duration = "10s"
[host.a]
[host.b]
[link.lan]
between = ["a", "b"]
delay = "2ms"
[flow.main]
workload = "ping"
from = "a"
to = "b"
every = "flood"
"#;
    let outcome = outcome(near);
    // Every 4 ms from 0 to 10 s.
    assert_eq!(main_flow(&outcome).counts.datagrams, 2501);
}

#[test]
fn routers_and_gateways_answer_and_ask() {
    let text = r#"
[run]
duration = "1min"
until = "flows-done"
[host.a]
[host.b]
[router.r]
[gateway.g]
lan-links = "near"
[link.near]
between = ["a", "g"]
delay = "1ms"
[link.middle]
between = ["g", "r"]
delay = "10ms"
[link.far]
between = ["r", "b"]
delay = "100ms"
"#;
    for (from, to, took) in [
        ("a", "g", 2),
        ("a", "r", 22),
        ("a", "b", 222),
        ("g", "b", 220),
        ("r", "g", 20),
        ("r", "b", 200),
    ] {
        let flow = format!("[flow.main]\nworkload = \"ping\"\nfrom = \"{from}\"\nto = \"{to}\"\n");
        let text = format!("{text}{flow}packets = 3\nbackground = false\n");
        let outcome = outcome(&text);
        assert_eq!(times(&outcome), [ms(took); 3], "{from} to {to}");
    }
}

//! What a run has counted when it ends: up to its end, and over the time until then.

use crate::support::{link, main_flow, outcome};
use bentpipe_core::time::{Duration, Instant};

/// Two hosts and a link of 1 Mbit/s with 10 ms each way, and what is added.
fn between_two(run: &str, rest: &str) -> String {
    format!(
        r#"
[run]
{run}
[host.a]
[host.b]
[link.l]
between = ["a", "b"]
rate = "1Mbit/s"
delay = "10ms"
queue = "20packets"
{rest}
"#
    )
}

#[test]
fn links_count_up_to_the_end_of_the_flows_and_no_further() {
    // Datagrams one way end after 0.92 s; others fill the link the other way, on and on.
    let text = between_two(
        "duration = \"60s\"\nuntil = \"flows-done\"",
        r#"
[flow.main]
workload = "udp"
from = "b"
to = "a"
rate = "100kbit/s"
stop = "920ms"
background = false
[flow.filler]
workload = "udp"
from = "a"
to = "b"
rate = "2Mbit/s"
packet = "1000B"
"#,
    );
    let outcome = outcome(&text);
    let end = outcome.run.end;
    assert_eq!(end, Duration::from_millis(920));
    assert_eq!(main_flow(&outcome).finished, Some(Instant::ZERO + end));
    let row = link(&outcome, "l", "a");
    // 1 Mbit/s carries 125 bytes a millisecond, of which a packet of 1000 may be under way.
    let bytes = row.counters.delivered.bytes as f64;
    let max = 125_000.0 * end.as_secs_f64();
    assert!(bytes <= max && bytes > max - 4_000.0, "{bytes} of {max}");
    assert!(row.utilisation().is_some_and(|share| share <= 1.0), "{:?}", row.utilisation());
}

#[test]
fn a_run_that_falls_silent_is_measured_to_its_end() {
    let run = |seconds: u64| {
        let flow = "[flow.main]\nfrom = \"a\"\nto = \"b\"\nbytes = \"100KB\"";
        outcome(&between_two(&format!("duration = \"{seconds}s\""), flow))
    };
    let (short, long) = (run(100), run(1000));
    let [packets, later] = [&short, &long].map(|outcome| link(outcome, "l", "a").mean_queue.0);
    assert!(packets > 0.0, "{packets}");
    assert!((packets / later - 10.0).abs() < 1e-6, "{packets} over 100 s, {later} over 1000 s");
}

#[test]
fn the_goodput_of_a_run_is_its_flows_bytes_over_their_time() {
    // 100 KB from 0 s and 100 KB from 10 s on: neither shares the link, and together they have
    // delivered 200 KB between 0 s and the end of the second.
    let text = between_two(
        "duration = \"60s\"\nuntil = \"flows-done\"",
        r#"
[flow.early]
from = "a"
to = "b"
bytes = "100KB"
[flow.late]
from = "a"
to = "b"
bytes = "100KB"
start = "10s"
"#,
    );
    let outcome = outcome(&text);
    let end = outcome.run.end.as_secs_f64();
    assert!(end > 10.0, "{end}");
    assert!((outcome.run.goodput - 1.6e6 / end).abs() < 1e-3, "{}", outcome.run.goodput);
    let sum: f64 = outcome.flows.iter().map(|flow| flow.goodput).sum();
    assert!(sum > 1e6, "the sum of their rates is more than the link can do: {sum}");
}

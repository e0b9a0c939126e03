//! Time series and queue lengths of a run.

use crate::support::{outcome, parsed};
use bentpipe_core::time::Instant;
use bentpipe_gateway::Side;
use bentpipe_results::{GatewayRow, RunResults, Sample, SeriesSink, Sinks};
use bentpipe_sim::run_into;
use std::cell::RefCell;
use std::rc::Rc;

const NETWORK: &str = r#"
tcp = "ns-1997,recovery=sack,opening=handshake"
[run]
duration = "60s"
until = "flows-done"
[host.server]
[host.client]
[gateway.g]
lan-links = "lan"
[link.lan]
between = ["server", "g"]
rate = "100Mbit/s"
[link.sat]
between = ["g", "client"]
rate = "1.5Mbit/s"
delay = "250ms"
queue = "60packets"
loss = 0.002
[flow.main]
from = "server"
to = "client"
bytes = "1MB"
[flow.other]
from = "client"
to = "server"
bytes = "100KB"
background = true
"#;

const ALL: &str = r#"
[record]
interval = "50ms"
flow = ["cwnd", "ssthresh", "flight", "srtt", "rto", "throughput", "sequence"]
link = ["queue", "throughput", "drops", "losses", "delay"]
gateway = ["memory", "flows"]
flows = ["main"]
"#;

/// The same, until the last acknowledgment has come, too.
fn to_the_end() -> String {
    NETWORK.replace("duration = \"60s\"\nuntil = \"flows-done\"", "duration = \"12s\"")
}

fn of<'a>(outcome: &'a RunResults, element: &str, quantity: &str) -> Vec<&'a Sample> {
    let of = |sample: &&Sample| &*sample.element == element && sample.quantity == quantity;
    outcome.series.iter().filter(of).collect()
}

fn sum(outcome: &RunResults, element: &str, quantity: &str) -> f64 {
    of(outcome, element, quantity).iter().map(|sample| sample.value).sum()
}

#[test]
fn looking_changes_nothing() {
    let (plain, watched) = (outcome(NETWORK), outcome(&format!("{NETWORK}{ALL}")));
    assert!(plain.series.is_empty());
    assert!(!watched.series.is_empty());
    let without = RunResults { series: Vec::new(), ..watched };
    assert_eq!(without, plain);
}

#[test]
fn samples_add_up_to_the_results() {
    let outcome = outcome(&format!("{}{ALL}", to_the_end()));
    // Every 50 ms, in order.
    let moments: Vec<Instant> = of(&outcome, "sat/forward", "delay").iter().map(|s| s.at).collect();
    for (number, at) in moments.iter().enumerate() {
        assert_eq!(*at, Instant::from_millis(50 * (number as u64 + 1)));
    }
    assert!(outcome.series.windows(2).all(|pair| pair[0].at <= pair[1].at));
    let sat = outcome.links.iter().find(|link| link.name == "sat" && link.from == "g").unwrap();
    let bits = 8.0 * (sat.counters.delivered.bytes + sat.counters.lost.bytes) as f64;
    assert!((sum(&outcome, "sat/forward", "throughput") * 0.05 / bits - 1.0).abs() < 1e-9);
    assert_eq!(sum(&outcome, "sat/forward", "losses"), sat.counters.lost.packets as f64);
    assert_eq!(sum(&outcome, "sat/forward", "drops"), sat.counters.dropped.packets as f64);
    assert!((sum(&outcome, "main", "throughput") * 0.05 / 8e6 - 1.0).abs() < 1e-9);
    assert!(of(&outcome, "sat/forward", "delay").iter().all(|sample| sample.value == 0.25));
    // The mean of many samples is near the exact one.
    let queue = of(&outcome, "sat/forward", "queue-packets");
    let mean = sum(&outcome, "sat/forward", "queue-packets") / queue.len() as f64;
    assert!((mean - sat.mean_queue.0).abs() < 0.5, "{mean} and {:?}", sat.mean_queue);
    assert!(queue.iter().all(|sample| sample.value <= sat.longest_queue.packets as f64));
    // What the gateway holds is what the server has been told is there and the client lacks.
    assert!(of(&outcome, "g", "memory").iter().any(|sample| sample.value > 50_000.0));
    assert!(of(&outcome, "g", "flows").iter().any(|sample| sample.value == 2.0));
    assert!(of(&outcome, "main", "cwnd").iter().any(|sample| sample.value > 10_000.0));
    assert!(of(&outcome, "other", "cwnd").is_empty());
}

#[test]
fn every_segment_and_acknowledgment_is_there() {
    let outcome = outcome(&format!("{}{ALL}", to_the_end()));
    let main = &outcome.flows[0];
    let (begin, end) = (of(&outcome, "main", "segment"), of(&outcome, "main", "segment-end"));
    // The sender counts its SYN and its FINs, too.
    assert!(
        main.counts.segments - begin.len() as u64 <= 8,
        "{} of {}",
        begin.len(),
        main.counts.segments
    );
    assert_eq!(begin[0].value, 1.0);
    assert_eq!(end.iter().map(|sample| sample.value).fold(0.0, f64::max), 1_000_001.0);
    let sent: f64 = end.iter().zip(&begin).map(|(end, begin)| end.value - begin.value).sum();
    // A FIN that is retransmitted counts as a byte there.
    let all = 1_000_000 + main.counts.retransmitted_bytes;
    assert!((all - 8..=all).contains(&(sent as u64)), "{sent} of {all}");
    let acks = of(&outcome, "main", "ack");
    assert!(acks.windows(2).all(|pair| pair[0].value <= pair[1].value));
    // The FIN's.
    assert_eq!(acks.last().unwrap().value, 1_000_002.0);
    assert!(outcome.series.iter().all(|sample| &*sample.element != "other"));
}

#[test]
fn prearranged_connections_are_there_as_well() {
    let text = NETWORK
        .replace(",opening=handshake", "")
        .replace("[gateway.g]\nlan-links = \"lan\"", "[router.g]");
    let outcome = outcome(&format!("{text}{ALL}").replace("gateway = [\"memory\", \"flows\"]", ""));
    let main = &outcome.flows[0];
    let (begin, acks) = (of(&outcome, "main", "segment"), of(&outcome, "main", "ack"));
    assert!(
        main.counts.segments - begin.len() as u64 <= 8,
        "{} of {}",
        begin.len(),
        main.counts.segments
    );
    assert_eq!((begin[0].value, acks[0].value), (1.0, 1001.0));
}

#[test]
fn a_queue_that_is_always_full_is_as_long_as_its_limit() {
    // The window, 64 KB, is all there is to wait: what is not on the air is in the queue.
    let text = NETWORK
        .replace("until = \"flows-done\"", "warm-up = \"20s\"")
        .replace("bytes = \"1MB\"", "")
        .replace("delay = \"250ms\"", "delay = \"10ms\"")
        .replace("loss = 0.002", "")
        .replace("[gateway.g]\nlan-links = \"lan\"", "[router.g]")
        .replace("ns-1997,recovery=sack", "ns-1997,recovery=sack,send-buffer=40000");
    let outcome = outcome(&text);
    let sat = outcome.links.iter().find(|link| link.name == "sat" && link.from == "g").unwrap();
    // 40 segments of 1040 bytes at 1.5 Mbit/s. On the way: those of 20 ms of propagation, of an
    // acknowledgment's 40 bytes each way, and of the fast links' 1040.
    let rest = 0.020 + 40.0 * 8.0 / 1.5e6 + (1040.0 + 40.0) * 8.0 / 100e6;
    let expected = 40.0 - rest * 1.5e6 / (8.0 * 1040.0);
    let (packets, bytes) = sat.mean_queue;
    assert!((packets / expected - 1.0).abs() < 0.01, "{packets} for {expected}");
    assert!((bytes / packets - 1040.0).abs() < 1.0);
    assert!(sat.longest_queue.packets >= 39, "{:?}", sat.longest_queue);
}

#[test]
fn a_gateway_counts_what_its_buffers_hold_and_what_passes() {
    let record = "[record]\ninterval = \"1ms\"\ngateway = [\"memory\"]\n";
    let network = to_the_end().replace("loss = 0.002", "loss = 0.01");
    let outcome = outcome(&format!("{network}{record}"));
    let gateway = &outcome.gateways[0];
    assert_eq!((gateway.name.as_str(), gateway.split), ("g", Some(2)));
    let sides = [Side::Lan, Side::Satellite].map(|side| gateway.legs[side]);
    // The source's side and back, each byte once; the other flow may go on behind the end.
    let other = outcome.flows[1].counts.delivered;
    let all = Some(1_000_000);
    assert_eq!((sides[0].received_bytes, sides[1].delivered_bytes), (all, all));
    assert!(sides[1].received_bytes >= Some(other) && sides[0].delivered_bytes >= Some(other));
    let again = sides.map(|side| side.retransmissions);
    assert!(again[1] > Some(0) && again[0] == Some(0), "{again:?}");

    // The series, every millisecond, knows the same mean; between two samples there may be more.
    let held: Vec<f64> = of(&outcome, "g", "memory").iter().map(|sample| sample.value).collect();
    let mean = held.iter().sum::<f64>() / held.len() as f64;
    let most = held.iter().copied().fold(0.0, f64::max);
    let (mean_held, max_held) = (gateway.mean_held.unwrap(), gateway.max_held.unwrap() as f64);
    assert!((mean_held / mean - 1.0).abs() < 0.01, "{mean_held} {mean}");
    assert!(max_held >= most && max_held <= most + 65_536.0);
    assert!(mean > 10_000.0 && most > mean, "{mean} {most}");
}

#[test]
fn counts_of_a_gateway_begin_with_the_measured_part() {
    let all = outcome(NETWORK).gateways.remove(0);
    let warm = NETWORK.replace("until = ", "warm-up = \"3s\"\nuntil = ");
    let measured = outcome(&warm).gateways.remove(0);
    // Both connections were opened before.
    assert_eq!((all.split, measured.split), (Some(2), Some(0)));
    let bytes = |row: &GatewayRow| row.legs[Side::Satellite].delivered_bytes;
    assert!(bytes(&measured) < bytes(&all) && bytes(&measured) > Some(0), "{measured:?}");
    assert_eq!(measured.max_held, all.max_held);
}

#[derive(Debug, Clone, Default)]
struct Handed(Rc<RefCell<Vec<Sample>>>);

impl SeriesSink for Handed {
    fn sample(&mut self, sample: &Sample) {
        self.0.borrow_mut().push(sample.clone());
    }
}

#[test]
fn a_run_holds_no_values_back() {
    // 50 ms is a moment in which segments leave, too: half a millisecond of serialisation each.
    for interval in ["50ms", "7s"] {
        let record = ALL.replace("50ms", interval);
        let text = format!("{}{record}", to_the_end());
        let whole = outcome(&text).series;
        let handed = Handed::default();
        let sinks = Sinks { series: Some(Box::new(handed.clone())), ..Sinks::default() };
        let (mut looks, mut most) = (0, 0);
        let result = run_into(&parsed(&text), 0, sinks, &mut |share| {
            let now = Instant::from_millis((share * 12_000.0).round() as u64);
            let had = whole.iter().filter(|sample| sample.at <= now).count();
            (looks, most) = (looks + 1, most.max(had - handed.0.borrow().len()));
            true
        });
        assert!(result.expect("it runs").series.is_empty(), "all of it was handed over");
        assert_eq!(handed.0.take(), whole, "the same, in the same order");
        assert!(looks == 12 && whole.len() > 2_000, "{looks}, {}", whole.len());
        assert_eq!(most, 0, "held back at a whole second, every {interval}");
    }
}

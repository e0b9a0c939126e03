//! A trace replayed in virtual time: through the link alone, and through the simulator.

use super::super::Error;
use super::model;
use bentpipe_core::link::{Link, LinkConfig, LinkPacket, LossKind, Varying};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Probability, Rate};
use bentpipe_links::foreign::Rows;
use bentpipe_links::{DirectionConfig, DirectionSpec};
use bentpipe_scenario::Experiment;
use std::collections::BTreeMap;

/// Of all packets.
pub(super) const PACKET: u64 = 1500;
/// So much more than the greatest rate is offered to the simulator's link.
const SURPLUS: f64 = 1.05;

/// A packet without content.
#[derive(Debug, Clone)]
struct Plain;

impl LinkPacket for Plain {
    fn wire_len(&self) -> u64 {
        PACKET
    }
}

/// The direction as the link runs it, but that it loses nothing.
fn lossless(direction: &DirectionSpec) -> LinkConfig {
    let direction = without_losses(direction.clone());
    let seeds = bentpipe_links::Seeds::of_run(1, 0);
    let config: DirectionConfig = direction.config(seeds, "verify", Duration::ZERO, Vec::new());
    LinkConfig { queue: LinkConfig::IDEAL.queue, ..config.link }
}

fn without_losses(direction: DirectionSpec) -> DirectionSpec {
    let bit_errors = Varying::Constant(Probability::ZERO);
    DirectionSpec { loss: LossKind::NONE, bit_errors, ..direction }
}

/// The bytes that leave a link's line in each window, if packets always wait for it. `expected` is
/// enough for that.
pub(super) fn link(direction: &DirectionSpec, window: Duration, expected: &[f64]) -> Vec<f64> {
    let mut link: Link<Plain> = Link::new(&lossless(direction));
    let (mut now, mut before) = (Instant::ZERO, 0);
    let mut windows = Vec::with_capacity(expected.len());
    for bytes in expected {
        let enough = (bytes / PACKET as f64) as u64 + 3;
        while link.queued().packets < enough {
            link.push(now, Plain);
        }
        now += window;
        while link.pop(now).is_some() {}
        link.advance(now);
        let counters = link.counters();
        let sent = counters.offered.bytes - counters.dropped.bytes - link.queued().bytes;
        windows.push((sent - before) as f64);
        before = sent;
    }
    windows
}

/// How far arrivals over the delays alone are from those of the rows: of a packet each ms (of a
/// million in a long trace), the greatest error.
pub(super) fn delays(direction: &DirectionSpec, rows: &Rows, length: Duration) -> (u64, Duration) {
    let config = LinkConfig { rate: None, ..lossless(direction) };
    let mut link: Link<Plain> = Link::new(&config);
    let (mut packets, mut worst, mut latest) = (0, Duration::ZERO, Duration::ZERO);
    let mut expected = std::collections::VecDeque::new();
    let mut check = |expected: &mut std::collections::VecDeque<Duration>, at: Instant| {
        let Some(due) = expected.pop_front() else { return };
        worst = worst.max(at.saturating_since(Instant::ZERO).abs_diff(due));
    };
    let spacing = (length / 1_000_000).max(Duration::from_millis(1));
    let mut at = Duration::ZERO;
    while at < length {
        link.push(Instant::ZERO + at, Plain);
        // Packets keep their order where the delay shrinks.
        latest = latest.max(at + model::delay(rows.delay.steps(), at));
        expected.push_back(latest);
        packets += 1;
        while let Some((came, _)) = link.pop_with_time(Instant::ZERO + at) {
            check(&mut expected, came);
        }
        at += spacing;
    }
    while let Some(next) = link.next() {
        match link.pop_with_time(next) {
            Some((came, _)) => check(&mut expected, came),
            None => break,
        }
    }
    let missing = !expected.is_empty();
    (packets, if missing { Duration::MAX } else { worst })
}

/// The same bytes of a flow of datagrams in the simulator.
pub(super) fn simulator(
    files: &BTreeMap<String, String>,
    names: &[String],
    rate: Rate,
    window: Duration,
    count: u32,
) -> Result<Vec<f64>, Error> {
    let failed = |why: String| Error::Format { place: "simulator".to_owned(), why };
    let text = scenario(names, rate, window, count);
    let read = |path: &str| files.get(path).cloned().ok_or_else(|| "it was not read".to_owned());
    let experiment = Experiment::parse("verify.toml", &text, &read)
        .map_err(|error| failed(error.to_string()))?;
    let mut scenario = experiment.point(0).scenario;
    let forward = &mut scenario.links[0].forward;
    *forward = without_losses(forward.clone());
    let results =
        bentpipe_sim::run(&scenario, 0, |_| true).map_err(|error| failed(error.to_string()))?;
    let seconds = window.as_secs_f64();
    let samples = results.series.iter().filter(|sample| {
        sample.quantity == "throughput"
            && sample.element.ends_with("/forward")
            && sample.at > Instant::ZERO
    });
    Ok(samples.map(|sample| (sample.value * seconds / 8.0).round()).take(count as usize).collect())
}

fn scenario(names: &[String], rate: Rate, window: Duration, count: u32) -> String {
    let files: Vec<String> = names.iter().map(|name| serde_json::json!(name).to_string()).collect();
    let offered = ((rate.bits_per_sec() as f64 * SURPLUS) as u64).max(1000);
    let (nanos, length) = (window.as_nanos(), (window * count).as_nanos());
    format!(
        r#"
[run]
duration = "{length}ns"
[host.a]
[host.b]
[link.x]
between = ["a", "b"]
trace = [{}]
queue = "100packets"
[flow.f]
workload = "udp"
from = "a"
to = "b"
rate = "{offered}bit/s"
packet = "{PACKET}B"
[record]
interval = "{nanos}ns"
link = ["throughput"]
"#,
        files.join(", ")
    )
}

//! A run on a testbed of its own, which is gone afterwards.

use super::jobs::Job;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_lab::RunRecord;
use bentpipe_linux::processor_times::ProcessorTimes;
use bentpipe_papers::live::{Conditions, bottleneck, otherwise};
use bentpipe_testbed::flows::{Browser, PlayError};
use bentpipe_testbed::network::{self, Network, NetworkError, Request, Stacks};
use bentpipe_testbed::play;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

/// A testbed that goes with this value.
struct Bed {
    network: Option<Network>,
    name: String,
}

impl Drop for Bed {
    fn drop(&mut self) {
        // Whoever takes it down has to hold it.
        drop(self.network.take());
        let _ = network::down(&self.name);
    }
}

/// What has come of a run.
pub(super) enum Made {
    /// What it has given, and how punctual links were.
    Run(RunRecord, Conditions),
    /// A gateway has not split what it was to: it is a run of another path. Why, with what the gateways have said.
    Refused(String),
}

/// Makes it.
pub(super) fn run(job: &Job<'_>, worker: usize, stop: &AtomicBool) -> Result<Made, PlayError> {
    let name = format!("papers-{}-{worker}", process::id());
    let binary = std::env::current_exe().map_err(NetworkError::Io)?;
    let request = Request {
        name: &name,
        file: job.name,
        experiment: job.experiment,
        stacks: Stacks::AsAsked,
        binary: &binary,
        realtime: true,
    };
    let network = match Network::up(&request, &job.live.stack, &job.live.gateways, stop) {
        Err(NetworkError::Interrupted) => return Err(PlayError::Cancelled),
        other => other?,
    };
    let mut bed = Bed { network: Some(network), name };
    let Some(network) = &mut bed.network else { return Err(PlayError::Cancelled) };
    let before = ProcessorTimes::now();
    let mut go_on = |_| !stop.load(Ordering::Relaxed);
    let made = play::run(network, job.live, job.run, job.record, &mut go_on)?;
    let record = RunRecord::new(&made.outcome);
    let now = ProcessorTimes::now();
    let busy = now.zip(before).map_or(0.0, |(now, before)| now.busy_since(before));
    // It opens connections ahead of their use.
    let chromium = job.live.browser == Some(Browser::Chromium);
    let simulated = job.simulated.runs.get(job.run as usize).or(job.simulated.runs.first());
    if let Some(why) = simulated.and_then(|one| otherwise(one, &record, chromium)) {
        return Ok(Made::Refused(why + &said(network, job)));
    }
    let packets = match job.record {
        None => BTreeMap::new(),
        Some(link) => {
            packets(job, link, &network.folder().capture(link)).map_err(PlayError::Flow)?
        }
    };
    let (late, late_p99_ms) = (made.late, made.late_p99_ms);
    Ok(Made::Run(record, Conditions { late, late_p99_ms, busy, packets }))
}

/// What the gateways' logs have beside their beginning.
fn said(network: &Network, job: &Job<'_>) -> String {
    let mut text = String::new();
    for (node, _) in &job.live.gateways {
        let name = &job.live.point.scenario.nodes[*node].name;
        let log = network.folder().log(&format!("gateway {name}"));
        let log = fs::read_to_string(log).unwrap_or_default();
        for line in log.lines().filter(|line| !line.starts_with("bentpipe gateway: ready")) {
            text.push_str(&format!("; {name}: {line}"));
        }
    }
    text
}

/// What is read off the packets of a link.
fn packets(job: &Job<'_>, link: usize, capture: &Path) -> Result<BTreeMap<String, f64>, String> {
    let link = &job.live.point.scenario.links[link];
    let second = Instant::ZERO + Duration::from_secs(1);
    let rate = link.forward.rate.as_ref().map(|rate| rate.bytes_between(Instant::ZERO, second));
    bottleneck::numbers(capture, rate.ok_or_else(|| format!("link {} has no rate", link.name))?)
}

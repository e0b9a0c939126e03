//! A run on a testbed of its own, which is gone afterwards.

use super::jobs::Job;
use super::machine::Processors;
use crate::testbed::play;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_lab::RunRecord;
use bentpipe_net::flows::PlayError;
use bentpipe_net::network::{self, Network, NetworkError, Request, Stacks};
use bentpipe_papers::live::{Conditions, bottleneck};
use std::collections::BTreeMap;
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

/// Makes it.
pub(super) fn run(
    job: &Job<'_>,
    worker: usize,
    stop: &AtomicBool,
) -> Result<(RunRecord, Conditions), PlayError> {
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
    let before = Processors::now();
    let mut go_on = |_| !stop.load(Ordering::Relaxed);
    let made = play::run(network, job.live, job.run, job.record, &mut go_on)?;
    let busy = Processors::now().busy_since(before);
    let packets = match job.record {
        None => BTreeMap::new(),
        Some(link) => {
            packets(job, link, &network.folder().capture(link)).map_err(PlayError::Flow)?
        }
    };
    let (late, late_p99_ms) = (made.late, made.late_p99_ms);
    Ok((made.record, Conditions { late, late_p99_ms, busy, packets }))
}

/// What is read off the packets of a link.
fn packets(job: &Job<'_>, link: usize, capture: &Path) -> Result<BTreeMap<String, f64>, String> {
    let link = &job.live.point.scenario.links[link];
    let second = Instant::ZERO + Duration::from_secs(1);
    let rate = link.forward.rate.as_ref().map(|rate| rate.bytes_between(Instant::ZERO, second));
    bottleneck::numbers(capture, rate.ok_or_else(|| format!("link {} has no rate", link.name))?)
}

//! One measurement: a load through a router's program for a time.

use super::connect::{self, Connections};
use super::echo::Echoes;
use super::error::FlowsError;
use super::exchanges::Exchanges;
use super::forwarder::{Forwarder, Running};
use super::hosts::Hosts;
use super::ping::{Answers, Pings};
use super::plan::{Load, Plan};
use super::transfer::{Pace, Transfers};
use bentpipe_linux::processor_times::ProcessorTimes;
use nix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// How long a load runs before it is measured: buffers and windows have grown by then.
const WARM_UP: Duration = Duration::from_secs(1);

/// The figures of a measurement.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Sample {
    pub(super) seconds: f64,
    /// The bytes that each flow has delivered.
    pub(super) flows: Vec<f64>,
    /// Connections that were opened, used and closed, if that is the load.
    pub(super) exchanges: Option<f64>,
    /// Connections that broke or failed.
    pub(super) failed: f64,
    /// Processor time of the machine, of both hosts with the kernel between them, and of the
    /// router's program.
    pub(super) machine_s: f64,
    pub(super) hosts_s: f64,
    pub(super) process_s: Option<f64>,
    pub(super) pings: Answers,
    pub(super) echoes: Answers,
    /// The growth of a gateway's counters, and the seconds and bytes in which they grew.
    pub(super) work: BTreeMap<String, f64>,
    pub(super) work_s: f64,
    pub(super) work_bytes: f64,
}

/// A load at work.
enum AtWork {
    Transfers(Transfers),
    Exchanges(Exchanges),
}

impl AtWork {
    fn begin(plan: &Plan, hosts: &Hosts, load: Load) -> Result<AtWork, FlowsError> {
        match load {
            Load::Transfers { flows, rate } => {
                let connections = connect::open(hosts, flows)?;
                let pace = rate.map(|rate| Pace::of(rate, flows, plan.write));
                let transfers = Transfers::begin(connections, plan.direction, pace, plan.threads);
                Ok(AtWork::Transfers(transfers))
            }
            Load::Exchanges(it) => {
                Exchanges::begin(hosts, it.parallel, it.answer).map(AtWork::Exchanges)
            }
        }
    }

    fn count(&self) -> Counts {
        match self {
            AtWork::Transfers(transfers) => {
                Counts { flows: transfers.received(), exchanges: None, failed: transfers.broken() }
            }
            AtWork::Exchanges(exchanges) => {
                let (complete, failed) = exchanges.counts();
                Counts { flows: Vec::new(), exchanges: Some(complete), failed }
            }
        }
    }
}

struct Counts {
    flows: Vec<u64>,
    exchanges: Option<u64>,
    failed: u64,
}

impl Counts {
    fn bytes(&self) -> u64 {
        self.flows.iter().sum()
    }
}

/// The processors' state at a moment.
struct Moment {
    at: Instant,
    machine: Option<ProcessorTimes>,
    hosts: Duration,
    process: Option<Duration>,
}

impl Moment {
    fn now(running: &Running<'_>) -> Moment {
        let (at, process) = (Instant::now(), running.process_time());
        Moment { at, machine: ProcessorTimes::now(), hosts: own_time() + softirq_time(), process }
    }
}

/// The processor time of this process so far. The kernel forwards in its threads' system calls.
fn own_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}

/// That of the kernel's threads for software interrupts, to which it moves what is too much for
/// system calls.
fn softirq_time() -> Duration {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let times = processes.filter_map(|process| {
        let path = process.path();
        process.file_name().to_str()?.parse::<u32>().ok()?;
        let name = fs::read_to_string(path.join("comm")).ok()?;
        name.starts_with("ksoftirqd/").then_some(())?;
        let text = fs::read_to_string(path.join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
    });
    times.sum()
}

/// Measures one load through one program.
///
/// # Errors
/// [`FlowsError`].
pub(super) fn measure(
    plan: &Plan,
    hosts: &Hosts,
    forwarder: &Forwarder,
    load: Load,
) -> Result<Sample, FlowsError> {
    let mut running = forwarder.start(hosts, &plan.settings)?;
    thread::sleep(plan.settle);
    let idle = connect::open(hosts, plan.idle)?;
    let probes = load.is_probed();
    let echo = if probes { Echoes::open(hosts)? } else { Connections::default() };
    let at_work = AtWork::begin(plan, hosts, load)?;
    thread::sleep(WARM_UP);

    // The status is asked for outside of the measured time, as that takes a process.
    let work = running.work();
    let (work_at, work_bytes) = (Instant::now(), at_work.count().bytes());
    let echoes = Echoes::begin(echo);
    let pings = probes.then(|| Pings::begin(hosts));
    let (before, counted) = (Moment::now(&running), at_work.count());
    thread::sleep(plan.seconds);
    let (after, counts) = (Moment::now(&running), at_work.count());
    let (pings, echoes) = (pings.map_or(Ok(Answers::default()), Pings::end)?, echoes.end()?);
    let later = running.work();
    let (work_s, bytes) = (work_at.elapsed(), at_work.count().bytes());
    running.check(&forwarder.name)?;
    drop((at_work, idle));

    let difference = |(now, before): (&u64, &u64)| now.saturating_sub(*before) as f64;
    let exchanges = counts.exchanges.zip(counted.exchanges);
    Ok(Sample {
        seconds: (after.at - before.at).as_secs_f64(),
        flows: counts.flows.iter().zip(&counted.flows).map(difference).collect(),
        exchanges: exchanges.map(|(now, before)| now.saturating_sub(before) as f64),
        failed: counts.failed as f64,
        machine_s: match (after.machine, before.machine) {
            (Some(after), Some(before)) => after.used_since(before),
            _ => 0.0,
        },
        hosts_s: after.hosts.saturating_sub(before.hosts).as_secs_f64(),
        process_s: after
            .process
            .zip(before.process)
            .map(|(after, before)| after.saturating_sub(before).as_secs_f64()),
        pings,
        echoes,
        work: grown(&work, &later),
        work_s: work_s.as_secs_f64(),
        work_bytes: bytes.saturating_sub(work_bytes) as f64,
    })
}

/// The growth of counters.
fn grown(before: &BTreeMap<String, f64>, after: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let since = |(name, now): (&String, &f64)| {
        (name.clone(), now - before.get(name).copied().unwrap_or(0.0))
    };
    after.iter().map(since).collect()
}

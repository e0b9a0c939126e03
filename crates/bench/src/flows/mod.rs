//! A gateway's throughput on this machine, compared with plain forwarding and with other proxies.
//!
//! Client, router and server are network namespaces. A load of our own runs between client and
//! server. Programs take turns at the router: in a round each of them meets each load once. Their
//! order turns with the rounds, so that a drift of the machine favours none of them.
//! Figures are medians over the rounds, and ratios are between measurements of one round.

mod bare_copy;
mod connect;
mod echo;
mod error;
mod exchanges;
mod forwarder;
mod hosts;
mod measure;
mod ping;
mod plan;
mod ready;
mod row;
mod transfer;

use bentpipe_linux::netns::teardown;
use bentpipe_linux::processor_times::ProcessorTimes;
use hosts::Hosts;
use measure::Sample;
use serde::Serialize;
use std::thread;
use std::time::Duration;

pub use error::FlowsError;
pub use forwarder::{Forwarder, Program};
pub use plan::{Direction, Exchange, Load, Plan};
pub use row::{Counter, Row, Spread};

/// How long the machine is watched before anything runs.
const QUIET: Duration = Duration::from_millis(500);

/// What a program gave under a load, by rounds; nothing where it failed.
type Rounds = Vec<Option<Sample>>;

/// All that was measured.
#[derive(Debug)]
pub struct Results {
    /// The share of all processors that other programs used when it began.
    pub busy: Option<f64>,
    /// A row for each load and program.
    pub rows: Vec<Row>,
    /// The loads that programs did not carry.
    pub failures: Vec<Failure>,
}

/// A load that a program did not carry in some round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The program's name.
    pub through: String,
    /// The load, in a few words.
    pub load: String,
    /// In how many rounds.
    pub rounds: u32,
    /// Why in the first of them.
    pub why: String,
}

/// Makes all measurements.
///
/// Each is shown before it begins: how many are done, and a few words. A program that fails under a
/// load has no figures of it for that round; the others have.
///
/// # Errors
/// [`FlowsError`]: plain forwarding fails, or a program never starts.
pub fn run(plan: &Plan, show: &dyn Fn(usize, String)) -> Result<Results, FlowsError> {
    teardown::remove_leftovers();
    let loads = plan.loads();
    let most = loads.iter().map(|load| load.connections()).max().unwrap_or(0);
    connect::allow(most + plan.idle)?;
    let busy = busy();
    let hosts = Hosts::build(&plan.congestion)?;
    let programs = plan.forwarders.len();
    // By load, then by program, then by round.
    let mut samples: Vec<Vec<Rounds>> = vec![vec![Rounds::new(); programs]; loads.len()];
    let mut failures: Vec<Failure> = Vec::new();
    let mut ran = vec![false; programs];
    let mut done = 0;
    for round in 0..plan.rounds {
        for (load, samples) in loads.iter().zip(&mut samples) {
            for turn in 0..programs {
                let number = (turn + round as usize) % programs;
                let forwarder = &plan.forwarders[number];
                show(done, format!("{}: {}", forwarder.name, load.words()));
                let sample = match measure::measure(plan, &hosts, forwarder, *load) {
                    Err(error) if number == 0 => return Err(error),
                    Err(error @ FlowsError::Forwarder { .. }) if !ran[number] => return Err(error),
                    Err(error) => {
                        note(&mut failures, forwarder, *load, &error);
                        None
                    }
                    Ok(sample) => Some(sample),
                };
                ran[number] |= sample.is_some();
                samples[number].push(sample);
                done += 1;
            }
        }
    }
    Ok(Results { busy, rows: row::rows(plan, &loads, &samples), failures })
}

/// Measures the share of all processors that other programs use.
fn busy() -> Option<f64> {
    let before = ProcessorTimes::now()?;
    thread::sleep(QUIET);
    Some(ProcessorTimes::now()?.busy_since(before))
}

/// Counts a load that a program did not carry.
fn note(failures: &mut Vec<Failure>, forwarder: &Forwarder, load: Load, error: &FlowsError) {
    let (through, load) = (forwarder.name.clone(), load.words());
    let same = |known: &&mut Failure| known.through == through && known.load == load;
    match failures.iter_mut().find(same) {
        Some(known) => known.rounds += 1,
        None => failures.push(Failure { through, load, rounds: 1, why: error.to_string() }),
    }
}

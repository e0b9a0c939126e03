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
use std::io;
use std::thread;
use std::time::Duration;

pub use error::FlowsError;
pub use forwarder::{Forwarder, Program};
pub use plan::{Direction, Exchange, Load, Plan};
pub use row::{Counter, Row, Spread};

/// How long the machine is watched before anything runs.
const QUIET: Duration = Duration::from_millis(500);

/// All that was measured.
#[derive(Debug)]
pub struct Results {
    /// The share of all processors that other programs used when it began.
    pub busy: Option<f64>,
    /// A row for each load and program.
    pub rows: Vec<Row>,
}

/// Makes all measurements.
///
/// Each is shown before it begins: how many are done, and a few words.
///
/// # Errors
/// [`FlowsError`], with the program or the load in its words.
pub fn run(plan: &Plan, show: &dyn Fn(usize, String)) -> Result<Results, FlowsError> {
    teardown::remove_leftovers();
    let loads = plan.loads();
    let most = loads.iter().map(|load| load.connections()).max().unwrap_or(0);
    connect::allow(most + plan.idle)?;
    let busy = busy();
    let hosts = Hosts::build(&plan.congestion)?;
    let programs = plan.forwarders.len();
    // By load, then by program, then by round.
    let mut samples: Vec<Vec<Vec<Sample>>> = vec![vec![Vec::new(); programs]; loads.len()];
    let mut done = 0;
    for round in 0..plan.rounds {
        for (load, samples) in loads.iter().zip(&mut samples) {
            for turn in 0..programs {
                let number = (turn + round as usize) % programs;
                let forwarder = &plan.forwarders[number];
                show(done, format!("{}: {}", forwarder.name, load.words()));
                let sample = measure::measure(plan, &hosts, forwarder, *load);
                samples[number].push(sample.map_err(|error| placed(error, forwarder, *load))?);
                done += 1;
            }
        }
    }
    Ok(Results { busy, rows: row::rows(plan, &loads, &samples) })
}

/// Measures the share of all processors that other programs use.
fn busy() -> Option<f64> {
    let before = ProcessorTimes::now()?;
    thread::sleep(QUIET);
    Some(ProcessorTimes::now()?.busy_since(before))
}

/// Names the program and the load where a connection did not open.
fn placed(error: FlowsError, forwarder: &Forwarder, load: Load) -> FlowsError {
    match error {
        FlowsError::Connect(error) => {
            let place = format!("{}, {}: {error}", forwarder.name, load.words());
            FlowsError::Connect(io::Error::new(error.kind(), place))
        }
        other => other,
    }
}

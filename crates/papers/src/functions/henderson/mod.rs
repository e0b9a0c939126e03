//! What henderson's claims speak of and no cell of a table says: shares, sweeps' best points, recoveries, Web replies.

mod benchmark;
mod beside;
mod constant_rate;
mod formulas;
mod increase_by_k;
mod open;
mod standard_beside;
mod table;
mod testbed;
mod traces;
mod web;

use super::Function;
use super::samples::{Samples, less, max_by_mean, mean, min_by_mean, per_run, ratio, scaled};
use crate::run::{Number, Part, PointRuns};
use bentpipe_lab::tables::Table;

/// By claim, a list for each subject.
pub(super) const FUNCTIONS: [&[(&str, Function)]; 11] = [
    benchmark::FUNCTIONS,
    beside::FUNCTIONS,
    constant_rate::FUNCTIONS,
    formulas::FUNCTIONS,
    increase_by_k::FUNCTIONS,
    open::FUNCTIONS,
    standard_beside::FUNCTIONS,
    table::FUNCTIONS,
    testbed::FUNCTIONS,
    traces::FUNCTIONS,
    web::FUNCTIONS,
];

type Numbers = Result<Vec<Number>, String>;

/// The bottleneck of section 4.1, in bit/s.
const BOTTLENECK: f64 = 1.5e6;
/// A packet, and the data in it: throughputs of the paper are of packets.
const PACKET: f64 = 1000.0;
const DATA: f64 = 960.0;
/// The long transfers of topology 2, longest first, and the short ones.
const LONG: [&str; 4] = ["f600", "f300", "f200", "f100"];
const SHORT: [&str; 2] = ["f20", "f10"];

/// A column of a flow.
fn flow(point: &PointRuns, flow: &str, column: &str) -> Result<Samples, String> {
    point.column(Table::Results, &[("flow", flow)], column)
}

/// A column of the run as a whole.
fn run(point: &PointRuns, column: &str) -> Result<Samples, String> {
    point.column(Table::Runs, &[], column)
}

/// A flow's throughput in bit/s of whole packets.
fn throughput(point: &PointRuns, name: &str) -> Result<Samples, String> {
    Ok(scaled(&flow(point, name, "goodput_bps")?, PACKET / DATA))
}

/// The share of the bottleneck that these flows use with what arrives once.
fn used(point: &PointRuns, flows: &[&str]) -> Result<Samples, String> {
    let each = flows.iter().map(|name| throughput(point, name)).collect::<Result<Vec<_>, _>>()?;
    Ok(per_run(&each, |rates| rates.iter().sum::<f64>() / BOTTLENECK))
}

/// The share of the bottleneck that is used with what arrives once, of topologies 1 and 2.
fn utilisation(point: &PointRuns) -> Result<Samples, String> {
    let sum = point.column(Table::Groups, &[("group", "all")], "goodput_sum_bps")?;
    Ok(scaled(&sum, PACKET / DATA / BOTTLENECK))
}

/// Jain's index of these flows' throughputs.
fn jain(point: &PointRuns, flows: &[&str]) -> Result<Samples, String> {
    let each = flows.iter().map(|name| throughput(point, name)).collect::<Result<Vec<_>, _>>()?;
    Ok(per_run(&each, |rates| {
        let (sum, squares) = rates.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
        sum * sum / (squares * rates.len() as f64)
    }))
}

fn number(name: impl Into<String>, samples: Samples) -> Number {
    Number { name: name.into(), samples }
}

/// What a condition finds: the only point where these fields have these values.
fn at<'a>(part: &'a Part, conditions: &[(&str, &str)]) -> Result<&'a PointRuns, String> {
    part.point(conditions)
}

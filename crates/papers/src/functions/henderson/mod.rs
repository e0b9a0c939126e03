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

/// What each run of a point has given.
type Samples = Vec<f64>;

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

/// Combines what each run has given; runs belong together by their numbers, as many as all have.
fn per_run(columns: &[Samples], of: impl Fn(&[f64]) -> f64) -> Samples {
    let runs = columns.iter().map(Vec::len).min().unwrap_or(0);
    let row = |run: usize| columns.iter().map(|column| column[run]).collect::<Vec<f64>>();
    (0..runs).map(|run| of(&row(run))).collect()
}

fn less(a: &[f64], b: &[f64]) -> Samples {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn over(a: &[f64], b: &[f64]) -> Samples {
    a.iter().zip(b).map(|(a, b)| a / b).collect()
}

fn scaled(a: &[f64], by: f64) -> Samples {
    a.iter().map(|a| a * by).collect()
}

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

/// The samples with the smallest mean.
fn smallest(of: impl IntoIterator<Item = Samples>) -> Result<Samples, String> {
    let least = of.into_iter().min_by(|a, b| mean(a).total_cmp(&mean(b)));
    least.ok_or_else(|| "nothing to compare".to_owned())
}

/// The samples with the largest mean.
fn largest(of: impl IntoIterator<Item = Samples>) -> Result<Samples, String> {
    let most = of.into_iter().max_by(|a, b| mean(a).total_cmp(&mean(b)));
    most.ok_or_else(|| "nothing to compare".to_owned())
}

fn number(name: impl Into<String>, samples: Samples) -> Number {
    Number { name: name.into(), samples }
}

/// What a condition finds: the only point where these fields have these values.
fn at<'a>(part: &'a Part, conditions: &[(&str, &str)]) -> Result<&'a PointRuns, String> {
    part.point(conditions)
}

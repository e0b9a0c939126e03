//! Readings of tables that several of henderson's claims share.

use crate::functions::samples::{Samples, per_run, scaled};
use crate::run::{Number, Part, PointRuns};
use bentpipe_lab::tables::Table;

pub(super) type Numbers = Result<Vec<Number>, String>;

/// The bottleneck of section 4.1, in bit/s.
pub(super) const BOTTLENECK: f64 = 1.5e6;
/// A packet, and the data in it: throughputs of the paper are of packets.
pub(super) const PACKET: f64 = 1000.0;
pub(super) const DATA: f64 = 960.0;
/// The long transfers of topology 2, longest first, and the short ones.
pub(super) const LONG: [&str; 4] = ["f600", "f300", "f200", "f100"];
pub(super) const SHORT: [&str; 2] = ["f20", "f10"];

/// A column of a flow.
pub(super) fn flow(point: &PointRuns, flow: &str, column: &str) -> Result<Samples, String> {
    point.column(Table::Results, &[("flow", flow)], column)
}

/// A column of the run as a whole.
pub(super) fn run(point: &PointRuns, column: &str) -> Result<Samples, String> {
    point.column(Table::Runs, &[], column)
}

/// A flow's throughput in bit/s of whole packets.
pub(super) fn throughput(point: &PointRuns, name: &str) -> Result<Samples, String> {
    Ok(scaled(&flow(point, name, "goodput_bps")?, PACKET / DATA))
}

/// The share of the bottleneck that these flows use with what arrives once.
pub(super) fn used(point: &PointRuns, flows: &[&str]) -> Result<Samples, String> {
    let each = flows.iter().map(|name| throughput(point, name)).collect::<Result<Vec<_>, _>>()?;
    Ok(per_run(&each, |rates| rates.iter().sum::<f64>() / BOTTLENECK))
}

/// The share of the bottleneck that is used with what arrives once, of topologies 1 and 2.
pub(super) fn utilisation(point: &PointRuns) -> Result<Samples, String> {
    let sum = point.column(Table::Groups, &[("group", "all")], "goodput_sum_bps")?;
    Ok(scaled(&sum, PACKET / DATA / BOTTLENECK))
}

/// Jain's index of these flows' throughputs.
pub(super) fn jain(point: &PointRuns, flows: &[&str]) -> Result<Samples, String> {
    let each = flows.iter().map(|name| throughput(point, name)).collect::<Result<Vec<_>, _>>()?;
    Ok(per_run(&each, |rates| {
        let (sum, squares) = rates.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
        sum * sum / (squares * rates.len() as f64)
    }))
}

pub(super) fn number(name: impl Into<String>, samples: Samples) -> Number {
    Number { name: name.into(), samples }
}

/// What a condition finds: the only point where these fields have these values.
pub(super) fn at<'a>(part: &'a Part, conditions: &[(&str, &str)]) -> Result<&'a PointRuns, String> {
    part.point(conditions)
}

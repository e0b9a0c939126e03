//! Readings of tables that several of henderson's claims share.

use crate::functions::samples::Samples;
use crate::run::{Number, Part, PointRuns};
use bentpipe_lab::tables::Table;

pub(super) type Numbers = Result<Vec<Number>, String>;

/// The long transfers of topology 2, longest first, and the short ones.
pub(super) const LONG: [&str; 4] = ["f600", "f300", "f200", "f100"];
pub(super) const SHORT: [&str; 2] = ["f20", "f10"];

/// A column of a flow.
pub(super) fn flow(point: &PointRuns, flow: &str, column: &str) -> Result<Samples, String> {
    point.column(Table::Results, &[("flow", flow)], column)
}

pub(super) fn number(name: impl Into<String>, samples: Samples) -> Number {
    Number { name: name.into(), samples }
}

/// What a condition finds: the only point where these fields have these values.
pub(super) fn at<'a>(part: &'a Part, conditions: &[(&str, &str)]) -> Result<&'a PointRuns, String> {
    part.point(conditions)
}

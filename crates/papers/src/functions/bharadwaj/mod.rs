//! Computations for both bharadwaj papers: silences of a link, what a gateway holds, the widest
//! spread.

mod crowds;
mod gateway;
mod sets;

use super::Function;
use super::samples::{Samples, jackknife, mean, min};
use crate::run::{Number, Part, Ran};
use bentpipe_lab::tables::Table;

/// By claim, in several lists.
pub(super) const FUNCTIONS: [&[(&str, Function)]; 3] =
    [crowds::FUNCTIONS, gateway::FUNCTIONS, sets::FUNCTIONS];

type Numbers = Result<Vec<Number>, String>;

/// Which hosts and gateways: the figures' variants.
const VARIANT: &str = "variant";
const IW_1: &str = "initial window 1";
const IW_16: &str = "initial window 16";
const BYTES: &str = "flow.main.bytes";
const COUNT: &str = "flow.main.count";

/// The round trip over the satellite, in seconds.
const RTT: f64 = 0.5;

/// A column of a group, one value for each run.
fn group(part: &Part, at: &[(&str, &str)], name: &str, column: &str) -> Result<Samples, String> {
    part.point(at)?.column(Table::Groups, &[("group", name)], column)
}

fn samples(name: &str, samples: Vec<f64>) -> Number {
    Number { name: name.to_owned(), samples }
}

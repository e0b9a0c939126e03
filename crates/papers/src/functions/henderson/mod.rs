//! Computations for henderson: recoveries, the rule of runs, the model of Web replies.

mod readings;
mod table;
mod testbed;
mod traces;
mod web;

use super::Function;
use super::samples::{Samples, mean, min_by_mean, ratio, scaled};
use readings::{LONG, Numbers, SHORT, at, flow, number};

/// By claim, a list for each subject.
pub(super) const FUNCTIONS: [&[(&str, Function)]; 4] =
    [table::FUNCTIONS, testbed::FUNCTIONS, traces::FUNCTIONS, web::FUNCTIONS];

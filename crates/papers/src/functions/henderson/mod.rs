//! What henderson's claims speak of and no cell of a table says: shares, sweeps' best points,
//! recoveries, Web replies.

mod benchmark;
mod beside;
mod constant_rate;
mod formulas;
mod increase_by_k;
mod open;
mod readings;
mod standard_beside;
mod table;
mod testbed;
mod traces;
mod web;

use super::Function;
use super::samples::{Samples, less, max_by_mean, mean, min_by_mean, per_run, ratio, scaled};
use readings::{
    BOTTLENECK, DATA, LONG, Numbers, PACKET, SHORT, at, flow, jain, number, run, throughput, used,
    utilisation,
};

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

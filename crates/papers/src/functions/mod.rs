//! What no cell of a table says: formulas, and what is read off packets. Each is registered under its claim's id.

mod formulas;
mod four_packets;
mod growth;
mod losses;
mod overshoot;
mod repair;
mod sfu;

use crate::run::{Number, Ran};

/// Measures the numbers of a claim.
pub type Function = fn(&Ran) -> Result<Vec<Number>, String>;

/// All of them.
const FUNCTIONS: &[&[(&str, Function)]] = &[
    formulas::FUNCTIONS,
    four_packets::FUNCTIONS,
    growth::FUNCTIONS,
    overshoot::FUNCTIONS,
    repair::FUNCTIONS,
    sfu::FUNCTIONS,
];

/// The function of this claim.
pub fn find(id: &str) -> Option<Function> {
    FUNCTIONS.iter().copied().flatten().find(|(name, _)| *name == id).map(|(_, function)| *function)
}

/// The ids that have one.
pub fn ids() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().copied().flatten().map(|(name, _)| *name)
}

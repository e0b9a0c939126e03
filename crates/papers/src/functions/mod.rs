//! Computations that no expression is, each registered under its claim's id.
//!
//! A function stays where a claim needs the fate of each packet, rounds of slow start or episodes
//! of a recovery. It stays where it walks through samples, runs or a model step by step, and where
//! the jackknife chooses again in each of its samples. One such number keeps the claim's others
//! here, too. All else is an expression in the figure's file.

mod bharadwaj;
mod four_packets;
mod function;
mod growth;
mod henderson;
mod losses;
mod overshoot;
mod repair;
mod sfu;

pub use function::Function;

use crate::samples;

/// All of them.
const FUNCTIONS: &[&[(&str, Function)]] = &[
    four_packets::FUNCTIONS,
    growth::FUNCTIONS,
    overshoot::FUNCTIONS,
    repair::FUNCTIONS,
    sfu::FUNCTIONS,
];

/// With those of the papers that have several lists.
fn all() -> impl Iterator<Item = &'static (&'static str, Function)> {
    let later = henderson::FUNCTIONS.iter().chain(&bharadwaj::FUNCTIONS);
    FUNCTIONS.iter().chain(later).copied().flatten()
}

/// The function of this claim.
pub fn find(id: &str) -> Option<Function> {
    all().find(|(name, _)| *name == id).map(|(_, function)| *function)
}

/// The ids that have one.
pub fn ids() -> impl Iterator<Item = &'static str> {
    all().map(|(name, _)| *name)
}

//! Computations that no expression is: what is read off packets, rounds and episodes. Each is
//! registered under its claim's id.

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

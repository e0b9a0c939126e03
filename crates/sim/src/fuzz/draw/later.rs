//! What plans learned later: each from a generator of its own, so that a seed is otherwise what it
//! was before there was this.

use super::Draw;
use crate::fuzz::plan::FaultPlan;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeSet;

/// Tells these generators from that of the plan itself.
const LATER: u64 = 0x5eed;

/// Seeds from here on may have gateways whose flows find a link together. Those below were played
/// before there was that, and stay the same.
const TOGETHER: u64 = 200_000_000;

/// Adds it to the plan of `seed`.
pub(super) fn add(seed: u64, plan: &mut FaultPlan) {
    let draws = [Draw::signals, Draw::meddlers, Draw::port_reuse, Draw::found_together];
    let known = if seed < TOGETHER { draws.len() - 1 } else { draws.len() };
    for (number, draw) in draws.into_iter().take(known).enumerate() {
        let rng = Pcg64Mcg::seed_from_u64(seed ^ (LATER + number as u64) << 48);
        draw(&mut Draw { rng, hazards: BTreeSet::new() }, plan);
    }
}

//! What plans learned later: each from a generator of its own, so that a seed is otherwise what it
//! was before there was this.

use super::Draw;
use crate::fuzz::plan::FaultPlan;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeSet;

/// Tells these generators from that of the plan itself.
const LATER: u64 = 0x5eed;

/// Adds it to the plan of `seed`.
pub(super) fn add(seed: u64, plan: &mut FaultPlan) {
    for (number, draw) in [Draw::signals, Draw::meddlers, Draw::port_reuse].into_iter().enumerate()
    {
        let rng = Pcg64Mcg::seed_from_u64(seed ^ (LATER + number as u64) << 48);
        draw(&mut Draw { rng, hazards: BTreeSet::new() }, plan);
    }
}

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

/// Seeds from here on may have gateways with keys, likewise.
const KEYS: u64 = 400_000_000;

/// Seeds from here on may have liars, likewise.
const LIARS: u64 = 500_000_000;

/// Seeds from here on may have gateways that share a carrier with others, likewise.
const CARRIERS: u64 = 600_000_000;

/// Adds it to the plan of `seed`.
pub(super) fn add(seed: u64, plan: &mut FaultPlan) {
    type Part = fn(&mut Draw, &mut FaultPlan);
    let draws: [(u64, Part); 7] = [
        (0, Draw::signals),
        (0, Draw::meddlers),
        (0, Draw::port_reuse),
        (TOGETHER, Draw::found_together),
        (KEYS, Draw::keys),
        (LIARS, Draw::liars),
        (CARRIERS, Draw::shared_carriers),
    ];
    for (number, (first, draw)) in draws.into_iter().enumerate() {
        let rng = Pcg64Mcg::seed_from_u64(seed ^ (LATER + number as u64) << 48);
        if seed >= first {
            draw(&mut Draw { rng, hazards: BTreeSet::new() }, plan);
        }
    }
}

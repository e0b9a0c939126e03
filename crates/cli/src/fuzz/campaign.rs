//! Many seeds on many threads.

use super::progress::SeedProgress;
use super::seeds::Seeds;
use bentpipe_lab::caught;
use bentpipe_sim::Listener;
use bentpipe_sim::fuzz::{FaultPlan, Hazard, Played};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use tracing::subscriber::NoSubscriber;

/// What came of the seeds.
#[derive(Debug, Default)]
pub(super) struct Campaign {
    /// How many were played.
    pub(super) played: u64,
    /// Seeds that violate something, in their order.
    pub(super) found: Vec<Found>,
    /// Sums over those that do not.
    pub(super) sum: Played,
    /// Seeds with each hazard.
    pub(super) hazards: BTreeMap<Hazard, u64>,
}

/// A seed that violates an invariant.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) seed: u64,
    pub(super) what: String,
}

impl Campaign {
    /// Plays `seeds` until all are done or `stop` is set; seeds that have begun are finished.
    pub(super) fn run(
        seeds: &Seeds,
        threads: NonZeroUsize,
        stop: &AtomicBool,
        progress: &SeedProgress,
    ) -> Campaign {
        let (begun, campaign) = (AtomicU64::new(0), Mutex::new(Campaign::default()));
        thread::scope(|scope| {
            for _ in 0..threads.get() {
                scope.spawn(|| {
                    // Gateways warn of every flow that ends badly, which is what happens here.
                    let _silence = tracing::subscriber::set_default(NoSubscriber::new());
                    while !stop.load(Ordering::Relaxed) {
                        let number = begun.fetch_add(1, Ordering::Relaxed);
                        if number >= seeds.len() {
                            return;
                        }
                        let plan = FaultPlan::draw(seeds.first + number);
                        let outcome = play(&plan, None);
                        let mut all = campaign.lock().unwrap_or_else(PoisonError::into_inner);
                        if let Some(found) = all.add(&plan, outcome) {
                            progress.announce(all.found.len() + 1, &found);
                            all.found.push(found);
                        }
                        progress.show(all.played, all.found.len());
                    }
                });
            }
        });
        let mut campaign = campaign.into_inner().unwrap_or_else(PoisonError::into_inner);
        campaign.found.sort_by_key(|found| found.seed);
        campaign
    }

    /// Adds to the sums; what is wrong, if anything is.
    fn add(&mut self, plan: &FaultPlan, outcome: Result<Played, String>) -> Option<Found> {
        self.played += 1;
        for hazard in &plan.hazards {
            *self.hazards.entry(*hazard).or_default() += 1;
        }
        match outcome {
            Ok(played) => {
                self.sum.events += played.events;
                self.sum.packets += played.packets;
                self.sum.bytes += played.bytes;
                self.sum.split += played.split;
                self.sum.completed += played.completed;
                self.sum.deaf += played.deaf;
                self.sum.forged += played.forged;
                // In whatever order threads end their seeds.
                self.sum.trace = self.sum.trace.wrapping_add(played.trace);
                None
            }
            Err(what) => Some(Found { seed: plan.seed, what }),
        }
    }
}

/// Plays one plan; what is wrong, if anything is. A panic is a violation like any other.
pub(super) fn play(plan: &FaultPlan, listener: Option<Listener>) -> Result<Played, String> {
    caught(|| plan.play(listener))?.map_err(|violation| violation.to_string())
}

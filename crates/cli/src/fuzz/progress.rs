//! Progress of the seeds; and what is found, at once.

use super::campaign::Found;
use bentpipe_sim::fuzz::SmallerPlan;
use bentpipe_terminal::progress::Progress;

/// More violations than this are only counted, and their seeds listed; these are made small.
pub(super) const DESCRIBED: usize = 5;

/// The progress of a campaign.
pub(super) struct SeedProgress {
    progress: Progress,
    seeds: u64,
}

impl SeedProgress {
    /// Progress of so many seeds.
    pub(super) fn new(quiet: bool, seeds: u64) -> SeedProgress {
        SeedProgress { progress: Progress::new("bentpipe fuzz", quiet), seeds }
    }

    /// Shows how many have been played, and how many of them violate something.
    pub(super) fn show(&self, played: u64, violations: usize) {
        let share = played as f64 / self.seeds.max(1) as f64;
        self.progress
            .show(share, || format!("{played} of {} seeds, {violations} violations", self.seeds));
    }

    /// Prints that a seed has violated something, the `number`th of all. Not even `--quiet` hides
    /// the first few.
    pub(super) fn announce(&self, number: usize, found: &Found) {
        if number > DESCRIBED {
            return;
        }
        let Found { seed, what } = found;
        self.print(&format!("bentpipe fuzz: seed {seed} violates {what}"));
    }

    /// Prints a text, which a bar does not overwrite.
    pub(super) fn print(&self, text: &str) {
        self.progress.print(text);
    }

    /// Shows that a smaller plan of a seed is tried, the `plays`th.
    pub(super) fn shrinking(&self, seed: u64, plays: u64, smaller: &SmallerPlan) {
        let left_out = smaller.cuts.len() + smaller.bytes.len();
        self.progress.show(1.0, || {
            format!("shrinking seed {seed}: plan {plays}, {left_out} things left out")
        });
    }

    /// Removes the bar.
    pub(super) fn end(&self) {
        self.progress.end();
    }
}

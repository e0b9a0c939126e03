//! How far it is: a bar on a terminal, a line now and then elsewhere; and what is found, at once.

use super::campaign::Found;
use bentpipe_sim::fuzz::SmallerPlan;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two lines where there is no terminal.
const PAUSE: Duration = Duration::from_secs(10);

/// More violations than this are only counted, and their seeds listed; these are made small.
pub(super) const DESCRIBED: usize = 5;

/// What is shown.
pub(super) struct SeedProgress {
    quiet: bool,
    seeds: u64,
    /// On a terminal.
    bar: Option<ProgressBar>,
    spoke: Mutex<Instant>,
}

impl SeedProgress {
    /// Nothing has been played yet.
    pub(super) fn new(quiet: bool, seeds: u64) -> SeedProgress {
        let bar = (!quiet && stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template("{bar:40} {msg} {elapsed} (left: {eta})");
            ProgressBar::new(seeds)
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        SeedProgress { quiet, seeds, bar, spoke: Mutex::new(Instant::now()) }
    }

    /// So many have been played, and so many of them violate something.
    pub(super) fn show(&self, played: u64, violations: usize) {
        if let Some(bar) = &self.bar {
            bar.set_position(played);
        }
        self.say(|| format!("{played} of {} seeds, {violations} violations", self.seeds));
    }

    /// A seed has violated something, the `number`th of all. Not even `--quiet` hides the first few.
    pub(super) fn announce(&self, number: usize, found: &Found) {
        if number > DESCRIBED {
            return;
        }
        let Found { seed, what } = found;
        self.print(&format!("bentpipe fuzz: seed {seed} violates {what}"));
    }

    /// Prints a text beside what is shown.
    pub(super) fn print(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{text}")),
            None => eprintln!("{text}"),
        }
    }

    /// A smaller plan of a seed is tried, the `plays`th.
    pub(super) fn shrinking(&self, seed: u64, plays: u64, smaller: &SmallerPlan) {
        let left_out = smaller.cuts.len() + smaller.bytes.len();
        let line = || format!("shrinking seed {seed}: plan {plays}, {left_out} things left out");
        self.say(line);
    }

    /// Shows a line on a terminal, and one now and then elsewhere.
    fn say(&self, line: impl Fn() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_message(line());
        } else if !self.quiet {
            let mut spoke = self.spoke.lock().unwrap_or_else(PoisonError::into_inner);
            if spoke.elapsed() >= PAUSE {
                *spoke = Instant::now();
                eprintln!("bentpipe fuzz: {}", line());
            }
        }
    }

    /// Nothing is shown any more.
    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

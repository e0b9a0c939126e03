//! How far it is: a bar on a terminal, a line now and then elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two lines where there is no terminal.
const PAUSE: Duration = Duration::from_secs(30);

/// What is shown.
pub(super) struct CaseProgress {
    quiet: bool,
    runs: u64,
    /// On a terminal.
    bar: Option<ProgressBar>,
    spoke: Mutex<Instant>,
}

impl CaseProgress {
    /// Nothing has been run yet.
    pub(super) fn new(quiet: bool, runs: u64) -> CaseProgress {
        let bar = (!quiet && stderr().is_terminal()).then(|| {
            let style =
                ProgressStyle::with_template("{bar:40} {pos} of {len} runs {elapsed} {msg}");
            ProgressBar::new(runs)
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        CaseProgress { quiet, runs, bar, spoke: Mutex::new(Instant::now()) }
    }

    /// So many runs have been made, the last one of `case`.
    pub(super) fn show(&self, made: u64, case: &str) {
        if let Some(bar) = &self.bar {
            bar.set_position(made);
            bar.set_message(case.to_owned());
        } else if !self.quiet {
            let mut spoke = self.spoke.lock().unwrap_or_else(PoisonError::into_inner);
            if spoke.elapsed() >= PAUSE {
                *spoke = Instant::now();
                eprintln!("bentpipe bench satellite: {made} of {} runs, now {case}", self.runs);
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

//! How far an experiment is: a bar on a terminal, a line now and then elsewhere.
//!
//! indicatif, because it knows terminals, draws no more often than is of use, and keeps lines
//! that are printed meanwhile out of the bar.

use bentpipe_lab::{Event, Job};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two lines where there is no terminal.
const PAUSE: Duration = Duration::from_secs(10);

/// Parts of the bar for each run.
const PARTS: f64 = 1000.0;

/// What is shown.
pub(crate) struct RunProgress {
    /// The subcommand.
    name: &'static str,
    quiet: bool,
    /// On a terminal.
    bar: Option<ProgressBar>,
    state: Mutex<State>,
}

struct State {
    running: BTreeMap<Job, f64>,
    finished: u64,
    stored: u64,
    needed: u64,
    spoke: Instant,
}

impl RunProgress {
    /// Nothing has been done yet.
    pub(crate) fn new(name: &'static str, quiet: bool) -> RunProgress {
        let bar = (!quiet && stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template("{bar:40} {msg} {elapsed} (left: {eta})");
            ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        let (running, spoke) = (BTreeMap::new(), Instant::now());
        let state = State { running, finished: 0, stored: 0, needed: 0, spoke };
        RunProgress { name, quiet, bar, state: Mutex::new(state) }
    }

    /// Something has happened.
    pub(crate) fn heed(&self, event: &Event<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Running(job, share) => {
                state.running.insert(*job, *share);
            }
            Event::Finished { job, stored, needed } => {
                state.running.remove(job);
                state.finished += 1;
                state.stored += u64::from(*stored);
                state.needed = *needed;
            }
            // Failures are said at the end: which of them count is known then.
            Event::Failed(_) | Event::Ended(_) => {}
            Event::Damaged(damaged) if !self.quiet => {
                self.say(&format!("{damaged}; its run is made again"));
            }
            Event::Damaged(_) => {}
        }
        self.show(&mut state);
    }

    fn show(&self, state: &mut State) {
        // Runs that are made ahead may turn out not to be needed.
        let needed = state.needed.max(state.finished);
        if let Some(bar) = &self.bar {
            let running: f64 = state.running.values().sum();
            bar.set_length((needed.max(1) as f64 * PARTS) as u64);
            bar.set_position(((state.finished as f64 + running) * PARTS) as u64);
            bar.set_message(format!("{} of {needed} runs", state.finished));
        } else if !self.quiet && needed > 0 && state.spoke.elapsed() >= PAUSE {
            state.spoke = Instant::now();
            eprintln!("bentpipe {}: {} of {needed} runs", self.name, state.finished);
        }
    }

    fn say(&self, line: &str) {
        let print = || eprintln!("bentpipe: {line}");
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Nothing is shown any more.
    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

//! Progress of an experiment's runs.

use bentpipe_lab::{Event, Job};
use bentpipe_terminal::progress::Progress;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The progress of an experiment.
pub(crate) struct RunProgress {
    progress: Progress,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: BTreeMap<Job, f64>,
    finished: u64,
    needed: u64,
}

impl RunProgress {
    /// Progress of `command` (`bentpipe sim`), of which nothing has been done yet.
    pub(crate) fn new(command: &'static str, quiet: bool) -> RunProgress {
        RunProgress { progress: Progress::new(command, quiet), state: Mutex::default() }
    }

    /// Shows what has happened.
    pub(crate) fn on_event(&self, event: &Event<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Running(job, share) => {
                state.running.insert(*job, *share);
            }
            Event::Finished { job, needed, .. } => {
                state.running.remove(job);
                state.finished += 1;
                state.needed = *needed;
            }
            // Failures are said at the end: which of them count is known then.
            Event::Failed(_) | Event::Ended(_) => {}
            Event::Damaged(damaged) if !self.progress.is_quiet() => {
                self.progress.print(&format!("bentpipe: {damaged}; its run is made again"));
            }
            Event::Damaged(_) => {}
        }
        self.show(&state);
    }

    fn show(&self, state: &State) {
        // Runs that are made ahead may turn out not to be needed.
        let needed = state.needed.max(state.finished);
        if needed == 0 {
            return;
        }
        let running: f64 = state.running.values().sum();
        let share = (state.finished as f64 + running) / needed as f64;
        self.progress.show(share, || format!("{} of {needed} runs", state.finished));
    }

    /// Removes the bar.
    pub(crate) fn end(&self) {
        self.progress.end();
    }
}

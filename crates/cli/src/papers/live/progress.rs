//! Progress of live runs.

use bentpipe_papers::live::{LiveEvent, Load};
use bentpipe_terminal::progress::Progress;
use std::sync::{Mutex, PoisonError};

/// The progress of live runs, many side by side.
pub(super) struct LiveProgress {
    progress: Progress,
    side_by_side: usize,
    state: Mutex<State>,
}

struct State {
    /// All of them.
    runs: usize,
    /// Of runs that are not done, the longest first.
    left: Vec<Load>,
    /// How many processors may be in use.
    room: f64,
}

impl LiveProgress {
    /// Progress of runs of which so many are side by side at most.
    pub(super) fn new(quiet: bool, side_by_side: usize) -> LiveProgress {
        let progress = Progress::without_estimate("bentpipe papers", quiet);
        let state = Mutex::new(State { runs: 0, left: Vec::new(), room: 1.0 });
        LiveProgress { progress, side_by_side, state }
    }

    /// Shows what has happened.
    pub(super) fn on_event(&self, event: LiveEvent<'_>) {
        match event {
            LiveEvent::Begin { runs, room } => self.begin(runs, room),
            LiveEvent::End(run) => self.done(run),
        }
    }

    /// Runs are to be made, the longest first, on so many processors.
    fn begin(&self, runs: &[Load], room: f64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = State { runs: runs.len(), left: runs.to_vec(), room };
        if !runs.is_empty() && !self.progress.is_quiet() {
            let (count, at_once) = (runs.len(), self.side_by_side);
            let left = left(&state, at_once);
            self.progress.print(&format!(
                "bentpipe papers: {count} live runs, at most {at_once} side by side: {left}"
            ));
        }
    }

    /// One like this has ended.
    fn done(&self, run: Load) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = state.left.iter().position(|left| left.seconds == run.seconds) {
            state.left.remove(at);
        }
        let done = state.runs - state.left.len();
        self.progress.show(done as f64 / state.runs.max(1) as f64, || {
            format!("{done} of {} live runs, {}", state.runs, left(&state, self.side_by_side))
        });
    }

    /// Removes the bar.
    pub(super) fn end(&self) {
        self.progress.end();
    }
}

/// How long the runs that are left will take, in words.
fn left(state: &State, side_by_side: usize) -> String {
    let sum = |of: fn(&Load) -> f64| state.left.iter().map(of).sum::<f64>();
    let longest = state.left.first().map_or(0.0, |run| run.seconds);
    let shared = sum(|run| run.seconds) / side_by_side.max(1) as f64;
    let worked = sum(|run| run.seconds * run.processors) / state.room;
    let seconds = longest.max(shared).max(worked);
    if seconds < 90.0 {
        format!("about {seconds:.0} s left")
    } else {
        format!("about {:.0} min left", seconds / 60.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_run_or_what_all_share_decides_when_it_ends() {
        let left = |seconds: &[f64], processors: f64, side_by_side| {
            let runs = seconds.iter().map(|&seconds| Load { seconds, processors }).collect();
            left(&State { runs: 4, left: runs, room: 1.0 }, side_by_side)
        };
        assert_eq!(left(&[60.0, 5.0, 5.0], 0.1, 4), "about 60 s left");
        assert_eq!(left(&[600.0, 600.0, 600.0, 600.0], 0.1, 2), "about 20 min left");
        assert_eq!(left(&[10.0, 10.0, 10.0, 10.0], 0.5, 4), "about 20 s left");
        assert_eq!(left(&[], 0.1, 2), "about 0 s left");
    }
}

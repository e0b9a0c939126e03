//! How far live runs are: a bar on a terminal, a line now and then elsewhere.

use bentpipe_papers::live::{LiveEvent, Load};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two lines where there is no terminal.
const PAUSE: Duration = Duration::from_secs(30);

/// What is shown.
pub(super) struct Progress {
    quiet: bool,
    bar: Option<ProgressBar>,
    state: Mutex<State>,
}

struct State {
    done: usize,
    /// Of runs that are not done, the longest first.
    left: Vec<Load>,
    side_by_side: usize,
    /// How many processors may be in use.
    room: f64,
    spoke: Instant,
}

impl Progress {
    pub(super) fn new(quiet: bool) -> Progress {
        let bar = (!quiet && stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {elapsed}: {msg}");
            ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        let (done, left, spoke) = (0, Vec::new(), Instant::now());
        let state = State { done, left, side_by_side: 1, room: 1.0, spoke };
        Progress { quiet, bar, state: Mutex::new(state) }
    }

    /// Shows it. So many runs are side by side at most.
    pub(super) fn heed(&self, event: LiveEvent<'_>, side_by_side: usize) {
        match event {
            LiveEvent::Begin { runs, room } => self.begin(runs, side_by_side, room),
            LiveEvent::End(run) => self.done(run),
        }
    }

    /// Runs are to be made, the longest first, so many side by side at most, on so many processors.
    fn begin(&self, runs: &[Load], side_by_side: usize, room: f64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.left = runs.to_vec();
        state.side_by_side = side_by_side;
        state.room = room;
        let text = left(&state);
        if let Some(bar) = &self.bar {
            bar.set_length(runs.len() as u64);
            bar.set_message(text.clone());
            bar.enable_steady_tick(Duration::from_secs(1));
        }
        // Before they begin, on a terminal too.
        if !self.quiet && !runs.is_empty() {
            eprintln!(
                "bentpipe papers: {} live runs, at most {side_by_side} side by side: {text}",
                runs.len()
            );
        }
    }

    /// One like this has ended.
    fn done(&self, run: Load) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.done += 1;
        if let Some(at) = state.left.iter().position(|left| left.seconds == run.seconds) {
            state.left.remove(at);
        }
        let text = left(&state);
        if let Some(bar) = &self.bar {
            bar.inc(1);
            bar.set_message(text);
        } else if !self.quiet && state.spoke.elapsed() >= PAUSE {
            state.spoke = Instant::now();
            let all = state.done + state.left.len();
            eprintln!("bentpipe papers: {} of {all} live runs, {text}", state.done);
        }
    }

    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// How long these will take, in words.
fn left(state: &State) -> String {
    let sum = |of: fn(&Load) -> f64| state.left.iter().map(of).sum::<f64>();
    let longest = state.left.first().map_or(0.0, |run| run.seconds);
    let shared = sum(|run| run.seconds) / state.side_by_side.max(1) as f64;
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
            left(&State { done: 0, left: runs, side_by_side, room: 1.0, spoke: Instant::now() })
        };
        assert_eq!(left(&[60.0, 5.0, 5.0], 0.1, 4), "about 60 s left");
        assert_eq!(left(&[600.0, 600.0, 600.0, 600.0], 0.1, 2), "about 20 min left");
        assert_eq!(left(&[10.0, 10.0, 10.0, 10.0], 0.5, 4), "about 20 s left");
        assert_eq!(left(&[], 0.1, 2), "about 0 s left");
    }
}

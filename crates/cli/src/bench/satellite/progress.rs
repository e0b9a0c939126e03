//! Progress of the benchmark's runs.

use bentpipe_terminal::progress::Progress;

/// The progress of the cases.
pub(super) struct CaseProgress {
    progress: Progress,
    runs: u64,
}

impl CaseProgress {
    /// Progress of so many runs.
    pub(super) fn new(quiet: bool, runs: u64) -> CaseProgress {
        CaseProgress { progress: Progress::new("bentpipe bench satellite", quiet), runs }
    }

    /// Shows how many runs have been made, the last one of `case`.
    pub(super) fn show(&self, made: u64, case: &str) {
        let share = made as f64 / self.runs.max(1) as f64;
        self.progress.show(share, || format!("{made} of {} runs, now {case}", self.runs));
    }

    /// Removes the bar.
    pub(super) fn end(&self) {
        self.progress.end();
    }
}

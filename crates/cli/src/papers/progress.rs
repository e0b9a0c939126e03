//! Progress of the figures.

use bentpipe_terminal::progress::Progress;

/// The progress of the figures that are run.
pub(super) struct FigureProgress {
    progress: Progress,
    figures: usize,
    done: usize,
}

impl FigureProgress {
    /// Progress of so many figures.
    pub(super) fn new(figures: usize, quiet: bool) -> FigureProgress {
        FigureProgress { progress: Progress::new("bentpipe papers", quiet), figures, done: 0 }
    }

    /// Shows that a figure begins.
    pub(super) fn begin(&self, figure: &str) {
        let (done, figures) = (self.done, self.figures);
        let share = done as f64 / figures.max(1) as f64;
        self.progress.show(share, || format!("{done} of {figures} figures, now {figure}"));
    }

    /// Counts a figure that is done.
    pub(super) fn done(&mut self) {
        self.done += 1;
    }

    /// Removes the bar.
    pub(super) fn end(&self) {
        self.progress.end();
    }
}

//! What is said while figures are run.

use indicatif::{ProgressBar, ProgressStyle};

/// A line with the figure that is run.
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// Of so many figures.
    pub(super) fn new(figures: usize, quiet: bool) -> Progress {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(figures as u64) };
        let style = ProgressStyle::with_template("{pos}/{len} figures, {elapsed}: {msg}");
        Progress(bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())))
    }

    pub(super) fn begin(&self, figure: &str) {
        self.0.set_message(figure.to_owned());
        self.0.tick();
    }

    pub(super) fn done(&self) {
        self.0.inc(1);
    }

    pub(super) fn end(&self) {
        self.0.finish_and_clear();
    }
}

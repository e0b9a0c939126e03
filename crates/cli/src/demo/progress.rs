//! Progress of the demo's measurements.

use bentpipe_bench::demo;
use bentpipe_terminal::progress::Progress;

/// The progress of the demo: one line that is renewed on a terminal, one for each step elsewhere.
pub(super) struct DemoProgress {
    progress: Progress,
    total: usize,
    current: usize,
    what: String,
}

impl DemoProgress {
    /// Progress of so many downloads.
    pub(super) fn new(total: usize, quiet: bool) -> DemoProgress {
        let progress = Progress::without_estimate("bentpipe demo", quiet);
        DemoProgress { progress, total, current: 0, what: String::new() }
    }

    fn line(&self) -> String {
        format!("[{}/{}] {}", self.current, self.total, self.what)
    }

    /// Of the measurements that are done.
    fn share(&self) -> f64 {
        self.current.saturating_sub(1) as f64 / self.total.max(1) as f64
    }
}

impl demo::Progress for DemoProgress {
    fn begin(&mut self, what: &str) {
        self.current += 1;
        self.note(what);
    }

    fn update(&mut self, what: &str) {
        what.clone_into(&mut self.what);
        self.progress.show(self.share(), || self.line());
    }

    fn note(&mut self, what: &str) {
        what.clone_into(&mut self.what);
        self.progress.step(self.share(), || self.line());
    }

    fn left_out(&self, what: &str, why: &str) {
        self.progress.print(&format!("bentpipe demo: {what} is left out: {why}"));
    }
}

//! What the demo is measuring.

use bentpipe_bench::demo::Progress;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::Instant;

/// What is being measured now: one line that is renewed on a terminal, one line each elsewhere.
#[derive(Debug)]
pub(super) struct DemoProgress {
    began: Instant,
    total: usize,
    current: usize,
    what: String,
    terminal: bool,
}

impl DemoProgress {
    pub(super) fn new(total: usize) -> DemoProgress {
        let terminal = io::stderr().is_terminal();
        DemoProgress { began: Instant::now(), total, current: 0, what: String::new(), terminal }
    }

    fn line(&self) -> String {
        let elapsed = self.began.elapsed().as_secs();
        format!("[{}/{}] {} ({elapsed} s)", self.current, self.total, self.what)
    }
}

impl Progress for DemoProgress {
    fn begin(&mut self, what: &str) {
        self.current += 1;
        self.note(what);
    }

    /// Only a terminal shows it.
    fn update(&mut self, what: &str) {
        what.clone_into(&mut self.what);
        self.show();
    }

    fn note(&mut self, what: &str) {
        what.clone_into(&mut self.what);
        if self.terminal {
            self.show();
        } else {
            eprintln!("{}", self.line());
        }
    }

    fn show(&self) {
        if self.terminal {
            eprint!("\r\x1b[2K{}", self.line());
            let _ = io::stderr().flush();
        }
    }

    fn clear(&self) {
        if self.terminal {
            eprint!("\r\x1b[2K");
        }
    }

    fn left_out(&self, what: &str, why: &str) {
        eprintln!("bentpipe demo: {what} is left out: {why}");
    }
}

//! Progress of a command: a bar on a terminal, a line now and then elsewhere.
//!
//! indicatif, because it knows terminals, draws no more often than is of use, and keeps lines that
//! are printed meanwhile out of the bar.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The shortest time between two lines where there is no terminal.
const PAUSE: Duration = Duration::from_secs(10);

/// Lines in a log of a command that runs long: one in a twentieth of the time so far.
const LINES: u32 = 20;

/// Steps of the bar.
const STEPS: f64 = 1e6;

/// The progress of one command, on standard error. Dropping it removes the bar.
pub struct Progress {
    /// As its user calls it: `bentpipe sim`.
    command: &'static str,
    quiet: bool,
    /// On a terminal.
    bar: Option<ProgressBar>,
    began: Instant,
    spoke: Mutex<Instant>,
}

impl Progress {
    /// Progress of `command` (`bentpipe sim`), of which nothing is shown if it is to be quiet.
    pub fn new(command: &'static str, quiet: bool) -> Progress {
        Progress::with_template(command, quiet, "{bar:40} {msg} {elapsed} (left: {eta})")
    }

    /// The same without an estimate of the rest, for callers with a better one.
    pub fn without_estimate(command: &'static str, quiet: bool) -> Progress {
        Progress::with_template(command, quiet, "{bar:40} {msg} {elapsed}")
    }

    fn with_template(command: &'static str, quiet: bool, template: &str) -> Progress {
        let bar = (!quiet && stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template(template);
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar = ProgressBar::new(STEPS as u64).with_style(style);
            bar.enable_steady_tick(Duration::from_secs(1));
            bar
        });
        let now = Instant::now();
        Progress { command, quiet, bar, began: now, spoke: Mutex::new(now) }
    }

    /// Shows how much is done, from 0 to 1, and in words. The words are not made where nothing is
    /// shown.
    pub fn show(&self, done: f64, words: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_position((done.clamp(0.0, 1.0) * STEPS) as u64);
            bar.set_message(words());
        } else if !self.quiet {
            let mut spoke = self.spoke.lock().unwrap_or_else(PoisonError::into_inner);
            if spoke.elapsed() >= PAUSE.max(self.began.elapsed() / LINES) {
                *spoke = Instant::now();
                eprintln!("{}: {}", self.command, words());
            }
        }
    }

    /// Shows the beginning or the end of a step.
    ///
    /// Elsewhere than on a terminal it is a line at once.
    pub fn step(&self, done: f64, words: impl FnOnce() -> String) {
        if self.bar.is_some() {
            self.show(done, words);
        } else if !self.quiet {
            eprintln!("{}: {}", self.command, words());
        }
    }

    /// Prints a line or several, which the bar does not overwrite. `quiet` does not hide them.
    pub fn print(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{text}")),
            None => eprintln!("{text}"),
        }
    }

    /// True if nothing is to be said but what matters.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Removes the bar.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

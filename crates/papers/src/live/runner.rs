//! Real hosts, as figures need them: declared here, and brought by the program that runs figures,
//! as the simulator is.

use bentpipe_results::{RunError, RunResults};
use bentpipe_scenario::{Experiment, Point};
use std::any::Any;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Makes runs on real hosts, several at a time.
pub trait LiveRunner: Sync {
    /// A point of an experiment, laid out on real hosts.
    type Point: Sync;

    /// Lays out all points of an experiment, which messages call `file`.
    ///
    /// # Errors
    /// What of it real hosts cannot be, as a sentence.
    fn points(
        &self,
        experiment: &Experiment,
        file: &str,
        programs: Option<Programs>,
    ) -> Result<Vec<Self::Point>, String>;

    /// The point of the experiment that was laid out.
    fn point<'p>(&self, laid_out: &'p Self::Point) -> &'p Point;

    /// All that a run of it comes from, its number apart.
    fn canonical(&self, laid_out: &Self::Point) -> String;

    /// The TCP settings of hosts, as the kernel has them: a line that begins with `scenario` for
    /// each of their settings.
    fn kernel_settings(&self, scenario: &str, points: &[Self::Point]) -> Vec<String>;

    /// Makes a run. No two at a time have the same `worker`.
    ///
    /// # Errors
    /// [`RunError`]: it failed, or `stop` became true.
    fn run(
        &self,
        request: &LiveRequest<'_, Self::Point>,
        worker: usize,
        stop: &AtomicBool,
    ) -> Result<LiveRun, RunError>;
}

/// Real programs in the place of our own requests and replies: nginx, and a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Programs {
    /// One that fetches as Netscape did.
    Netscape,
    /// Today's. It opens connections ahead of their use.
    Chromium,
}

impl Programs {
    /// Those of this name in a figure's file.
    pub(super) fn named(name: &str) -> Option<Programs> {
        match name {
            "netscape" => Some(Programs::Netscape),
            "chromium" => Some(Programs::Chromium),
            _ => None,
        }
    }
}

/// A run that is asked for.
#[derive(Debug)]
pub struct LiveRequest<'a, P> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// What messages call it.
    pub file: &'a str,
    /// The point.
    pub point: &'a P,
    /// The run's number.
    pub run: u32,
    /// The link whose packets are recorded, if there is one.
    pub record: Option<usize>,
}

/// What a run has given.
pub struct LiveRun {
    /// Its rows; what real hosts do not count is absent.
    pub results: RunResults,
    /// The share of packets that were released more than 1 ms late, of the worst link.
    pub late: f64,
    /// What 99 % of its packets were not later than, in milliseconds.
    pub late_p99_ms: f64,
    /// The share of the processors' time that was in use, by any process.
    pub busy: f64,
    /// The capture of the link that was recorded.
    pub capture: Option<PathBuf>,
    /// What the gateways have said, each line behind `; ` and the gateway's name.
    pub said: String,
    /// The hosts: `capture` is gone when this is dropped.
    pub hosts: Box<dyn Any>,
}

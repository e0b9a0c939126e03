//! The papers' real hosts: each run on a testbed of its own.

use bentpipe_papers::live::{LiveRequest, LiveRun, LiveRunner, Programs};
use bentpipe_results::RunError;
use bentpipe_scenario::{Experiment, Point};
use bentpipe_testbed::flows::Browser;
use bentpipe_testbed::network::{Request, Stacks};
use bentpipe_testbed::plan::{self, ForeignPrograms, LivePoint};
use bentpipe_testbed::{ephemeral, kernel_settings};
use std::env;
use std::sync::atomic::AtomicBool;

/// What testbeds are [named](ephemeral::name) after.
const NAMED_AFTER: &str = "papers";

/// Testbeds of this process.
pub(super) struct Testbeds;

/// Takes down those of commands that were killed.
pub(super) fn remove_leftovers() {
    ephemeral::remove_leftovers(NAMED_AFTER);
}

impl LiveRunner for Testbeds {
    type Point = LivePoint;

    fn points(
        &self,
        experiment: &Experiment,
        file: &str,
        programs: Option<Programs>,
    ) -> Result<Vec<LivePoint>, String> {
        let browser = programs.map(|programs| match programs {
            Programs::Netscape => Browser::Netscape,
            Programs::Chromium => Browser::Chromium,
        });
        let foreign = ForeignPrograms { browser, proxies: &[] };
        let points = plan::points(experiment, file, "papers", Stacks::AsAsked, foreign);
        points.map_err(|error| error.to_string())
    }

    fn point<'p>(&self, laid_out: &'p LivePoint) -> &'p Point {
        &laid_out.point
    }

    fn canonical(&self, laid_out: &LivePoint) -> String {
        laid_out.canonical()
    }

    fn kernel_settings(&self, scenario: &str, points: &[LivePoint]) -> Vec<String> {
        kernel_settings::lines(scenario, points)
    }

    fn run(
        &self,
        request: &LiveRequest<'_, LivePoint>,
        worker: usize,
        stop: &AtomicBool,
    ) -> Result<LiveRun, RunError> {
        let &LiveRequest { experiment, file, point, run, record } = request;
        let name = ephemeral::name(NAMED_AFTER, worker);
        let binary = env::current_exe().map_err(|error| RunError::Failed(error.to_string()))?;
        let request = Request {
            name: &name,
            file,
            experiment,
            stacks: Stacks::AsAsked,
            proxies: &[],
            binary: &binary,
            realtime: true,
        };
        let made = ephemeral::run(&request, point, run, record, stop)?;
        Ok(LiveRun {
            results: made.run.results,
            late: made.run.late,
            late_p99_ms: made.run.late_p99_ms,
            busy: made.run.busy,
            capture: made.capture,
            said: made.said,
            hosts: Box::new(made.testbed),
        })
    }
}

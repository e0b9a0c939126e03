//! The demo: downloads over a geostationary link with and without the gateways, on real hosts or in
//! virtual time. Its scenarios are in `bench/demo.toml`.

pub mod chart;
mod download;
mod files;
pub mod lossy;
mod progress;
pub mod report;

use crate::BenchError;
use crate::files::Files;
use crate::player::World;
use crate::satellite::case::{Case, Column};
use crate::satellite::family::{self, Reading, spaced};
use crate::satellite::measure::LINK;
use bentpipe_core::link::QueueKind;
use bentpipe_core::time::Instant;
use bentpipe_links::DirectionSpec;
use bentpipe_scenario::Scenario;
use report::Report;
use std::sync::atomic::AtomicBool;

pub use progress::Progress;

/// Its scenarios.
const FILE: &str = "demo.toml";
/// CUBIC with losses takes minutes, which nobody wants to wait for: what is not complete after this
/// is stopped.
const PATIENCE: &str = "60s";

/// The demo.
#[derive(Debug)]
pub struct Demo {
    world: World,
    gateways: bool,
    /// One for each size.
    files: Vec<Case>,
    /// The largest, with losses.
    lossy: Case,
}

impl Demo {
    /// The demo in `world`, with gateways or without.
    ///
    /// # Errors
    /// Its file is wrong.
    pub fn new(world: World, gateways: bool) -> Result<Demo, BenchError> {
        let patience = match &world {
            World::Live { .. } => Some(PATIENCE),
            World::Simulated => None,
        };
        let wrong = |why: String| BenchError::File { file: FILE.to_owned(), why };
        let text = Files::BuiltIn.text(FILE).map_err(wrong)?;
        let reading = Reading { patience, long: false };
        let cases = family::read(&text, FILE, &Files::BuiltIn, reading)?;
        // The files come by two ways, the one with losses by four.
        let two = |case: &Case| !case.columns.contains_key(&Column::Estimated);
        let (files, mut lossy): (Vec<Case>, Vec<Case>) = cases.into_iter().partition(two);
        let lossy = lossy.pop().ok_or_else(|| wrong("there is no case with losses".to_owned()))?;
        Ok(Demo { world, gateways, files, lossy })
    }

    /// Steps of progress.
    pub fn steps(&self) -> usize {
        let columns = if self.gateways { 2 } else { 1 };
        columns * self.files.len() + 1
    }

    /// The satellite link in words: its rate, delay and queue.
    pub fn link(&self) -> String {
        let point = self.lossy.point(Column::EndToEnd);
        point.map_or_else(String::new, |point| describe(&point.scenario))
    }

    /// Makes all downloads, or stops at `stop`.
    ///
    /// # Errors
    /// A download failed, or a byte of it was wrong. [`BenchError::Stopped`].
    pub fn run(
        &self,
        stop: &AtomicBool,
        progress: &mut dyn Progress,
    ) -> Result<Report, BenchError> {
        self.world.remove_leftovers();
        let rows = files::all(self, stop, progress)?;
        let lossy = lossy::all(self, stop, progress)?;
        Ok(Report { rows, lossy })
    }
}

/// The satellite link of a scenario in words: `8 Mbit/s, 250 ms each way, queue 500 KB`.
fn describe(scenario: &Scenario) -> String {
    let Some(link) = scenario.links.iter().find(|link| link.name == LINK) else {
        return String::new();
    };
    let DirectionSpec { rate, delay, queue, .. } = &link.forward;
    let rate = rate.as_ref().map_or_else(String::new, |rate| rate.at(Instant::ZERO).to_string());
    let queue = match queue {
        QueueKind::DropTail(limit) => limit.to_string(),
        other => other.to_string(),
    };
    let (rate, queue) = (spaced(&rate), spaced(&queue));
    format!("{rate}, {} ms each way, queue {queue}", delay.at(Instant::ZERO).as_millis())
}

#[cfg(test)]
mod tests {
    use super::lossy::Variant;
    use super::*;
    use std::sync::atomic::AtomicBool;

    struct Silent;

    impl Progress for Silent {
        fn begin(&mut self, _: &str) {}
        fn update(&mut self, _: &str) {}
        fn note(&mut self, _: &str) {}
        fn left_out(&self, _: &str, _: &str) {}
    }

    #[test]
    fn gateways_are_near_the_limit_never_slower_and_fast_where_cubic_takes_minutes() {
        let demo = Demo::new(World::Simulated, true).unwrap();
        assert_eq!(demo.link(), "8 Mbit/s, 250 ms each way, queue 500 KB");
        assert_eq!(demo.steps(), 9);
        let Report { rows, lossy } = demo.run(&AtomicBool::new(false), &mut Silent).unwrap();
        assert_eq!(
            rows.iter().map(|row| row.bytes).collect::<Vec<_>>(),
            [10_000, 100_000, 1_000_000, 10_000_000]
        );
        for row in &rows {
            let gateways = row.gateways_s.unwrap();
            assert!(row.hashes_match);
            assert!(gateways >= row.limit_s * 0.99 && gateways < row.limit_s * 1.1, "{row:?}");
            assert!(gateways <= row.end_to_end_s * 1.05, "{row:?}");
        }
        let seconds = |variant| {
            let mut all = lossy.transfers.iter();
            all.find(|transfer| transfer.variant == variant).unwrap().seconds.unwrap()
        };
        assert!(seconds(Variant::Known) < 1.1 * lossy.limit_s, "{lossy:?}");
        assert!(seconds(Variant::Estimated) < seconds(Variant::EndToEndBbr) * 1.1, "{lossy:?}");
        assert!(seconds(Variant::EndToEnd) > 60.0, "{lossy:?}");
    }
}

//! One run, from its point to the store.

use crate::packet_files::PacketFiles;
use crate::panics::caught;
use crate::runner::Runner;
use crate::series_file::SeriesFile;
use crate::store::{Key, RunRecord, Store};
use bentpipe_results::{RunError, Sinks};
use bentpipe_scenario::Point;
use std::io;

/// What has become of a run.
pub enum Attempt {
    /// It is in the store.
    Made(RunRecord),
    /// It could not be completed: why, in one line.
    Failed(String),
    /// Nobody wants it any more.
    GivenUp,
}

/// Makes run `run` of `point` by `runner` and stores it, with its series and captures if there are
/// to be any. `go_on` is as in [`Runner::run`].
///
/// # Errors
/// It cannot be stored.
pub fn make(
    runner: &dyn Runner,
    store: &Store,
    point: &Point,
    run: u32,
    go_on: &mut dyn FnMut(f64) -> bool,
) -> io::Result<Attempt> {
    let (scenario, key) = (&point.scenario, Key::of(&point.canonical, run));
    let wanted = scenario.record.has_captures();
    let packets = wanted.then(|| PacketFiles::begin(store.folder(), scenario)).transpose()?;
    let wanted = scenario.record.has_series();
    let series = wanted.then(|| SeriesFile::begin(store.folder())).transpose()?;
    let sinks = Sinks {
        packets: packets.as_ref().and_then(PacketFiles::packet_sink),
        events: packets.as_ref().and_then(PacketFiles::event_sink),
        series: series.as_ref().map(SeriesFile::sink),
    };
    let results = match caught(|| runner.run(scenario, u64::from(run), sinks, go_on)) {
        Ok(Ok(results)) => results,
        Ok(Err(RunError::Cancelled)) => return Ok(Attempt::GivenUp),
        Ok(Err(error)) => return Ok(Attempt::Failed(error.to_string())),
        Err(panic) => return Ok(Attempt::Failed(panic)),
    };
    // These come first: a record in the store says that they are there.
    let series = series.map(|series| series.finish(&store.series(key))).transpose()?;
    let packets = packets.map(|packets| packets.finish(&store.packets(key))).transpose()?;
    let record = RunRecord { packets, series, ..RunRecord::new(&results) };
    store.save(key, &record)?;
    Ok(Attempt::Made(record))
}

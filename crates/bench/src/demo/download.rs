//! One download: a run of a case's column.

use crate::BenchError;
use crate::player::{self, Played, Player};
use crate::satellite::case::{Case, Column};
use bentpipe_results::RunError;
use std::sync::atomic::{AtomicBool, Ordering};

/// What came. Both worlds compare every byte with the one that was sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Download {
    /// From the SYN to the last byte; None if it was stopped.
    pub(super) seconds: Option<f64>,
    /// After how long it would have been.
    pub(super) patience_s: f64,
    pub(super) received: u64,
}

/// Makes it. `hears` is given the bytes that have come, where they are known.
pub(super) fn download(
    player: &mut dyn Player,
    case: &Case,
    column: Column,
    stop: &AtomicBool,
    hears: &mut dyn FnMut(u64),
) -> Result<Download, BenchError> {
    let point = case.columns.get(&column).copied();
    let point = point.ok_or_else(|| BenchError::Run(format!("{}: no such column", case.name)))?;
    let patience_s = case.experiment.point(point).scenario.run.duration.as_secs_f64();
    let mut go_on = |progress: player::Progress| {
        progress.delivered.into_iter().for_each(&mut *hears);
        !stop.load(Ordering::Relaxed)
    };
    match player.play(&case.experiment, point, 0, stop, &mut go_on) {
        Ok(Played { results, .. }) => {
            let transfer = results.transfers.first().map(|row| row.transfer);
            let took = transfer.and_then(|it| Some(it.completed?.saturating_since(it.started)));
            Ok(Download {
                seconds: took.map(|took| took.as_secs_f64()),
                patience_s,
                received: results.flows.iter().map(|flow| flow.counts.delivered).sum(),
            })
        }
        Err(RunError::Cancelled) => Err(BenchError::Stopped),
        Err(error) => Err(BenchError::Run(format!("{}: {error}", case.name))),
    }
}

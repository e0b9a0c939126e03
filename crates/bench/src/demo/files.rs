//! The files without losses, one after the other: end to end first, then through the gateways.

use super::download::{Download, download};
use super::report::Row;
use super::{Demo, Progress};
use crate::BenchError;
use crate::satellite::case::{Case, Column};
use crate::satellite::limit::Limit;
use std::sync::atomic::AtomicBool;

/// All of them.
pub(super) fn all(
    demo: &Demo,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<Vec<Row>, BenchError> {
    let mut player = demo.world.player(0);
    let mut column = |column: Column, path: &str| -> Result<Vec<Download>, BenchError> {
        let one = |case: &Case| {
            progress.begin(&format!("{} {path}", case.name));
            let found = download(&mut *player, case, column, stop, &mut |_| ())?;
            match found.seconds {
                Some(_) => Ok(found),
                None => Err(BenchError::Run(format!(
                    "download of {} {path}: still not complete after {} s",
                    case.name, found.patience_s
                ))),
            }
        };
        demo.files.iter().map(one).collect()
    };
    let direct = column(Column::EndToEnd, "end to end")?;
    let through = match demo.gateways {
        true => Some(column(Column::Known, "through the gateways")?),
        false => None,
    };
    let rows = demo.files.iter().zip(direct).enumerate().map(|(index, (case, direct))| Row {
        bytes: direct.received,
        end_to_end_s: direct.seconds.unwrap_or(f64::INFINITY),
        gateways_s: through.as_ref().and_then(|column| column[index].seconds),
        limit_s: case.limit.as_ref().map_or(0.0, Limit::seconds),
        hashes_match: true,
    });
    Ok(rows.collect())
}

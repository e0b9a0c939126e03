//! The still figure of chosen connections.

use super::figure::{self, Column, Name};
use super::{Chosen, Opened, direction};
use bentpipe_capture::{Analysis, analyse};
use bentpipe_plot::scene::Scene;

/// Draws these connections side by side, what the end sent that sent most or, in `reverse`, the
/// other one.
#[must_use]
pub fn still(files: &[Opened], chosen: &[Chosen], reverse: bool) -> Scene {
    let analyses: Vec<Analysis> = chosen.iter().map(|one| analyse(one.of(files))).collect();
    let columns = chosen.iter().zip(&analyses).map(|(one, analysis)| {
        let connection = one.of(files);
        let direction = direction(connection, reverse);
        let [from, to] =
            [direction, direction.reverse()].map(|end| connection.ends[end.index()].to_string());
        let label = connection.label().map(|label| format!(" ({label})")).unwrap_or_default();
        let (file, number) = (files[one.file].name.clone(), connection.number);
        let name = Name { file, connection: format!("#{number}{label}: {from} → {to}") };
        Column { name, connection, analysis, direction }
    });
    figure::scene(&columns.collect::<Vec<_>>())
}

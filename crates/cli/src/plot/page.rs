//! The page of chosen connections.

use super::capture::{Opened, direction};
use super::choice::Chosen;
use bentpipe_capture::page::{self, Graph};

/// The page as text.
pub(super) fn write(files: &[Opened], chosen: &[Chosen], reverse: bool) -> String {
    let graphs = chosen.iter().map(|one| {
        let connection = one.of(files);
        let direction = direction(connection, reverse);
        Graph { file: files[one.file].name(), connection, direction }
    });
    let names: Vec<String> = files.iter().map(Opened::name).collect();
    page::write(&names.join(", "), &graphs.collect::<Vec<_>>())
}

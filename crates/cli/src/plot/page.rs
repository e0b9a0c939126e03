//! The page of chosen connections.

use super::capture::{Error, Opened, Options, direction};
use super::choice::Chosen;
use super::series;
use bentpipe_capture::page::{self, Graph};

/// The page as text.
pub(super) fn write(
    files: &[Opened],
    chosen: &[Chosen],
    options: &Options,
) -> Result<String, Error> {
    let runs =
        files.iter().map(|file| series::of_run(&file.path)).collect::<Result<Vec<_>, _>>()?;
    let graphs = chosen.iter().map(|one| {
        let file = &files[one.file];
        let connection = one.of(files);
        let direction = direction(connection, options.reverse);
        let series = series::of_connection(&runs[one.file], &file.capture, connection);
        Graph { file: file.name.clone(), connection, direction, series }
    });
    let names: Vec<String> = files.iter().map(|file| file.name.clone()).collect();
    let title = names.join(", ");
    Ok(page::write(&title, &graphs.collect::<Vec<_>>(), options.side_by_side))
}

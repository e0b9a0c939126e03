//! The page of chosen connections.

use super::choice::page_takes;
use super::{CaptureError, Chosen, Opened, direction, series};
use bentpipe_capture::page::{Graph, write};

/// How a page begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageView {
    /// With what the end sent that sent less.
    pub reverse: bool,
    /// With the graphs side by side, instead of all in one.
    pub side_by_side: bool,
}

/// Writes the page of these connections, if it has room for them, as text.
///
/// # Errors
/// [`CaptureError::Choice`] for too many, [`CaptureError::Series`] if what their run has recorded
/// cannot be read.
pub fn page(files: &[Opened], chosen: &[Chosen], view: PageView) -> Result<String, CaptureError> {
    page_takes(files, chosen)?;
    let runs = files.iter().map(series::beside).collect::<Result<Vec<_>, _>>()?;
    let graphs = chosen.iter().map(|one| {
        let file = &files[one.file];
        let connection = one.of(files);
        let direction = direction(connection, view.reverse);
        let series = runs[one.file].series(file, connection);
        Graph { file: file.name.clone(), connection, direction, series }
    });
    let names: Vec<String> = files.iter().map(|file| file.name.clone()).collect();
    let title = names.join(", ");
    Ok(write(&title, &graphs.collect::<Vec<_>>(), view.side_by_side))
}

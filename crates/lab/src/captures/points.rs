//! The segments and series of chosen connections as CSV.

use super::{CaptureError, Chosen, Opened, series};
use bentpipe_capture::{analyse, csv};
use std::io::Write;

/// Writes them, under one line of names.
///
/// # Errors
/// [`CaptureError::Io`] of `out`, [`CaptureError::Series`] if what their run has recorded cannot be
/// read.
pub fn write(
    files: &[Opened],
    chosen: &[Chosen],
    out: &mut impl Write,
) -> Result<(), CaptureError> {
    let runs = files.iter().map(series::beside).collect::<Result<Vec<_>, _>>()?;
    csv::write_header(out)?;
    for one in chosen {
        let (file, connection) = (&files[one.file], one.of(files));
        let series = runs[one.file].series(file, connection);
        csv::write(&file.name, connection, &analyse(connection), &series, out)?;
    }
    Ok(())
}

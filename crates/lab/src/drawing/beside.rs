//! What a run has recorded over time, for graphs of its captures.

use super::DrawError;
use super::table::{TableReader, number};
use std::collections::BTreeMap;
use std::path::Path;

/// Time and value, in the quantity's base unit.
pub(crate) type Samples = Vec<(f64, f64)>;

/// The series of run `run` of point `point` in a folder of results, by element and quantity; none
/// if nothing was recorded.
///
/// # Errors
/// [`DrawError::Read`] if the table cannot be read.
pub(crate) fn recorded(
    folder: &Path,
    point: u64,
    run: u64,
) -> Result<BTreeMap<(String, String), Samples>, DrawError> {
    let mut all: BTreeMap<(String, String), Samples> = BTreeMap::new();
    let Some(mut reader) = TableReader::open(folder, "series")? else { return Ok(all) };
    let columns = ["point", "run", "time_s", "element", "quantity", "value"];
    let Some(columns) =
        columns.map(|name| reader.column(name)).into_iter().collect::<Option<Vec<_>>>()
    else {
        return Ok(all);
    };
    reader.rows(|row| {
        let cell = |column: usize| row.get(columns[column]).unwrap_or_default();
        if cell(0).parse() != Ok(point) || cell(1).parse() != Ok(run) {
            return;
        }
        if let (Some(time), Some(value)) = (number(cell(2)), number(cell(5))) {
            let key = (cell(3).to_owned(), cell(4).to_owned());
            all.entry(key).or_default().push((time, value));
        }
    })?;
    Ok(all)
}

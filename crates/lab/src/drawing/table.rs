//! Tables of results as they stand in their files.

use super::DrawError;
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

/// A table's file that is read row by row.
pub(super) struct TableReader {
    path: String,
    names: Vec<String>,
    reader: csv::Reader<File>,
}

impl TableReader {
    /// The table `name` in `folder`; `None` if it has no rows, and so no file.
    pub(super) fn open(folder: &Path, name: &str) -> Result<Option<TableReader>, DrawError> {
        let file = folder.join(format!("{name}.csv"));
        let path = file.display().to_string();
        let failed = |why: String| DrawError::Read { path: path.clone(), why };
        let file = match File::open(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file.map_err(|error| failed(error.to_string()))?,
        };
        let mut reader = csv::Reader::from_reader(file);
        let names = reader.headers().map_err(|error| failed(error.to_string()))?;
        let names = names.iter().map(str::to_owned).collect();
        Ok(Some(TableReader { path, names, reader }))
    }

    /// Where the column is.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// Calls `each` with every row, until it returns an error.
    pub(super) fn rows(
        &mut self,
        mut each: impl FnMut(&csv::StringRecord),
    ) -> Result<(), DrawError> {
        let mut row = csv::StringRecord::new();
        loop {
            match self.reader.read_record(&mut row) {
                Ok(true) => each(&row),
                Ok(false) => return Ok(()),
                Err(error) => {
                    return Err(DrawError::Read {
                        path: self.path.clone(),
                        why: error.to_string(),
                    });
                }
            }
        }
    }
}

/// A cell's number.
pub(super) fn number(cell: &str) -> Option<f64> {
    cell.parse().ok().filter(|number: &f64| number.is_finite())
}

//! A table as two files, CSV and Parquet, that appear whole or not at all.

use crate::cell::{Cell, Heading, Row};
use crate::executed::LabError;
use crate::parquet_file::ParquetFile;
use std::fs;
use std::io::{self, BufWriter, ErrorKind};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The two files of a table that is being written.
pub(crate) struct TableFile {
    csv: csv::Writer<BufWriter<NamedTempFile>>,
    parquet: ParquetFile<NamedTempFile>,
    /// Without its ending.
    path: PathBuf,
    rows: u64,
}

impl TableFile {
    /// The files `name.csv` and `name.parquet` in `folder`.
    pub(crate) fn create(
        folder: &Path,
        name: &str,
        headings: &[Heading],
    ) -> Result<TableFile, LabError> {
        let path = folder.join(name);
        let failed = |source| write_error(&path, source);
        let csv_file = new_file(folder).map_err(failed)?;
        let parquet_file = new_file(folder).map_err(failed)?;
        let mut csv = csv::Writer::from_writer(BufWriter::new(csv_file));
        let heads = headings.iter().map(|heading| heading.name.as_str());
        csv.write_record(heads).map_err(|error| write_error(&path, error.into()))?;
        let parquet = ParquetFile::new(parquet_file, headings, folder)
            .map_err(|error| parquet_error(&path, error))?;
        Ok(TableFile { csv, parquet, path, rows: 0 })
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, row: Row) -> Result<(), LabError> {
        self.rows += 1;
        let cells = row.iter().map(Cell::text);
        self.csv.write_record(cells).map_err(|error| write_error(&self.path, error.into()))?;
        self.parquet.push(row).map_err(|error| parquet_error(&self.path, error))
    }

    /// Puts the files in their places. A table without rows has none.
    pub(crate) fn finish(self) -> Result<u64, LabError> {
        let (csv, parquet) = (self.path.with_extension("csv"), self.path.with_extension("parquet"));
        if self.rows == 0 {
            for path in [&csv, &parquet] {
                remove(path).map_err(|source| write_error(path, source))?;
            }
            return Ok(0);
        }
        let file = self.csv.into_inner().map_err(csv::IntoInnerError::into_error);
        let file =
            file.and_then(|buffer| buffer.into_inner().map_err(io::IntoInnerError::into_error));
        file.and_then(|file| put(file, &csv)).map_err(|source| write_error(&csv, source))?;
        let file = self.parquet.finish().map_err(|error| parquet_error(&self.path, error))?;
        put(file, &parquet).map_err(|source| write_error(&parquet, source))?;
        Ok(self.rows)
    }
}

/// Writes a text file, whole or not at all.
pub(crate) fn write_text(path: &Path, text: &str) -> Result<(), LabError> {
    write_bytes(path, text.as_bytes())
}

/// Writes a file, whole or not at all.
pub(crate) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), LabError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let write = || {
        fs::create_dir_all(folder)?;
        let mut file = new_file(folder)?;
        io::Write::write_all(&mut file, bytes)?;
        put(file, path)
    };
    write().map_err(|source| write_error(path, source))
}

fn new_file(folder: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(".new-").permissions(readable()).tempfile_in(folder)
}

/// As other programs' files are, less the umask: results are for others, too.
#[cfg(unix)]
fn readable() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}

fn put(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.persist(path).map(drop).map_err(|error| error.error)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

pub(crate) fn write_error(path: &Path, source: io::Error) -> LabError {
    LabError::Write { path: path.display().to_string(), source }
}

fn parquet_error(path: &Path, source: parquet::errors::ParquetError) -> LabError {
    LabError::Parquet { path: path.with_extension("parquet").display().to_string(), source }
}

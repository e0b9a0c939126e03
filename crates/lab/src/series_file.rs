//! A run's time series on disk: written row by row while the run goes on, and read so again. No
//! more than a row of them is in memory.
//!
//! A row is its length in four bytes, the least first, and its cells as postcard has them.

use crate::cell::{self, Row};
use crate::tables::SERIES;
use bentpipe_results::{Sample, SeriesSink};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::Path;
use std::rc::Rc;
use tempfile::NamedTempFile;

/// What a run's record knows of its series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SeriesMark {
    /// How long the file is, in bytes.
    length: u64,
    digest: [u8; 32],
}

/// Series in the making. What was not finished is removed.
#[derive(Debug)]
pub(crate) struct SeriesFile(Rc<RefCell<Rows>>);

#[derive(Debug)]
struct Rows {
    file: Option<BufWriter<NamedTempFile>>,
    digest: Sha256,
    length: u64,
    /// What has gone wrong first.
    error: Option<io::Error>,
}

impl SeriesFile {
    /// Begins them beside their place.
    pub(crate) fn begin(beside: &Path) -> io::Result<SeriesFile> {
        let file = tempfile::Builder::new().prefix(".new-").tempfile_in(beside)?;
        let file = Some(BufWriter::new(file));
        let rows = Rows { file, digest: Sha256::new(), length: 0, error: None };
        Ok(SeriesFile(Rc::new(RefCell::new(rows))))
    }

    /// Where a run's samples go.
    pub(crate) fn sink(&self) -> Box<dyn SeriesSink> {
        Box::new(Sink(Rc::clone(&self.0)))
    }

    /// Puts them at `path`.
    pub(crate) fn finish(self, path: &Path) -> io::Result<SeriesMark> {
        let mut rows = self.0.borrow_mut();
        if let Some(error) = rows.error.take() {
            return Err(error);
        }
        if let Some(file) = rows.file.take() {
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.persist(path).map_err(|error| error.error)?;
        }
        let digest = std::mem::take(&mut rows.digest).finalize().into();
        Ok(SeriesMark { length: rows.length, digest })
    }
}

#[derive(Debug)]
struct Sink(Rc<RefCell<Rows>>);

impl SeriesSink for Sink {
    fn sample(&mut self, sample: &Sample) {
        let rows = &mut *self.0.borrow_mut();
        if rows.error.is_none() {
            rows.error = rows.push(&cell::row(SERIES, sample)).err();
        }
    }
}

impl Rows {
    fn push(&mut self, row: &Row) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let cells = postcard::to_stdvec(row).map_err(io::Error::other)?;
        let length = u32::try_from(cells.len()).map_err(io::Error::other)?.to_le_bytes();
        for part in [&length[..], &cells] {
            self.digest.update(part);
            file.write_all(part)?;
            self.length += part.len() as u64;
        }
        Ok(())
    }
}

impl SeriesMark {
    /// Whether the file at `path` is the one that was written; `None` if there is none.
    pub(crate) fn is_of(self, path: &Path) -> io::Result<Option<bool>> {
        let mut file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        if file.metadata()?.len() != self.length {
            return Ok(Some(false));
        }
        let mut digest = Sha256::new();
        let mut part = vec![0; 1 << 16];
        loop {
            match file.read(&mut part)? {
                0 => break,
                length => digest.update(&part[..length]),
            }
        }
        Ok(Some(self.digest == *digest.finalize().as_slice()))
    }
}

/// The rows of the file at `path`.
pub(crate) fn read(path: &Path) -> io::Result<impl Iterator<Item = io::Result<Row>>> {
    let mut file = BufReader::new(File::open(path)?);
    Ok(std::iter::from_fn(move || next(&mut file).transpose()))
}

fn next(file: &mut impl Read) -> io::Result<Option<Row>> {
    let mut length = [0; 4];
    if file.read(&mut length[..1])? == 0 {
        return Ok(None);
    }
    file.read_exact(&mut length[1..])?;
    let mut cells = Vec::new();
    let length = u64::from(u32::from_le_bytes(length));
    if file.take(length).read_to_end(&mut cells)? as u64 != length {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    postcard::from_bytes(&cells).map(Some).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::time::Instant;

    #[test]
    fn rows_come_back_as_they_went_and_nothing_else_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.series");
        let file = SeriesFile::begin(folder.path()).unwrap();
        let mut sink = file.sink();
        let sample = |number: u64| Sample {
            at: Instant::from_millis(number),
            element: "main".into(),
            quantity: "cwnd",
            value: number as f64 / 3.0,
        };
        (0..1000).for_each(|number| sink.sample(&sample(number)));
        let mark = file.finish(&path).unwrap();
        let rows: Vec<Row> = read(&path).unwrap().collect::<io::Result<_>>().unwrap();
        let expected: Vec<Row> =
            (0..1000).map(|number| cell::row(SERIES, &sample(number))).collect();
        assert_eq!(rows, expected);
        assert_eq!(mark.is_of(&path).unwrap(), Some(true));
        let mut content = std::fs::read(&path).unwrap();
        assert_eq!(content.len() as u64, mark.length);
        content[500] ^= 1;
        std::fs::write(&path, &content).unwrap();
        assert_eq!(mark.is_of(&path).unwrap(), Some(false));
        content.truncate(501);
        std::fs::write(&path, &content).unwrap();
        assert_eq!(mark.is_of(&path).unwrap(), Some(false));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(mark.is_of(&path).unwrap(), None);
        // What was begun and not finished leaves nothing.
        SeriesFile::begin(folder.path()).unwrap().sink().sample(&sample(1));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

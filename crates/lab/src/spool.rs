//! Values that wait in a file until all of them are there, so that memory does not grow with their
//! number.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use tempfile::SpooledTempFile;

/// So many bytes stay in memory; what is longer goes to the disk.
const IN_MEMORY: usize = 1 << 16;

/// A file without a name, which is gone with its owner.
#[derive(Debug)]
pub(crate) struct Spool {
    file: SpooledTempFile,
    end: u64,
}

/// A value in a spool: its first byte and its length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpoolEntry {
    begin: u64,
    length: usize,
}

impl Spool {
    /// In the folder `beside`, as the system's folder for such files may be in memory.
    pub(crate) fn new(beside: &Path) -> Spool {
        Spool { file: tempfile::spooled_tempfile_in(IN_MEMORY, beside), end: 0 }
    }

    /// Adds a value.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn push(&mut self, value: &(impl Serialize + ?Sized)) -> io::Result<SpoolEntry> {
        let bytes = postcard::to_stdvec(value).map_err(io::Error::other)?;
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(&bytes)?;
        let entry = SpoolEntry { begin: self.end, length: bytes.len() };
        self.end += bytes.len() as u64;
        Ok(entry)
    }

    /// The value at `entry`.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn read<T: DeserializeOwned>(&mut self, entry: SpoolEntry) -> io::Result<T> {
        let mut bytes = vec![0; entry.length];
        self.file.seek(SeekFrom::Start(entry.begin))?;
        self.file.read_exact(&mut bytes)?;
        postcard::from_bytes(&bytes).map_err(io::Error::other)
    }

    /// Begins again: no entry is valid any more.
    pub(crate) fn clear(&mut self) {
        self.end = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Cell;

    #[test]
    fn values_come_back_from_memory_and_from_the_disk_and_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::new(folder.path());
        let value = |number: u64| vec![Cell::Count(number), Cell::Text(format!("é{number}"))];
        for round in 0..2 {
            // The first time it goes to the disk halfway, the second time it is there.
            let numbers = (0..20_000).map(|number| number * 3 + round);
            let entries: Vec<SpoolEntry> =
                numbers.map(|n| spool.push(&value(n)).unwrap()).collect();
            assert!(spool.file.is_rolled());
            for at in [19_999, 0, 1, 7_000] {
                let read: Vec<Cell> = spool.read(entries[at]).unwrap();
                assert_eq!(read, value(at as u64 * 3 + round));
            }
            spool.clear();
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

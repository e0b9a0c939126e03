//! Finished runs from one store to another: by files, or as bytes between processes.

use crate::packet_files;
use crate::store::{Damaged, Key, RunRecord, Store};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

/// The files of a finished run, with the paths that they have in a store.
pub type Shipment = Vec<(String, Vec<u8>)>;

/// Why a shipment is not taken.
#[derive(Debug, thiserror::Error)]
pub enum ShipmentError {
    /// A file that does not belong to the run.
    #[error("`{0}` is no file of this run")]
    Stray(String),
    /// It cannot be written or read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// What came is not a whole run of this key.
    #[error("the run did not arrive whole")]
    Incomplete,
    /// What came is not what was sent.
    #[error(transparent)]
    Damaged(#[from] Damaged),
}

impl Store {
    /// The files of the run of this key, of which all but the captures fit into memory many times.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn pack(&self, key: Key) -> io::Result<Shipment> {
        let mut files = Vec::new();
        for path in [self.series(key), self.record(key)] {
            match fs::read(&path) {
                Ok(content) => files.push((self.relative(&path), content)),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        match fs::read_dir(self.packets(key)) {
            Ok(entries) => {
                for entry in entries {
                    let path = entry?.path();
                    files.push((self.relative(&path), fs::read(&path)?));
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        files.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(files)
    }

    /// Stores the run of this key from its files.
    ///
    /// # Errors
    /// [`ShipmentError`]; then the store has no such run.
    pub fn unpack(
        &self,
        key: Key,
        files: &[(String, Vec<u8>)],
    ) -> Result<RunRecord, ShipmentError> {
        let beside = tempfile::Builder::new().prefix(".new-").tempdir_in(self.folder())?;
        let sent = Store::open(beside.path())?;
        let (record, series, packets) = (sent.record(key), sent.series(key), sent.packets(key));
        for (name, content) in files {
            let path = beside.path().join(name);
            let plain =
                Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
            let capture = path.parent() == Some(&packets);
            if !plain || !(capture || path == record || path == series) {
                return Err(ShipmentError::Stray(name.clone()));
            }
            if capture {
                fs::create_dir_all(&packets)?;
            }
            fs::write(path, content)?;
        }
        self.adopt(&sent, key)?.ok_or(ShipmentError::Incomplete)
    }

    /// Takes the run of this key from another store, if it is there.
    ///
    /// # Errors
    /// It is damaged there, or cannot be written here.
    pub fn adopt(&self, other: &Store, key: Key) -> Result<Option<RunRecord>, ShipmentError> {
        let Some(record) = other.load(key)? else { return Ok(None) };
        if record.series.is_some() {
            link(&other.series(key), &self.series(key))?;
        }
        if record.packets.is_some() {
            packet_files::link(&other.packets(key), &self.packets(key))?;
        }
        // It says that the others are there, and comes last.
        link(&other.record(key), &self.record(key))?;
        Ok(Some(record))
    }

    fn relative(&self, path: &Path) -> String {
        path.strip_prefix(self.folder()).unwrap_or(path).to_string_lossy().into_owned()
    }
}

/// Gives a file a second place, where another may be: it appears whole or not at all.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    let mut beside: PathBuf = to.to_owned();
    beside.as_mut_os_string().push(".new");
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    if fs::hard_link(from, &beside).is_err() {
        fs::copy(from, &beside)?;
    }
    fs::rename(beside, to)
}

//! Runs that were made, on disk, so that a second call goes on where the first one was stopped.

use super::Conditions;
use bentpipe_lab::{Key, RunRecord, Store};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A folder of them.
pub struct StoredRuns {
    store: Store,
    kernel: String,
}

impl StoredRuns {
    /// In `folder`, of runs on the kernel of this name.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open(folder: &Path, kernel: &str) -> io::Result<StoredRuns> {
        Ok(StoredRuns { store: Store::open(folder)?, kernel: kernel.to_owned() })
    }

    /// Of run `run` of the point with this canonical text, if it was made.
    pub(super) fn load(&self, canonical: &str, run: u32) -> Option<(RunRecord, Conditions)> {
        let key = self.key(canonical, run);
        let text = fs::read_to_string(self.conditions(key)).ok()?;
        let conditions = serde_json::from_str(&text).ok()?;
        // What is damaged is made again.
        let record = self.store.load(key).ok()??;
        Some((record, conditions))
    }

    /// Stores one: the record last, as it is what counts.
    pub(super) fn save(
        &self,
        canonical: &str,
        run: u32,
        record: &RunRecord,
        conditions: &Conditions,
    ) -> io::Result<()> {
        let key = self.key(canonical, run);
        fs::write(self.conditions(key), serde_json::json!(conditions).to_string())?;
        self.store.save(key, record)
    }

    fn key(&self, canonical: &str, run: u32) -> Key {
        Key::of_measurement(&format!("# {}\n{canonical}", self.kernel), run)
    }

    fn conditions(&self, key: Key) -> PathBuf {
        self.store.folder().join(key.name() + ".conditions.json")
    }
}

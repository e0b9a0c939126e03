//! A mark of the tables in a folder: which runs they are of.
//!
//! Tables of many runs take longer to write than the runs to look up. So they are left as they are
//! if no run has come to them, and nobody has touched them since.

use crate::executed::{Executed, LabError};
use crate::store::version;
use crate::table_file::write_text;
use bentpipe_scenario::Experiment;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What a mark says.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mark {
    /// The digest of what the files were made of.
    of: String,
    /// The files, and their lengths in bytes.
    files: BTreeMap<String, u64>,
}

/// Where it is, in a folder of results.
fn place(folder: &Path) -> PathBuf {
    folder.join("runs").join("tables.json")
}

/// The digest of what files are made of: the program, the scenario, and the runs that count.
/// `kind` is what else they depend on.
pub(crate) fn digest(experiment: &Experiment, executed: &Executed, kind: &str) -> String {
    let Executed { ends, failures, stopped, made: _, found: _, run } = executed;
    let mut digest = Sha256::new();
    let mut add = |text: &str| {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text.as_bytes());
    };
    add(&version());
    add(kind);
    add(experiment.source());
    for (name, content) in experiment.files() {
        add(name);
        add(content);
    }
    add(&format!("{ends:?} {stopped} {run:?}"));
    for failure in failures {
        add(&format!("{failure:?}"));
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Removes it: what is written from now on is not whole yet.
pub(crate) fn remove(folder: &Path) {
    let _ = fs::remove_file(place(folder));
}

/// Writes it, unless the runs are elsewhere. `files` are those that have been written, within
/// `folder`.
///
/// # Errors
/// It cannot be written.
pub(crate) fn put(folder: &Path, of: String, files: Vec<String>) -> Result<(), LabError> {
    if !folder.join("runs").is_dir() {
        return Ok(());
    }
    let length = |name: String| {
        let length = fs::metadata(folder.join(&name)).ok()?.len();
        Some((name, length))
    };
    let mark = Mark { of, files: files.into_iter().filter_map(length).collect() };
    let text = serde_json::to_string(&mark).unwrap_or_default();
    write_text(&place(folder), &format!("{text}\n"))
}

/// Whether the files in `folder` are made of what has this digest, and nobody has touched them
/// since.
pub(crate) fn is_of(folder: &Path, of: &str) -> bool {
    let place = place(folder);
    let read = || -> Option<(Mark, SystemTime)> {
        let mark = serde_json::from_str(&fs::read_to_string(&place).ok()?).ok()?;
        Some((mark, fs::metadata(&place).ok()?.modified().ok()?))
    };
    let Some((mark, since)) = read() else { return false };
    let untouched = |(name, length): (&String, &u64)| {
        fs::metadata(folder.join(name)).is_ok_and(|found| {
            found.len() == *length && found.modified().is_ok_and(|at| at <= since)
        })
    };
    mark.of == of && mark.files.iter().all(untouched)
}

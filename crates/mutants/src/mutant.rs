//! Mutants as they are written down: a file each in `tests/mutants`.

use serde::Deserialize;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A deliberate defect.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mutant {
    /// Its file's, without `.toml`.
    #[serde(skip)]
    pub(crate) name: String,
    /// What is wrong, in a sentence: for those who read the file.
    #[serde(rename = "defect")]
    _defect: String,
    /// What makes it so.
    #[serde(rename = "change")]
    pub(crate) changes: Vec<Change>,
}

/// What is put in another's place.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// A path from the tree's top.
    pub(crate) file: String,
    /// A path within the file, such as `Release::reset`.
    pub(crate) function: String,
    /// What is there once.
    pub(crate) old: String,
    /// What is there instead.
    pub(crate) new: String,
}

/// Why mutants cannot be read.
#[derive(Debug, Error)]
pub(crate) enum MutantError {
    /// The file or its folder is not there, for one.
    #[error("{}: {}", .0.display(), .1)]
    Unreadable(PathBuf, #[source] io::Error),
    /// It is no TOML, or has other keys.
    #[error("{}: {}", .0.display(), .1.message())]
    Malformed(PathBuf, #[source] toml::de::Error),
}

/// All those in `folder`, by name.
///
/// # Errors
/// One is not as it should be.
pub(crate) fn read_all(folder: &Path) -> Result<Vec<Mutant>, MutantError> {
    let unreadable = |error| MutantError::Unreadable(folder.to_owned(), error);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        paths.push(entry.map_err(unreadable)?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Result<Mutant, MutantError> {
    let text = fs::read_to_string(path)
        .map_err(|error| MutantError::Unreadable(path.to_owned(), error))?;
    let mut mutant: Mutant =
        toml::from_str(&text).map_err(|error| MutantError::Malformed(path.to_owned(), error))?;
    mutant.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(mutant)
}

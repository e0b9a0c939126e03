//! Mutants as they are written down: a file each in `tests/mutants`.

use serde::Deserialize;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;
use toml_edit::DocumentMut;

/// Where they are, from the tree's top.
pub(crate) const FOLDER: &str = "tests/mutants";

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
    /// The test that found it last, as [`Suite::finding`](crate::suite::Suite::finding) names it.
    /// It runs first.
    pub(crate) finder: Option<String>,
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

impl Mutant {
    /// Names `finder` in its file, in `folder`.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub(crate) fn keep(&self, folder: &Path, finder: &str) -> io::Result<()> {
        let path = folder.join(format!("{}.toml", self.name));
        let mut text: DocumentMut = fs::read_to_string(&path)?.parse().map_err(io::Error::other)?;
        text["finder"] = toml_edit::value(finder);
        fs::write(path, text.to_string())
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_file_is_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let (defect, change) = (
            "# Why.\ndefect = \"It is late.\"\n",
            "\n[[change]]\nfile = \"a/src/b.rs\"\nfunction = \"late\"\nold = 'x'\nnew = ''\n",
        );
        let path = folder.path().join("late.toml");
        fs::write(&path, format!("{defect}{change}")).unwrap();
        for finder in ["seed 4711: whole", "a::tests::it_is_in_time"] {
            let mutant = &read_all(folder.path()).unwrap()[0];
            mutant.keep(folder.path(), finder).unwrap();
            let kept = format!("{defect}finder = \"{finder}\"\n{change}");
            assert_eq!(fs::read_to_string(&path).unwrap(), kept);
            assert_eq!(read(&path).unwrap().finder.as_deref(), Some(finder));
        }
    }
}

//! An artifact: the raw data of figures' runs with checksums, from which pages are derived again.
//!
//! Its folder has `papers/` (claims, live rows, other values) and `runs/` (what the figures' runs
//! have given), and `pages/`, which were derived from these. `SHA256SUMS` is for `sha256sum
//! --check`.

use crate::catalogue::Files;
use bentpipe_results::{RunError, RunResults, Sinks};
use bentpipe_scenario::Scenario;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The file of checksums.
const SUMS: &str = "SHA256SUMS";
/// The file that says where an artifact comes from.
const ORIGIN: &str = "artifact.json";
/// The folder of runs.
pub const RUNS: &str = "runs";
/// The folder of pages.
pub const PAGES: &str = "pages";
/// The folder of the catalogue.
pub const PAPERS: &str = "papers";
/// The outcomes of tests.
pub const TESTS: &str = "tests.json";

/// The origin of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The version of the program that made the runs: its number, its records', its sources'.
    pub version: String,
    /// The commit and its day.
    pub commit: Option<String>,
    /// The compiler that was at hand.
    pub compiler: Option<String>,
    /// The figures' ids, in the pages' order.
    pub figures: Vec<String>,
}

/// Why an artifact cannot be written or used.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// A file of it.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A file is not what was written.
    #[error("{0} is not as SHA256SUMS says")]
    Changed(String),
    /// A file is not listed.
    #[error("{0} is not in SHA256SUMS")]
    Unlisted(String),
    /// A file is gone.
    #[error("{0} is in SHA256SUMS and is gone")]
    Gone(String),
    /// It is of another program.
    #[error(
        "the artifact's runs are of bentpipe {theirs}, and this is {ours}: build its commit, {commit}"
    )]
    Version {
        /// The artifact's.
        theirs: String,
        /// This program's.
        ours: String,
        /// The artifact's commit.
        commit: String,
    },
    /// It does not say where it comes from.
    #[error("{ORIGIN}: {0}")]
    Origin(#[from] serde_json::Error),
}

fn failed(path: &Path) -> impl Fn(io::Error) -> ArtifactError {
    move |source| ArtifactError::Io { path: path.display().to_string(), source }
}

/// An artifact's folder.
#[derive(Debug, Clone)]
pub struct Artifact {
    folder: PathBuf,
    /// The origin.
    pub origin: Origin,
}

impl Artifact {
    /// Begins an artifact in `folder`, with the catalogue and the files of runs.
    ///
    /// # Errors
    /// [`ArtifactError`]; the folder is not empty.
    pub fn begin(
        folder: &Path,
        origin: Origin,
        files: &Files,
        runs: &BTreeSet<PathBuf>,
    ) -> Result<Artifact, ArtifactError> {
        if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
            let source = io::Error::other("there is something in it");
            return Err(failed(folder)(source));
        }
        let artifact = Artifact { folder: folder.to_owned(), origin };
        for path in files.paths() {
            if let Ok(text) = files.text(path) {
                artifact.write(&format!("{PAPERS}/{path}"), text)?;
            }
        }
        for (path, bytes) in files.compressed() {
            artifact.write(&format!("{PAPERS}/{path}"), bytes)?;
        }
        for run in runs {
            let name = run.file_name().unwrap_or_default();
            copy(run, &artifact.folder.join(RUNS).join(name))?;
        }
        let origin = serde_json::to_string_pretty(&artifact.origin)?;
        artifact.write(ORIGIN, origin + "\n")?;
        Ok(artifact)
    }

    /// Writes a file into it.
    ///
    /// # Errors
    /// [`ArtifactError`].
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> Result<(), ArtifactError> {
        let path = self.folder.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed(folder))?;
        }
        fs::write(&path, bytes).map_err(failed(&path))
    }

    /// Writes the checksums of all that is in it.
    ///
    /// # Errors
    /// [`ArtifactError`].
    pub fn seal(&self) -> Result<(), ArtifactError> {
        let mut sums = String::new();
        for name in names(&self.folder)? {
            let digest = digest(&self.folder.join(&name))?;
            sums.push_str(&format!("{digest}  {name}\n"));
        }
        self.write(SUMS, sums)
    }

    /// Opens the artifact in `folder`, whose files are all as they were written.
    ///
    /// # Errors
    /// [`ArtifactError`]: a file was changed, added or removed; or another program made the runs.
    pub fn open(folder: &Path) -> Result<Artifact, ArtifactError> {
        let sums = folder.join(SUMS);
        let text = fs::read_to_string(&sums).map_err(failed(&sums))?;
        let listed = text.lines().filter_map(|line| line.split_once("  "));
        let mut listed: BTreeMap<&str, &str> = listed.map(|(sum, name)| (name, sum)).collect();
        for name in names(folder)? {
            let Some(sum) = listed.remove(name.as_str()) else {
                return Err(ArtifactError::Unlisted(name));
            };
            if digest(&folder.join(&name))? != sum {
                return Err(ArtifactError::Changed(name));
            }
        }
        if let Some(name) = listed.into_keys().next() {
            return Err(ArtifactError::Gone(name.to_owned()));
        }
        let path = folder.join(ORIGIN);
        let text = fs::read_to_string(&path).map_err(failed(&path))?;
        let origin: Origin = serde_json::from_str(&text)?;
        let ours = bentpipe_lab::version();
        if origin.version != ours {
            let commit = origin.commit.unwrap_or_else(|| "which is not known".to_owned());
            return Err(ArtifactError::Version { theirs: origin.version, ours, commit });
        }
        Ok(Artifact { folder: folder.to_owned(), origin })
    }

    /// A file or folder in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Compares the pages and pictures in `folder` with the artifact's.
    ///
    /// A file that one of both has alone differs.
    ///
    /// # Errors
    /// [`ArtifactError`].
    pub fn differing(&self, folder: &Path) -> Result<Differing, ArtifactError> {
        let ours = self.path(PAGES);
        let all: BTreeSet<String> = names(&ours)?.into_iter().chain(names(folder)?).collect();
        let same = |name: &String| {
            let read = |folder: &Path| fs::read(folder.join(name)).ok();
            read(&ours) == read(folder)
        };
        let (same, differing): (Vec<String>, Vec<String>) = all.into_iter().partition(same);
        Ok(Differing { same: same.len(), names: differing })
    }
}

/// A comparison of two folders of pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differing {
    /// So many files are the same.
    pub same: usize,
    /// The others.
    pub names: Vec<String>,
}

/// The runner of an artifact: it makes no runs.
///
/// # Errors
/// [`RunError`], always.
pub fn no_run(
    _: &Scenario,
    _: u64,
    _: Sinks,
    _: &mut dyn FnMut(f64) -> bool,
) -> Result<RunResults, RunError> {
    Err(RunError::Failed("it is not in the artifact".to_owned()))
}

/// The files in a folder and below, but for the checksums, by their names from it on; in order.
fn names(folder: &Path) -> Result<Vec<String>, ArtifactError> {
    fn collect(root: &Path, inner: &str, found: &mut Vec<String>) -> Result<(), ArtifactError> {
        let folder = root.join(inner);
        for entry in fs::read_dir(&folder).map_err(failed(&folder))? {
            let entry = entry.map_err(failed(&folder))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let name = if inner.is_empty() { name } else { format!("{inner}/{name}") };
            if entry.path().is_dir() {
                collect(root, &name, found)?;
            } else if name != SUMS {
                found.push(name);
            }
        }
        Ok(())
    }
    let mut found = Vec::new();
    collect(folder, "", &mut found)?;
    found.sort_unstable();
    Ok(found)
}

fn digest(path: &Path) -> Result<String, ArtifactError> {
    let (mut digest, mut part) = (Sha256::new(), vec![0; 1 << 16]);
    let mut file = File::open(path).map_err(failed(path))?;
    loop {
        match file.read(&mut part).map_err(failed(path))? {
            0 => break,
            length => digest.update(&part[..length]),
        }
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Copies a file, or a folder of files.
fn copy(from: &Path, to: &Path) -> Result<(), ArtifactError> {
    if from.is_dir() {
        for entry in fs::read_dir(from).map_err(failed(from))? {
            let entry = entry.map_err(failed(from))?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(failed(folder))?;
    }
    fs::copy(from, to).map_err(failed(from)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(folder: &Path, version: &str) -> Artifact {
        let run = folder.join("made/00ff.run");
        fs::create_dir_all(run.parent().unwrap()).unwrap();
        fs::write(&run, "rows").unwrap();
        let origin = Origin {
            version: version.to_owned(),
            commit: Some("0123 of 2026-11-28".to_owned()),
            compiler: None,
            figures: vec!["bbn/fig-2".to_owned()],
        };
        let runs = BTreeSet::from([run]);
        let artifact =
            Artifact::begin(&folder.join("all"), origin, &Files::built_in(), &runs).unwrap();
        artifact.write("pages/README.md", "# one").unwrap();
        artifact.seal().unwrap();
        artifact
    }

    #[test]
    fn what_was_sealed_can_be_opened() {
        let folder = tempfile::tempdir().unwrap();
        let written = artifact(folder.path(), &bentpipe_lab::version());
        let opened = Artifact::open(&folder.path().join("all")).unwrap();
        assert_eq!(opened.origin, written.origin);
        assert_eq!(fs::read(opened.path("runs/00ff.run")).unwrap(), b"rows");
        let files = Files::of_folder(&opened.path(PAPERS)).unwrap();
        assert!(files.paths().eq(Files::built_in().paths()));
        // Nothing is written over.
        let again = Artifact::begin(
            &folder.path().join("all"),
            written.origin,
            &Files::built_in(),
            &BTreeSet::new(),
        );
        assert!(again.is_err());
    }

    #[test]
    fn whatever_was_changed_added_or_removed_is_named() {
        let folder = tempfile::tempdir().unwrap();
        artifact(folder.path(), &bentpipe_lab::version());
        let all = folder.path().join("all");
        let why = || Artifact::open(&all).unwrap_err().to_string();
        fs::write(all.join("runs/00ff.run"), "rowz").unwrap();
        assert_eq!(why(), "runs/00ff.run is not as SHA256SUMS says");
        fs::remove_file(all.join("runs/00ff.run")).unwrap();
        assert_eq!(why(), "runs/00ff.run is in SHA256SUMS and is gone");
        fs::write(all.join("runs/00ff.run"), "rows").unwrap();
        fs::write(all.join("more"), "").unwrap();
        assert_eq!(why(), "more is not in SHA256SUMS");
    }

    #[test]
    fn runs_of_another_program_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        artifact(folder.path(), "0.0.0/1/0000");
        let why = Artifact::open(&folder.path().join("all")).unwrap_err().to_string();
        assert!(why.contains("0.0.0/1/0000") && why.contains("0123 of 2026-11-28"), "{why}");
    }

    #[test]
    fn pages_are_compared_in_both_directions() {
        let folder = tempfile::tempdir().unwrap();
        let artifact = artifact(folder.path(), &bentpipe_lab::version());
        let pages = folder.path().join("pages");
        fs::create_dir(&pages).unwrap();
        fs::write(pages.join("README.md"), "# one").unwrap();
        let same = Differing { same: 1, names: Vec::new() };
        assert_eq!(artifact.differing(&pages).unwrap(), same);
        fs::write(pages.join("README.md"), "# two").unwrap();
        fs::write(pages.join("more.svg"), "").unwrap();
        let names = vec!["README.md".to_owned(), "more.svg".to_owned()];
        assert_eq!(artifact.differing(&pages).unwrap(), Differing { same: 0, names });
    }
}

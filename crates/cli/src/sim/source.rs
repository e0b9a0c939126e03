//! Where a scenario's text comes from: a file, or an example in the binary.

use super::{Error, examples};
use bentpipe_scenario::{Change, Experiment, ScenarioError};
use std::fs;
use std::path::{Path, PathBuf};

/// A scenario's text, and where the files lie that it names.
pub(crate) struct Source {
    name: String,
    text: String,
    /// Of an example: none.
    folder: Option<PathBuf>,
}

impl Source {
    /// The file, or else the example, of this name.
    pub(crate) fn find(file: &Path) -> Result<Source, Error> {
        let name = file.display().to_string();
        if !file.exists() {
            let example = examples::find(&name).ok_or_else(|| Error::NoFile(name.clone()))?;
            let (name, text) = (example.file(), example.text.to_owned());
            return Ok(Source { name, text, folder: None });
        }
        let text = fs::read_to_string(file)
            .map_err(|source| Error::Read { path: name.clone(), source })?;
        let folder = Some(file.parent().unwrap_or(Path::new("")).to_owned());
        Ok(Source { name, text, folder })
    }

    /// The file's name, for messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Its last part without its ending.
    pub(crate) fn stem(&self) -> String {
        let stem = Path::new(&self.name).file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    }

    /// What it says, with `changes`.
    pub(crate) fn experiment(&self, changes: &[Change]) -> Result<Experiment, ScenarioError> {
        let read = |path: &str| match &self.folder {
            Some(folder) => {
                fs::read_to_string(folder.join(path)).map_err(|error| error.to_string())
            }
            None => {
                examples::trace(path).ok_or_else(|| "it does not come with bentpipe".to_owned())
            }
        };
        Experiment::parse_changed(&self.name, &self.text, changes, &read)
    }
}

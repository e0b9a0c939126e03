//! Where a scenario's text comes from: a file, or an example in the binary.

use crate::examples;
use bentpipe_config::DocumentError;
use bentpipe_core::tcp::congestion::External;
use bentpipe_scenario::{Change, Experiment};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no such scenario.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Its file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Neither a file nor an example.
    #[error("there is no file {0}, and no example of this name (`bentpipe sim --list` shows them)")]
    NoFile(String),
}

/// A scenario's text, and where the files lie that it names.
#[derive(Debug, Clone)]
pub struct Source {
    name: String,
    text: String,
    /// Of an example: none.
    folder: Option<PathBuf>,
}

impl Source {
    /// The file, or else the example, of this name.
    ///
    /// # Errors
    /// [`SourceError`].
    pub fn find(file: &Path) -> Result<Source, SourceError> {
        let name = file.display().to_string();
        if !file.exists() {
            let example = examples::find(&name).ok_or_else(|| SourceError::NoFile(name.clone()))?;
            let (name, text) = (example.file(), example.text.to_owned());
            return Ok(Source { name, text, folder: None });
        }
        let text = fs::read_to_string(file)
            .map_err(|source| SourceError::Read { path: name.clone(), source })?;
        let folder = Some(file.parent().unwrap_or(Path::new("")).to_owned());
        Ok(Source { name, text, folder })
    }

    /// `text`, which is called `name` in messages. The files that it names lie in `folder`; without
    /// one, they are those of the examples.
    pub fn of_text(name: &str, text: &str, folder: Option<PathBuf>) -> Source {
        Source { name: name.to_owned(), text: text.to_owned(), folder }
    }

    /// The file's name, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its last part without its ending.
    pub fn stem(&self) -> String {
        let stem = Path::new(&self.name).file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    }

    /// What it says, as it stands.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it says, with `changes`.
    ///
    /// # Errors
    /// [`DocumentError`] for the first thing that is wrong.
    pub fn experiment(&self, changes: &[Change]) -> Result<Experiment, DocumentError> {
        self.experiment_with(changes, &[])
    }

    /// The same, with congestion controls that the core does not have.
    ///
    /// # Errors
    /// [`DocumentError`] for the first thing that is wrong.
    pub fn experiment_with(
        &self,
        changes: &[Change],
        controls: &[External],
    ) -> Result<Experiment, DocumentError> {
        let read = |path: &str| match &self.folder {
            Some(folder) => fs::File::open(folder.join(path))
                .map_err(|error| error.to_string())
                .and_then(bentpipe_links::file_text),
            None => {
                examples::trace(path).ok_or_else(|| "it does not come with bentpipe".to_owned())
            }
        };
        Experiment::parse_with(&self.name, &self.text, changes, &read, controls)
    }
}

//! The files in `papers/`: those in the program, or a folder's instead.
//!
//! The rows of real hosts are in the folder alone: the program would be larger by them, and only a
//! whole report needs them.

use super::CatalogueError;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[derive(rust_embed::RustEmbed)]
#[folder = "../../papers"]
#[exclude = "*.live.csv"]
#[exclude = "*.gz"]
struct BuiltIn;

/// Texts and compressed files by their paths, which have `/` between their parts.
#[derive(Debug, Clone)]
pub struct Files {
    texts: BTreeMap<String, String>,
    compressed: BTreeMap<String, Vec<u8>>,
}

impl Files {
    /// What is compiled into the program.
    pub fn built_in() -> Files {
        let text = |path: &str| {
            let file = BuiltIn::get(path).map(|file| file.data.into_owned()).unwrap_or_default();
            String::from_utf8_lossy(&file).into_owned()
        };
        let texts = BuiltIn::iter().map(|path| (path.to_string(), text(&path))).collect();
        Files { texts, compressed: BTreeMap::new() }
    }

    /// What is in `folder` and in the folders in it.
    ///
    /// # Errors
    /// Something cannot be read, or is no text.
    pub fn of_folder(folder: &Path) -> Result<Files, CatalogueError> {
        let mut files = Files { texts: BTreeMap::new(), compressed: BTreeMap::new() };
        for entry in entries(folder)? {
            let name = file_name(&entry);
            if entry.is_dir() {
                for inner in entries(&entry)?.iter().filter(|inner| inner.is_file()) {
                    files.add(format!("{name}/{}", file_name(inner)), inner)?;
                }
            } else {
                files.add(name, &entry)?;
            }
        }
        Ok(files)
    }

    fn add(&mut self, name: String, path: &Path) -> Result<(), CatalogueError> {
        if name.ends_with(".gz") {
            let bytes = fs::read(path).map_err(|error| read_error(path, &error))?;
            self.compressed.insert(name, bytes);
        } else {
            self.texts.insert(name, text(path)?);
        }
        Ok(())
    }

    /// A file's text.
    ///
    /// # Errors
    /// There is no such file.
    pub fn text(&self, path: &str) -> Result<&str, CatalogueError> {
        self.texts.get(path).map(String::as_str).ok_or_else(|| CatalogueError::Read {
            path: path.to_owned(),
            why: "there is no such file".to_owned(),
        })
    }

    /// Whether there is such a file.
    pub fn has(&self, path: &str) -> bool {
        self.texts.contains_key(path)
    }

    /// Whether they have what real hosts gave.
    pub fn has_live_rows(&self) -> bool {
        self.paths().any(|path| path.ends_with(".live.csv"))
    }

    /// The compressed files, by their paths.
    pub fn compressed(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.compressed
    }

    /// The texts' paths, in order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.texts.keys().map(String::as_str)
    }
}

fn entries(folder: &Path) -> Result<Vec<std::path::PathBuf>, CatalogueError> {
    let failed = |error: std::io::Error| read_error(folder, &error);
    let entries = fs::read_dir(folder).map_err(failed)?;
    entries.map(|entry| Ok(entry.map_err(failed)?.path())).collect()
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn text(path: &Path) -> Result<String, CatalogueError> {
    fs::read_to_string(path).map_err(|error| read_error(path, &error))
}

fn read_error(path: &Path, error: &std::io::Error) -> CatalogueError {
    CatalogueError::Read { path: path.display().to_string(), why: error.to_string() }
}

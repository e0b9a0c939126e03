//! The texts in `papers/`: those in the program, or a folder's instead.

use super::CatalogueError;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[derive(rust_embed::RustEmbed)]
#[folder = "../../papers"]
struct BuiltIn;

/// Texts by their paths, which have `/` between their parts.
#[derive(Debug, Clone)]
pub struct Files(BTreeMap<String, String>);

impl Files {
    /// What is compiled into the program.
    pub fn built_in() -> Files {
        let text = |path: &str| {
            let file = BuiltIn::get(path).map(|file| file.data.into_owned()).unwrap_or_default();
            String::from_utf8_lossy(&file).into_owned()
        };
        Files(BuiltIn::iter().map(|path| (path.to_string(), text(&path))).collect())
    }

    /// What is in `folder` and in the folders in it.
    ///
    /// # Errors
    /// Something cannot be read, or is no text.
    pub fn of_folder(folder: &Path) -> Result<Files, CatalogueError> {
        let mut files = BTreeMap::new();
        for entry in entries(folder)? {
            let name = file_name(&entry);
            if entry.is_dir() {
                for inner in entries(&entry)?.iter().filter(|inner| inner.is_file()) {
                    files.insert(format!("{name}/{}", file_name(inner)), text(inner)?);
                }
            } else {
                files.insert(name, text(&entry)?);
            }
        }
        Ok(Files(files))
    }

    /// A file's text.
    ///
    /// # Errors
    /// There is no such file.
    pub fn text(&self, path: &str) -> Result<&str, CatalogueError> {
        self.0.get(path).map(String::as_str).ok_or_else(|| CatalogueError::Read {
            path: path.to_owned(),
            why: "there is no such file".to_owned(),
        })
    }

    /// Whether there is such a file.
    pub fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    /// The paths, in order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
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

//! The files of `bench/`: those in the program, or a folder's on disk.

use std::fs;
use std::path::PathBuf;

#[derive(rust_embed::RustEmbed)]
#[folder = "../../bench"]
struct BuiltIn;

/// Where files are looked up.
#[derive(Debug, Clone)]
pub(crate) enum Files {
    /// In the program.
    BuiltIn,
    /// In a folder; what is not there is the program's.
    Folder(PathBuf),
}

impl Files {
    /// The text of the file at `path`.
    ///
    /// # Errors
    /// The reason, in words.
    pub(crate) fn text(&self, path: &str) -> Result<String, String> {
        if let Files::Folder(folder) = self {
            let file = folder.join(path);
            if file.exists() || BuiltIn::get(path).is_none() {
                let file = fs::File::open(file).map_err(|error| error.to_string())?;
                return bentpipe_links::file_text(file);
            }
        }
        let file = BuiltIn::get(path).ok_or_else(|| "there is no such file".to_owned())?;
        String::from_utf8(file.data.into_owned()).map_err(|error| error.to_string())
    }
}

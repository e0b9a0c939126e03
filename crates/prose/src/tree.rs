//! The files of the tree: sources and documents.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Pages that are written by programs, from declarations and results.
/// `crates/scenario/tests/reference.rs` and `bentpipe papers --docs` write them.
const GENERATED: [&str; 3] = ["docs/papers/", "docs/scenario-format.md", "docs/tcp-parameters.md"];

/// Documents apart from those in `docs`.
const DOCUMENTS: [&str; 7] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "bench/README.md",
    "python/README.md",
];

/// A text of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Its path from the root on, with slashes.
    pub path: String,
    /// Its content.
    pub content: String,
}

impl Text {
    fn read(root: &Path, path: &Path) -> io::Result<Text> {
        let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/");
        Ok(Text { path: name, content: fs::read_to_string(path)? })
    }

    /// True if a program writes it.
    pub fn is_generated(&self) -> bool {
        GENERATED.iter().any(|page| self.path.starts_with(page))
    }

    /// True if it is a source.
    pub fn is_source(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The name under which its exceptions are counted: its crate, or its own path.
    pub fn scope(&self) -> &str {
        let inside = self.path.strip_prefix("crates/").filter(|_| self.is_source());
        inside.and_then(|path| path.split('/').next()).unwrap_or(&self.path)
    }
}

/// Reads all sources of all crates.
///
/// # Errors
/// A file or folder cannot be read.
pub fn sources(root: &Path) -> io::Result<Vec<Text>> {
    below(root, &root.join("crates"), "rs")
}

/// Reads all documents, generated pages included.
///
/// # Errors
/// A file or folder cannot be read.
pub fn documents(root: &Path) -> io::Result<Vec<Text>> {
    let mut all = below(root, &root.join("docs"), "md")?;
    for document in DOCUMENTS {
        all.push(Text::read(root, &root.join(document))?);
    }
    Ok(all)
}

/// Reads the files with this suffix below a folder, in the order of their names.
///
/// A `path` that is no folder is the only file.
///
/// # Errors
/// A file or folder cannot be read.
pub fn below(root: &Path, path: &Path, suffix: &str) -> io::Result<Vec<Text>> {
    let mut paths = Vec::new();
    collect(path, suffix, &mut paths)?;
    paths.sort();
    paths.iter().map(|path| Text::read(root, path)).collect()
}

fn collect(path: &Path, suffix: &str, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        paths.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if !hidden && (path.is_dir() || path.extension().is_some_and(|it| it == suffix)) {
            collect(&path, suffix, paths)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_are_counted_for_crates_and_documents() {
        let text = |path: &str| Text { path: path.to_owned(), content: String::new() };
        assert_eq!(text("crates/core/src/a.rs").scope(), "core");
        assert_eq!(text("docs/design/tcp.md").scope(), "docs/design/tcp.md");
        assert!(text("docs/papers/bbn.md").is_generated() && !text("docs/plot.md").is_generated());
    }
}

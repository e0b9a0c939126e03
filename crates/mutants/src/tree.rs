//! The copy of the tree in which mutants are built.

use crate::woven::Woven;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes `copy` the tree at `root`, but for the files in `woven`. What is the same already keeps
/// its time, by which Cargo knows what to build again.
///
/// # Errors
/// A file cannot be read or written, or git does not say which there are.
pub(crate) fn copy(root: &Path, copy: &Path, woven: &BTreeMap<String, Woven>) -> io::Result<()> {
    fs::create_dir_all(copy)?;
    let mut files = listed(root)?;
    files.extend(woven.keys().cloned());
    for file in &files {
        let content = match woven.get(file) {
            Some(woven) => woven.text.clone().into_bytes(),
            // One that is deleted, but not committed as such.
            None if !root.join(file).exists() => continue,
            None => fs::read(root.join(file))?,
        };
        let to = copy.join(file);
        if fs::read(&to).ok().as_ref() != Some(&content) {
            fs::create_dir_all(to.parent().unwrap_or(copy))?;
            fs::write(to, content)?;
        }
    }
    remove_others(copy, &files.iter().map(|file| copy.join(file)).collect())
}

/// The files that git knows, and those that it would take.
fn listed(root: &Path) -> io::Result<BTreeSet<String>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").args(arguments).current_dir(root).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let names = String::from_utf8_lossy(&output.stdout);
    Ok(names.split_terminator('\0').map(str::to_owned).collect())
}

/// Removes what is not among `files`, and folders that have nothing then: Cargo takes each for a
/// crate.
fn remove_others(folder: &Path, files: &BTreeSet<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(&path, files)?;
            if fs::read_dir(&path)?.next().is_none() {
                fs::remove_dir(&path)?;
            }
        } else if !files.contains(&path) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_leaves_no_folder() {
        let folder = tempfile::tempdir().unwrap();
        let [kept, gone] = ["kept/src/lib.rs", "gone/src/lib.rs"].map(|it| folder.path().join(it));
        for file in [&kept, &gone] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        remove_others(folder.path(), &BTreeSet::from([kept.clone()])).unwrap();
        assert!(kept.exists() && !folder.path().join("gone").exists());
    }
}

//! Folders of somebody else's: results are not written over what is there.

use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::path::Path;

/// Folders that results have, besides their files.
const FOLDERS: [&str; 4] = ["runs", "packets", "figures", "graphs"];
/// By these ends the names of stored runs are known.
const STORED: [&str; 3] = ["run", "series", "packets"];

/// True if results would lie among files that are not ours. Other folders in it do not matter: a
/// point's results lie in one, next to those of the whole.
pub(crate) fn is_occupied(folder: &Path) -> bool {
    let matters = |entry: &DirEntry| {
        let name = entry.file_name();
        let hidden = name.to_string_lossy().starts_with('.');
        let apart = entry.path().is_dir() && !FOLDERS.iter().any(|ours| name == *ours);
        !hidden && !apart
    };
    !is_ours(folder) && entries(folder).iter().any(matters)
}

/// True if results were written there, or runs stored: also where the first was interrupted, or its
/// runs were deleted later.
fn is_ours(folder: &Path) -> bool {
    let runs = folder.join("runs");
    let stored = entries(&runs);
    let summary = ["summary.json", "scenario.toml"].iter().all(|it| folder.join(it).is_file());
    summary || stored.iter().any(is_stored) || runs.is_dir() && stored.is_empty()
}

fn is_stored(entry: &DirEntry) -> bool {
    let path = entry.path();
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    // A file in the making was interrupted.
    entry.file_name().to_string_lossy().starts_with(".new-") || STORED.contains(&ending)
}

/// The entries of a folder; none if it cannot be read.
fn entries(folder: &Path) -> Vec<DirEntry> {
    fs::read_dir(folder).into_iter().flatten().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True if a folder with these files, and folders that end in `/`, is occupied.
    fn occupied(names: &[&str]) -> bool {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if name.ends_with('/') {
                fs::create_dir_all(path).unwrap();
            } else {
                fs::write(path, "").unwrap();
            }
        }
        is_occupied(folder.path())
    }

    #[test]
    fn files_of_others_occupy_a_folder_and_our_own_do_not() {
        for others in [
            &["README.md"][..],
            &["scenario.toml"],
            &["figures/mine.png"],
            &["runs/monday/results.csv"],
            &["index.html", "runs/mine.txt"],
        ] {
            assert!(occupied(others), "{others:?}");
        }
        for ours in [
            &[][..],
            &["runs/"],
            &["runs/.new-x1y2"],
            &["runs/0123.run", "README.md", "figures/mine.png"],
            &["README.md", "scenario.toml", "summary.json"],
            &["point-3/runs/0123.run"],
            &[".gitignore"],
        ] {
            assert!(!occupied(ours), "{ours:?}");
        }
        assert!(!is_occupied(Path::new("there is none")));
    }
}

//! Taking a testbed down, whatever is left of it.

use super::state::{Folder, Held, Known, names};
use super::{NetworkError, daemon, layout};
use crate::netns::{NETNS_DIR, teardown};
use crate::runtime_dir::RuntimeDir;
use nix::sys::signal::Signal;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// How long whoever runs on the testbed may take to stop.
const PATIENCE: Duration = Duration::from_secs(20);

/// Removes the testbed `name`: its processes, its namespaces with all that is in them, its
/// directory. Whoever is at work on it is interrupted first.
///
/// # Errors
/// [`NetworkError::NotUp`] if nothing of it is left, or it cannot be looked for.
pub fn down(name: &str) -> Result<(), NetworkError> {
    if !names()?.contains(name) {
        return Err(NetworkError::NotUp(name.to_owned()));
    }
    let folder = Folder::of(name)?;
    if let Some(owner) = folder.owner() {
        owner.signal(Signal::SIGINT);
    }
    let _held = match Held::take(name, &folder, PATIENCE) {
        Ok(held) => Some(held),
        Err(NetworkError::Busy(_)) => {
            // It does not hear: what it works on goes from under it.
            if let Some(owner) = folder.owner() {
                owner.signal(Signal::SIGKILL);
            }
            None
        }
        Err(error) => return Err(error),
    };
    remove(name, &folder);
    Ok(())
}

/// Removes all that there is of the testbed `name`.
pub(super) fn remove(name: &str, folder: &Folder) {
    if let Ok(state) = folder.state(name) {
        let processes: Vec<Known> = state.daemons.iter().map(|daemon| daemon.process).collect();
        daemon::end(&processes);
    }
    for space in namespaces_of(name) {
        let number = fs::metadata(Path::new(NETNS_DIR).join(&space)).map(|space| space.ino());
        teardown::delete_namespace(&space);
        if let Ok(number) = number {
            remove_files_of(number);
        }
    }
    folder.remove();
}

fn namespaces_of(name: &str) -> Vec<String> {
    let begin = layout::namespaces(name);
    let entries = fs::read_dir(NETNS_DIR).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(&begin)).collect()
}

/// What services that were killed have left in our directory for the network namespace of this number.
fn remove_files_of(number: u64) {
    let Ok(place) = RuntimeDir::find() else { return };
    let begin = format!("{number}-");
    for entry in fs::read_dir(place.path()).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&begin) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

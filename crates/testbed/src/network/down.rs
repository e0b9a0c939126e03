//! Taking a testbed down, whatever is left of it.

use super::state::{Folder, Held, Known, names};
use super::{NetworkError, daemon, layout};
use bentpipe_linux::netns::{NETNS_DIR, teardown};
use bentpipe_linux::runtime_dir::RuntimeDir;
use nix::sys::signal::Signal;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long whoever runs on the testbed may take to stop.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often we look for commands that are still at work, and how long after the last one once
/// more.
const LOOK: Duration = Duration::from_millis(10);
const PAUSE: Duration = Duration::from_millis(50);

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

/// Removes all that there is of the testbed `name`, and what the last commands of an `up` that was
/// killed are still making: they run on without it.
pub(super) fn remove(name: &str, folder: &Folder) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        while is_being_made(name) && Instant::now() < deadline {
            thread::sleep(LOOK);
        }
        remove_once(name, folder);
        thread::sleep(PAUSE);
        let left = is_being_made(name) || !namespaces_of(name).is_empty();
        if !left || Instant::now() > deadline {
            return;
        }
    }
}

/// Whether an `ip` runs that names one of the namespaces.
fn is_being_made(name: &str) -> bool {
    let begin = layout::namespaces(name);
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.into_iter().any(|process| {
        let arguments = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let mut arguments = arguments.split(|byte| *byte == 0);
        let program = arguments.next().unwrap_or_default();
        program.rsplit(|byte| *byte == b'/').next() == Some(b"ip")
            && arguments.any(|argument| argument.starts_with(begin.as_bytes()))
    })
}

fn remove_once(name: &str, folder: &Folder) {
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

/// What services that were killed have left in our directory for the network namespace of this
/// number.
fn remove_files_of(number: u64) {
    let Ok(place) = RuntimeDir::find() else { return };
    let begin = format!("{number}-");
    for entry in fs::read_dir(place.path()).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&begin) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

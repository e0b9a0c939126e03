//! Captures as they are opened: read, complained of, and named.

use super::{CaptureError, Warn};
use bentpipe_capture::{Capture, Damage, ReadError};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A file that was read.
#[derive(Debug)]
pub struct Opened {
    /// Where it is.
    pub path: PathBuf,
    /// What is in it.
    pub capture: Capture,
    /// What to call it in a graph: its name, with those folders before it that tell it from others.
    pub name: String,
}

/// Opens captures, and gives them the shortest names by which they can be told apart.
///
/// # Errors
/// [`CaptureError`] for the first that cannot be read, or has no TCP.
pub fn open(paths: &[PathBuf], warn: Warn<'_>) -> Result<Vec<Opened>, CaptureError> {
    let mut files = paths.iter().map(|path| open_one(path, warn)).collect::<Result<Vec<_>, _>>()?;
    name_all(&mut files);
    Ok(files)
}

/// Opens those captures that have TCP in them.
pub(super) fn open_any(paths: &[PathBuf], warn: Warn<'_>) -> Result<Vec<Opened>, CaptureError> {
    let mut files = Vec::new();
    for path in paths {
        match open_one(path, warn) {
            Ok(opened) => files.push(opened),
            Err(CaptureError::Nothing { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    name_all(&mut files);
    Ok(files)
}

fn open_one(path: &Path, warn: Warn<'_>) -> Result<Opened, CaptureError> {
    let name = path.display().to_string();
    let read = File::open(path).map_err(ReadError::from).and_then(bentpipe_capture::read);
    let capture = read.map_err(|why| CaptureError::Read { path: name.clone(), why })?;
    let packets = capture.counts.packets;
    match capture.damage {
        Some(Damage::Truncated) => {
            warn(&format!("{name} ends in the middle of a packet; the {packets} before are used"));
        }
        Some(Damage::Damaged) => {
            warn(&format!("{name} is damaged; the {packets} packets before that are used"));
        }
        None => {}
    }
    if capture.counts.tcp == 0 {
        let links: Vec<String> = capture.unknown_links.iter().map(i32::to_string).collect();
        let why = if links.is_empty() {
            format!("no TCP in its {packets} packets")
        } else {
            format!(
                "no TCP is found in its {packets} packets: link type {} is not understood",
                links.join(", ")
            )
        };
        return Err(CaptureError::Nothing { path: name, why });
    }
    if capture.lost_events > 0 {
        let lost = capture.lost_events;
        warn(&format!("{name}: {lost} events are missing: its writer was too slow"));
    }
    if capture.counts.fragments > 0 {
        let fragments = capture.counts.fragments;
        warn(&format!("{name}: {fragments} fragments of IP packets are left out"));
    }
    Ok(Opened { path: path.to_owned(), capture, name })
}

/// Gives files the shortest names by which they can be told apart.
fn name_all(files: &mut [Opened]) {
    let short = |path: &Path, parts: usize| {
        let all: Vec<_> =
            path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        all[all.len().saturating_sub(parts)..].join("/")
    };
    let deepest = files.iter().map(|file| file.path.components().count()).max().unwrap_or(1);
    let names = (1..=deepest)
        .map(|parts| files.iter().map(|file| short(&file.path, parts)).collect::<Vec<String>>());
    let mut last = Vec::new();
    for names in names {
        let distinct: BTreeSet<_> = names.iter().collect();
        let alone = distinct.len() == names.len();
        last = names;
        if alone {
            break;
        }
    }
    for (file, name) in files.iter_mut().zip(elided(&last)) {
        file.name = name;
    }
}

/// Leaves out the folders between the first and the file that are the same in all of these names.
fn elided(names: &[String]) -> Vec<String> {
    let parts: Vec<Vec<&str>> = names.iter().map(|name| name.split('/').collect()).collect();
    let same = |at: usize| parts.iter().all(|one| one.get(at) == parts[0].get(at));
    let short = |one: &Vec<&str>| {
        let mut short: Vec<&str> = Vec::new();
        for (at, part) in one.iter().enumerate() {
            let between = at > 0 && at + 1 < one.len() && names.len() > 1;
            match between && same(at) {
                false => short.push(part),
                true if short.last() == Some(&"…") => {}
                true => short.push("…"),
            }
        }
        short.join("/")
    };
    parts.iter().map(short).collect()
}

//! Captures as they are opened: read, complained of, and named.

use super::{CaptureError, Warn};
use bentpipe_capture::{Capture, Connection, Damage, ReadError, Reading, Unread};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Layers that are named in a line.
const UNREAD_MAX: usize = 5;

/// A file that was read.
#[derive(Debug)]
pub struct Opened {
    /// Where it is.
    pub path: PathBuf,
    /// What is in it.
    pub capture: Capture,
    /// True if only a part of it was read.
    pub partial: bool,
    /// What to call it in a graph: its name, with those folders before it that tell it from others.
    pub name: String,
}

/// What stands for standard input among paths.
const STDIN: &str = "-";

/// Opens a part of each of these captures.
///
/// They have the shortest names that differ.
///
/// # Errors
/// [`CaptureError`] for the first that cannot be read, or has no TCP.
pub fn open(
    paths: &[PathBuf],
    reading: &Reading,
    warn: Warn<'_>,
) -> Result<Vec<Opened>, CaptureError> {
    let files = paths.iter().map(|path| open_one(path, reading, warn));
    let mut files = files.collect::<Result<Vec<_>, _>>()?;
    name_all(&mut files);
    Ok(files)
}

/// Opens those captures that have TCP in them.
pub(super) fn open_any(paths: &[PathBuf], warn: Warn<'_>) -> Result<Vec<Opened>, CaptureError> {
    let mut files = Vec::new();
    for path in paths {
        match open_one(path, &Reading::default(), warn) {
            Ok(opened) => files.push(opened),
            Err(CaptureError::Nothing { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    name_all(&mut files);
    Ok(files)
}

impl Opened {
    /// True if it is standard input, which cannot be read again.
    #[must_use]
    pub fn is_stdin(&self) -> bool {
        self.path == Path::new(STDIN)
    }
}

fn open_one(path: &Path, reading: &Reading, warn: Warn<'_>) -> Result<Opened, CaptureError> {
    let (name, read) = if path == Path::new(STDIN) {
        ("standard input".to_owned(), reading.read(io::stdin()))
    } else {
        let file = File::open(path).map_err(ReadError::from);
        (path.display().to_string(), file.and_then(|file| reading.read(file)))
    };
    let capture = read.map_err(|why| CaptureError::Read { path: name.clone(), why })?;
    if capture.counts.tcp == 0 {
        return Err(CaptureError::Nothing { path: name, why: without_tcp(&capture) });
    }
    for lack in lacks(&capture) {
        warn(&format!("{name}: {lack}"));
    }
    let partial = *reading != Reading::default();
    Ok(Opened { path: path.to_owned(), capture, partial, name })
}

/// Why a capture has no TCP, in one line.
fn without_tcp(capture: &Capture) -> String {
    if capture.counts.packets == 0 {
        return "holds no packets".to_owned();
    }
    let packets = plural(capture.counts.packets, "packet");
    let lacks = lacks(capture);
    match &lacks[..] {
        [] => format!("no TCP in its {packets}"),
        lacks => format!("no TCP is found in its {packets}: {}", lacks.join("; ")),
    }
}

/// Lists the defects of a capture and its unread layers, a line each.
#[must_use]
pub fn lacks(capture: &Capture) -> Vec<String> {
    let mut lacks = Vec::new();
    let whole = capture.counts.packets;
    match capture.damage {
        Some(Damage::Truncated) => {
            lacks.push(format!("ends in the middle of packet {}", whole + 1));
        }
        Some(Damage::Damaged) => lacks.push(format!("is damaged behind packet {whole}")),
        None => {}
    }
    if capture.lost_events > 0 {
        let lost = plural(capture.lost_events, "event");
        lacks.push(format!("{lost} are missing: its writer was too slow"));
    }
    if capture.counts.fragments > 0 {
        let fragments = plural(capture.counts.fragments, "fragment");
        lacks.push(format!("{fragments} of IP packets left out: other fragments are missing"));
    }
    let copies: usize = capture.connections.iter().map(Connection::copies).sum();
    if copies > 0 {
        let copies = plural(copies as u64, "packet");
        lacks.push(format!("{copies} left out as copies of others, seen at a second place"));
    }
    let apart: Vec<i64> = capture.connections.iter().filter_map(|one| one.apart).collect();
    if let Some(&most) = apart.iter().max() {
        let connections = plural(apart.len() as u64, "connection");
        lacks.push(format!(
            "{connections} seen at places up to {:.1} ms apart: only what one place saw counts",
            most as f64 / 1e6
        ));
    }
    lacks.extend(unread(&capture.unread));
    lacks
}

/// Names the layers that are not read, most packets first.
fn unread(counts: &BTreeMap<Unread, u64>) -> Option<String> {
    let mut counts: Vec<_> = counts.iter().map(|(&what, &count)| (what, count)).collect();
    counts.sort_by_key(|&(_, count)| Reverse(count));
    let hold = |count: u64| if count == 1 { "holds" } else { "hold" };
    let named = &counts[..counts.len().min(UNREAD_MAX)];
    let mut said: Vec<String> = named
        .iter()
        .enumerate()
        .map(|(index, (what, count))| match index {
            0 => format!("{} {} {what}", plural(*count, "packet"), hold(*count)),
            _ => format!("{count} {} {what}", hold(*count)),
        })
        .collect();
    let others: u64 = counts[named.len()..].iter().map(|(_, count)| count).sum();
    if others > 0 {
        said.push(format!("{others} {} something else", hold(others)));
    }
    match &said[..] {
        [] => None,
        [one] => Some(format!("{one}, which is not read")),
        all => Some(format!("{}, which are not read", all.join(", "))),
    }
}

fn plural(count: u64, thing: &str) -> String {
    if count == 1 { format!("{count} {thing}") } else { format!("{count} {thing}s") }
}

/// Gives files the shortest names by which they can be told apart.
fn name_all(files: &mut [Opened]) {
    let short = |path: &Path, parts: usize| {
        if path == Path::new(STDIN) {
            return "standard input".to_owned();
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(unread: &[(Unread, u64)]) -> Capture {
        let mut capture = Capture::default();
        capture.counts.packets = 40;
        capture.unread = unread.iter().copied().collect();
        capture
    }

    #[test]
    fn what_is_not_read_is_said_once() {
        let said = |unread: &[(Unread, u64)]| lacks(&capture(unread));
        assert_eq!(said(&[]), [""; 0]);
        let capwap = (Unread::Named("CAPWAP"), 12);
        assert_eq!(said(&[capwap]), ["12 packets hold CAPWAP, which is not read"]);
        let two = [(Unread::Protocol(201), 1), capwap];
        assert_eq!(
            said(&two),
            ["12 packets hold CAPWAP, 1 holds IP protocol 201, which are not read"]
        );
        let many: Vec<_> = (0..9).map(|kind| (Unread::EtherType(kind), 1)).collect();
        assert!(said(&many)[0].ends_with(", 4 hold something else, which are not read"));
    }

    #[test]
    fn places_that_are_apart_are_said_in_a_line() {
        let mut capture = capture(&[]);
        let of = |apart| {
            let mut connection = Connection::default();
            connection.apart = apart;
            connection
        };
        capture.connections = vec![of(None), of(Some(250_000_000)), of(Some(20_500_000))];
        let said =
            "2 connections seen at places up to 250.0 ms apart: only what one place saw counts";
        assert_eq!(lacks(&capture), [said]);
    }

    #[test]
    fn without_tcp_all_of_it_is_one_line() {
        let mut capture = capture(&[(Unread::Link(127), 39)]);
        capture.damage = Some(Damage::Truncated);
        capture.counts.fragments = 1;
        assert_eq!(
            without_tcp(&capture),
            "no TCP is found in its 40 packets: ends in the middle of packet 41; \
             1 fragment of IP packets left out: other fragments are missing; 39 packets hold a frame of link \
             type IEEE802_11_RADIOTAP, which is not read"
        );
        assert_eq!(without_tcp(&Capture::default()), "holds no packets");
    }
}

//! Explanations as their JSON has them.
//!
//! The judge knows no more of them than their users do.

use bentpipe_capture::explain::telling;
use bentpipe_capture::{Connection, Flags, Standing};
use serde_json::Value;
use std::collections::BTreeSet;

/// What is told of a segment of data.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ToldSegment {
    /// New data.
    New,
    /// It came late.
    Late,
    /// It came late, or was retransmitted.
    Undecided,
    /// Another packet once more.
    Copy,
    /// It was retransmitted, for one of these causes; without any the cause is unknown.
    Again(BTreeSet<String>),
}

/// A silence.
#[derive(Debug, Clone)]
pub(crate) struct ToldSilence {
    /// The last packet before it, and the first after it.
    pub(crate) frames: (u32, u32),
    /// What limited the sender: one of these; without any it is unknown.
    pub(crate) limiters: BTreeSet<String>,
}

/// A direction of a connection.
#[derive(Debug)]
pub(crate) struct ToldDirection {
    /// The sender and its peer.
    pub(crate) ends: (std::net::SocketAddr, std::net::SocketAddr),
    /// Whether its segments have timestamps.
    pub(crate) stamps: bool,
    /// Its segments of data by their packets' numbers, in the order of the file.
    pub(crate) segments: Vec<(u32, ToldSegment)>,
    /// Its silences.
    pub(crate) silences: Vec<ToldSilence>,
}

/// What is told of a capture.
pub(crate) fn tell(file: &[u8]) -> Vec<ToldDirection> {
    let capture = bentpipe_capture::read(file).expect("a capture");
    capture.connections.iter().flat_map(directions).collect()
}

fn directions(connection: &Connection) -> Vec<ToldDirection> {
    let story = telling::as_json("capture", connection);
    let directions = story["directions"].as_array().expect("directions");
    directions.iter().map(|direction| read(connection, direction)).collect()
}

fn read(connection: &Connection, direction: &Value) -> ToldDirection {
    let sender = direction["sender"].as_str().expect("a sender").parse().expect("an address");
    let [one, other] = connection.ends;
    let forward = one == sender;
    let ends = if forward { (one, other) } else { (other, one) };
    let events = direction["events"].as_array().expect("events");
    let last = connection.segments.iter().rfind(|segment| segment.len > 0);
    let stamps = last.is_some_and(|segment| segment.timestamps.is_some());
    let mut told = ToldDirection { ends, stamps, segments: Vec::new(), silences: Vec::new() };
    // The first packet of a run, its last, and what is told of it.
    let mut runs: Vec<(u32, u32, ToldSegment)> = Vec::new();
    let mut last = None;
    let mut open: Option<(u32, BTreeSet<String>)> = None;
    for event in events {
        if event["event"] == "silence" {
            open = last.map(|last| (last, names(&event["limiter"])));
            continue;
        }
        if event["event"] != "segments" {
            continue;
        }
        let packets = &event["packets"];
        let frames =
            [&packets[0], &packets[1]].map(|frame| frame.as_u64().expect("packets") as u32);
        if let Some((before, limiters)) = open.take() {
            told.silences.push(ToldSilence { frames: (before, frames[0]), limiters });
        }
        last = Some(frames[1]);
        runs.push((frames[0], frames[1], segment(event)));
    }
    let own = connection.segments.iter().filter(|segment| {
        // A SYN may have data, which no story tells of.
        (segment.direction.index() == 0) == forward
            && segment.len > 0
            && !segment.flags.has(Flags::SYN)
    });
    for segment in own {
        let run = runs.partition_point(|(_, last, _)| *last < segment.frame);
        let run = runs.get(run).filter(|(first, ..)| *first <= segment.frame);
        let said = match segment.standing {
            Standing::Copy => Some(ToldSegment::Copy),
            _ => run.map(|(_, _, said)| said.clone()),
        };
        told.segments.extend(said.map(|said| (segment.frame, said)));
    }
    told
}

fn segment(event: &Value) -> ToldSegment {
    let told = names(&event["cause"]);
    let is = |word: &str| told.iter().any(|name| name.split([' ', ':']).next() == Some(word));
    match () {
        () if is("copy") => ToldSegment::Copy,
        () if is("late") && told.len() > 1 => ToldSegment::Undecided,
        () if is("late") => ToldSegment::Late,
        () if event["again"] == true => ToldSegment::Again(told),
        () => ToldSegment::New,
    }
}

/// The names in a text, one or two with "or" between them, or in a list. Those of what is unknown
/// are left out.
fn names(value: &Value) -> BTreeSet<String> {
    let texts: Vec<&str> = match value {
        Value::String(text) => text.split(" or ").collect(),
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let known = texts.into_iter().filter(|text| !text.starts_with("unknown"));
    known.map(|text| text.trim().to_owned()).collect()
}

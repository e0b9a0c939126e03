//! The explanation of a direction, as shares of its time.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use bentpipe_capture::{Direction, Flags, analyse};
use serde_json::Value;

use crate::stage::BENTPIPE;

/// A direction of a connection.
#[derive(Debug)]
pub(super) struct Told {
    story: Value,
    /// From its first segment to its last, and how long of that something was outstanding, in
    /// seconds.
    time: f64,
    busy: f64,
}

/// What a share is at least, and at most: answers may be sets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Between(pub(super) f64, pub(super) f64);

impl Between {
    /// Whether it is so, give or take a `tolerance`.
    pub(super) fn has(self, share: f64, tolerance: f64) -> bool {
        (self.0 - tolerance..=self.1 + tolerance).contains(&share)
    }
}

impl Told {
    /// What is told of the data from one end of a connection to the other.
    pub(super) fn of(capture: &Path, (from, to): (SocketAddr, SocketAddr)) -> Told {
        let mut plot = Command::new(BENTPIPE);
        plot.args(["plot", "--explain", "--json"]).arg(capture);
        let output = plot.output().expect("start");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let ends = [from, to].map(|end| end.to_string());
        let connections = all["connections"].as_array().expect("connections");
        let mine = connections.iter().filter(|connection| {
            let known = connection["ends"].as_array().expect("ends");
            ends.iter().all(|end| known.iter().any(|known| known == end))
        });
        let mut directions = mine.flat_map(|it| it["directions"].as_array().expect("directions"));
        let found = directions.find(|direction| direction["sender"] == ends[0]);
        let story = found.unwrap_or_else(|| panic!("{ends:?} is not told of")).clone();
        let (time, busy) = outstanding(capture, (from, to));
        Told { story, time, busy }
    }

    /// How long the connection is in the capture, in seconds.
    pub(super) fn time(&self) -> f64 {
        self.time
    }

    /// Segments that were retransmitted.
    pub(super) fn retransmissions(&self) -> u64 {
        self.story["sums"]["retransmissions"].as_u64().expect("a count")
    }

    /// The share of the time in which something was outstanding.
    pub(super) fn busy(&self) -> f64 {
        self.busy / self.time
    }

    /// The share of the time in which this limited the sender.
    pub(super) fn limited(&self, limiter: &str) -> Between {
        let limited = self.story["sums"]["limited"].as_array().expect("limiters");
        let share = |alone: bool| {
            let mine = limited.iter().filter(|entry| {
                let names = entry["limiters"].as_array().expect("limiters");
                names.iter().any(|name| name == limiter) && (!alone || names.len() == 1)
            });
            mine.map(|entry| entry["time_s"].as_f64().unwrap_or(0.0)).sum::<f64>() / self.time
        };
        Between(share(true), share(false))
    }
}

/// How long a connection is in a capture, and how long of that data of `from` was outstanding, or
/// its FIN, in seconds.
fn outstanding(capture: &Path, (from, to): (SocketAddr, SocketAddr)) -> (f64, f64) {
    let file = std::fs::File::open(capture).expect("a capture");
    let capture = bentpipe_capture::read(file).expect("a capture");
    let mut connections = capture.connections.iter();
    let connection = connections
        .find(|connection| [from, to].iter().all(|end| connection.ends.contains(end)))
        .expect("the connection");
    let own = if connection.ends[0] == from { Direction::Forward } else { Direction::Backward };
    let analysis = analyse(connection);
    let mut busy = 0;
    let mut since = None;
    for (_, segment, fact) in analysis.facts_of(connection) {
        if let Some(since) = since {
            busy += segment.at - since;
        }
        // A SYN is not data.
        let began = since.is_some() || segment.len > 0 || segment.flags.has(Flags::FIN);
        let is_open = fact.outstanding[own.index()] > 0 && began;
        since = is_open.then_some(segment.at);
    }
    let seconds = |nanos: i64| nanos as f64 / 1e9;
    (seconds(connection.duration()), seconds(busy))
}

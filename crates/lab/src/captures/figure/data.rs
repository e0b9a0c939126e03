//! What a still figure shows of a connection: its points by their time.

use super::lane::{Limited, limits};
use bentpipe_capture::{Analysis, Class, ClassKind, Connection, Direction, Fact, Flags, Segment};
use std::collections::BTreeMap;

/// What is drawn, by the time of each.
#[derive(Default)]
pub(super) struct Series {
    /// Data by its class: time, begin, end.
    pub(super) data: BTreeMap<Class, Vec<(f64, f64, f64)>>,
    pub(super) sacked: Vec<(f64, f64, f64)>,
    pub(super) controls: Vec<(f64, f64)>,
    pub(super) acknowledged: Vec<(f64, f64)>,
    pub(super) edge: Vec<(f64, f64)>,
    pub(super) outstanding: Vec<(f64, f64)>,
    pub(super) window: Vec<(f64, f64)>,
    pub(super) round_trips: Vec<(f64, f64)>,
    pub(super) throughput: Vec<(f64, f64)>,
    pub(super) limits: Vec<Limited>,
}

/// What `direction` of a connection sent, and what the other end answered, from its beginning on.
pub(super) fn series(connection: &Connection, analysis: &Analysis, direction: Direction) -> Series {
    let mut series =
        Series { limits: limits(connection, analysis, direction), ..Series::default() };
    let first = connection.segments.first().map_or(0, |segment| segment.at);
    let duration = (connection.duration() as f64 / 1e9).max(1e-6);
    let mut bins = vec![0.0; 200];
    for (index, segment, fact) in analysis.facts_of(connection) {
        let time = segment.at.saturating_sub(first) as f64 / 1e9;
        series.outstanding.push((time, fact.outstanding[direction.index()] as f64));
        if segment.direction == direction {
            series.sends(time, segment, fact);
            let bin = (time / duration * 200.0).clamp(0.0, 199.0) as usize;
            bins[bin] += f64::from(segment.len) * 8.0;
        } else if let Some(ack) = fact.ack {
            series.answers(time, ack, fact, analysis.sacks_of(index));
        }
    }
    let width = duration / 200.0;
    let bins = bins.into_iter().enumerate();
    series.throughput = bins.map(|(bin, bits)| (bin as f64 * width, bits / width)).collect();
    series
}

impl Series {
    /// The words in the place of what a panel has nothing of: sequence, outstanding, throughput,
    /// round trips.
    pub(super) fn missing(&self, panel: usize) -> Option<&'static str> {
        let is_missing = match panel {
            0 => self.data.is_empty() && self.acknowledged.is_empty() && self.controls.is_empty(),
            // A SYN counts as one byte, which is none of the stream's.
            1 | 2 => self.data.is_empty(),
            _ => self.round_trips.is_empty(),
        };
        let unanswered = panel == 1 && self.acknowledged.is_empty();
        match (is_missing, unanswered) {
            (true, _) => Some("none"),
            (false, true) => Some("unknown: no ACKs"),
            (false, false) => None,
        }
    }

    fn sends(&mut self, time: f64, segment: &Segment, fact: &Fact) {
        let (begin, end) = (fact.seq as f64, fact.seq as f64 + f64::from(segment.len));
        if let Some(class) = Class::of(segment, fact).filter(|class| class.kind() != ClassKind::Ack)
        {
            self.data.entry(class).or_default().push((time, begin, end));
        }
        if segment.flags.any(&[Flags::SYN, Flags::FIN, Flags::RST]) {
            self.controls.push((time, end));
        }
    }

    fn answers(&mut self, time: f64, ack: i64, fact: &Fact, sacks: &[(i64, i64)]) {
        self.acknowledged.push((time, ack as f64));
        if let Some(window) = fact.window {
            self.edge.push((time, ack as f64 + window as f64));
            self.window.push((time, window as f64));
        }
        if let Some(nanos) = fact.round_trip {
            self.round_trips.push((time, nanos as f64 / 1e9));
        }
        self.sacked.extend(sacks.iter().map(|&(left, right)| (time, left as f64, right as f64)));
    }
}

//! Marks by tshark, compared with ours.

use crate::analysis::{Mark, Marks, analyse};
use crate::capture::Capture;
use std::collections::BTreeMap;

/// A packet that is marked differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// Its number in the file.
    pub frame: u32,
    /// What we say.
    pub ours: Marks,
    /// What tshark says.
    pub tshark: Marks,
}

/// What was compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// How many segments.
    pub segments: usize,
    /// Those that are marked differently, in the order of the file.
    pub differences: Vec<Difference>,
}

/// The arguments by which tshark writes what [`compare`] reads, behind `-r FILE`.
#[must_use]
pub fn arguments() -> Vec<String> {
    let fixed = "-Y tcp.analysis.flags -T fields -E separator=/t -e frame.number";
    let mut arguments: Vec<String> = fixed.split(' ').map(str::to_owned).collect();
    for mark in Mark::ALL {
        arguments.extend(["-e".to_owned(), format!("tcp.analysis.{}", mark.name())]);
    }
    arguments
}

/// Compares every segment of `capture` with what tshark wrote of the same file.
#[must_use]
pub fn compare(capture: &Capture, written: &str) -> Comparison {
    let theirs: BTreeMap<u32, Marks> = written.lines().filter_map(line).collect();
    let mut ours: BTreeMap<u32, Marks> = BTreeMap::new();
    for connection in &capture.connections {
        // Copies, and what came before the SYN that was accepted, are left out.
        let analysis = analyse(connection);
        ours.extend(analysis.facts_of(connection).map(|(_, s, fact)| (s.frame, fact.marks)));
    }
    let segments = ours.len();
    let compared = ours.into_iter().map(|(frame, ours)| {
        let tshark = theirs.get(&frame).copied().unwrap_or_default();
        Difference { frame, ours, tshark }
    });
    let differences = compared.filter(|it| it.ours != it.tshark).collect();
    Comparison { segments, differences }
}

fn line(line: &str) -> Option<(u32, Marks)> {
    let mut fields = line.split('\t');
    let frame = fields.next()?.parse().ok()?;
    let mut marks = Marks::default();
    for (mark, field) in Mark::ALL.into_iter().zip(fields) {
        if !field.is_empty() {
            marks.add(mark);
        }
    }
    // Fast and spurious ones are retransmissions to tshark, too.
    Some((frame, marks.most_specific()))
}

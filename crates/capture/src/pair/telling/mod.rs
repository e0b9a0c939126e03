//! Comparisons of captures, as text and as JSON.

mod json;
mod text;

pub use json::as_json;
pub use text::write;

use super::connections::same_connection;
use super::{Compared, Hop, Place, pair, span};
use crate::capture::Capture;
use crate::connection::Connection;
use std::collections::BTreeMap;

/// Files that have a connection in common.
#[derive(Debug, Clone, Copy)]
pub struct File<'c> {
    /// Its name in texts.
    pub name: &'c str,
    /// Its connections.
    pub capture: &'c Capture,
}

/// A connection that all files have, compared between them.
#[derive(Debug)]
pub struct Common<'c> {
    /// The connection in each file.
    pub connections: Vec<&'c Connection>,
    /// The comparisons: neighbors first, then the first file with the last.
    pub hops: Vec<([usize; 2], Hop)>,
}

/// The connections that all files have; `takes` chooses among those of the first.
#[must_use]
pub fn common<'c>(files: &[File<'c>], takes: &dyn Fn(&Connection) -> bool) -> Vec<Common<'c>> {
    let Some((first, others)) = files.split_first() else { return Vec::new() };
    let pairs: Vec<BTreeMap<usize, usize>> = others
        .iter()
        .map(|other| pair(first.capture, other.capture))
        .map(|pairs| pairs.into_iter().map(|pair| (pair.first, pair.second)).collect())
        .collect();
    let spans: Vec<(i64, i64)> = files.iter().map(|file| span(file.capture)).collect();
    let mut all = Vec::new();
    for (at, connection) in first.capture.connections.iter().enumerate() {
        let places = pairs.iter().map(|pairs| pairs.get(&at).copied());
        let Some(places) = places.collect::<Option<Vec<usize>>>() else { continue };
        if !takes(connection) {
            continue;
        }
        let indices: Vec<usize> = std::iter::once(at).chain(places).collect();
        all.push(Common {
            connections: files
                .iter()
                .zip(&indices)
                .map(|(file, &at)| &file.capture.connections[at])
                .collect(),
            hops: hops(files, &spans, &indices),
        });
    }
    all
}

fn hops(files: &[File<'_>], spans: &[(i64, i64)], indices: &[usize]) -> Vec<([usize; 2], Hop)> {
    let neighbors = (1..files.len()).map(|to| [to - 1, to]);
    let ends = (files.len() > 2).then(|| [0, files.len() - 1]);
    let hop = |[from, to]: [usize; 2]| {
        let connection = |at: usize| &files[at].capture.connections[indices[at]];
        let place = |at: usize| Place::of(connection(at), spans[at]);
        let paired = same_connection(connection(from), connection(to))?;
        Some(([from, to], super::hop(place(from), place(to), &paired)))
    };
    neighbors.chain(ends).filter_map(hop).collect()
}

impl Common<'_> {
    /// The place between the two others, if it is not the second of three.
    ///
    /// Then the files are in another order than the path.
    #[must_use]
    pub fn misplaced(&self) -> Option<usize> {
        let [ab, bc, ac] = &self.hops[..] else { return None };
        let [ab, bc, ac] = [ab, bc, ac].map(|(_, hop)| hop.clock.round_trip());
        let (ab, bc, ac) = (ab?, bc?, ac?);
        // Least delays of other packets may differ by so much.
        let clear = |longer: i64, other: i64| longer > other.saturating_add(500_000);
        if clear(ab, ac) && ab >= bc {
            Some(2)
        } else if clear(bc, ac) {
            Some(0)
        } else {
            None
        }
    }
}

impl Compared {
    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Compared::Packets => "packets",
            Compared::Bytes => "stream bytes",
        }
    }
}

//! Two captures of one connection, packet by packet: losses, reordering and one-way delays.
//!
//! Two clocks need not agree: delays are above their minimum. Absolute ones are known only as sums
//! of both directions, or under the assumption of symmetry. Through a splitting gateway no packet
//! is the same on both sides; there the bytes of the streams are compared.

mod clock;
mod connections;
mod packets;
mod pieces;
mod sorted;
mod stream;
pub mod telling;
#[cfg(test)]
mod tests;
mod view;
mod way;

pub use clock::{Clock, Drift, Spread};
pub use connections::{By, Paired, pair};
pub use packets::Sample;
pub use stream::Streamed;
pub use way::{Loss, Lost, Reordered, Way};

use crate::capture::Capture;
use crate::connection::Connection;
use crate::direction::Direction;
use packets::Matched;
use view::View;

/// Below this share of the same segments of data, in percent, there is a gateway that splits.
const SAME_MIN: u64 = 50;

/// A connection at two places.
#[derive(Debug)]
pub struct Hop {
    /// The basis of the comparison.
    pub basis: Compared,
    /// Segments of data, and those of them at both places.
    ///
    /// Of the place that has fewer.
    pub same: (u64, u64),
    /// The direction that passes the first place before the second.
    pub downstream: Direction,
    /// When the first place saw the connection first, in nanoseconds since 1970.
    pub begin: i64,
    /// The relation of the two clocks.
    pub clock: Clock,
    /// The directions of the first place's connection.
    pub ways: [Way; 2],
}

/// The basis of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    /// By packets, which are the same at both places.
    Packets,
    /// By the bytes of the streams: a gateway between them splits.
    Bytes,
}

/// A place: a capture, and one of its connections.
#[derive(Debug, Clone, Copy)]
pub struct Place<'c> {
    connection: &'c Connection,
    /// From when to when its file has packets.
    span: (i64, i64),
}

impl<'c> Place<'c> {
    /// The connection at an index of a capture's.
    #[must_use]
    pub fn new(capture: &'c Capture, index: usize) -> Place<'c> {
        Place::of(&capture.connections[index], span(capture))
    }

    /// A connection of a file that has packets in this span.
    fn of(connection: &'c Connection, span: (i64, i64)) -> Place<'c> {
        Place { connection, span }
    }
}

/// From when to when a file has packets.
fn span(capture: &Capture) -> (i64, i64) {
    let times = || capture.connections.iter().flat_map(|one| &one.segments).map(|one| one.at);
    let first = capture.first.or(times().min()).unwrap_or(0);
    (first, times().max().unwrap_or(first))
}

/// Compares a connection at two places.
#[must_use]
pub fn hop(first: Place<'_>, second: Place<'_>, paired: &Paired) -> Hop {
    let views = View::both(first, second, paired);
    let begin = first.connection.segments.first().map_or(0, |segment| segment.at);
    let matched = Matched::new(&views);
    let same = matched.data;
    if same.1 * 100 >= same.0 * SAME_MIN {
        let downstream = matched.downstream;
        let (clock, ways) = way::compare(&views, &matched);
        return Hop { basis: Compared::Packets, same, downstream, begin, clock, ways };
    }
    drop(matched);
    let (downstream, clock, ways) = stream::compare(&views);
    Hop { basis: Compared::Bytes, same, downstream, begin, clock, ways }
}

//! A capture that was read.

use crate::connection::Connection;
use crate::file::Damage;
use crate::unread::Unread;
use crate::via::Via;
use std::collections::BTreeMap;

/// What a file's packets were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// All.
    pub packets: u64,
    /// TCP segments.
    pub tcp: u64,
    /// Fragments of packets that are not whole in the file. They are left out.
    pub fragments: u64,
}

/// A file that was read.
#[derive(Debug, Default)]
pub struct Capture {
    /// Its TCP connections, in the order of their first segments.
    pub connections: Vec<Connection>,
    /// The number of its other connections, which were left out as unwanted.
    pub others: usize,
    /// When its first packet passed, in nanoseconds since 1970.
    pub first: Option<i64>,
    /// What its packets were.
    pub counts: Counts,
    /// Packets that may hold TCP in a layer that is not read, by that layer.
    pub unread: BTreeMap<Unread, u64>,
    /// The places where segments were seen, by their number ([`Segment::via`]).
    ///
    /// [`Segment::via`]: crate::Segment::via
    pub vias: Vec<Via>,
    /// Where it ended too early.
    pub damage: Option<Damage>,
    /// How many events a recording says to be missing in it.
    pub lost_events: u64,
}

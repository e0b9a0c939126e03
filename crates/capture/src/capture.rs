//! A capture that was read.

use crate::connection::Connection;
use crate::file::Damage;
use std::collections::BTreeSet;

/// What a file's packets were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// All.
    pub packets: u64,
    /// TCP segments.
    pub tcp: u64,
    /// Fragments, which are left out.
    pub fragments: u64,
}

/// A file that was read.
#[derive(Debug, Default)]
pub struct Capture {
    /// Its TCP connections, in the order of their first segments.
    pub connections: Vec<Connection>,
    /// What its packets were.
    pub counts: Counts,
    /// Link types (LINKTYPE_…) that are not understood.
    pub unknown_links: BTreeSet<i32>,
    /// Where it ended too early.
    pub damage: Option<Damage>,
    /// How many events a recording says to be missing in it.
    pub lost_events: u64,
}

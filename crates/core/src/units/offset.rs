//! Positions in a stream.

use super::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// A position in a stream: the SYN is at 0, the first byte at 1, the FIN behind the last byte. It
/// becomes a 32-bit sequence number only in a header ([`SeqNum`](crate::wire::SeqNum)).
///
/// Two of them do not add up, and neither is a size:
///
/// ```compile_fail,E0277
/// # use bentpipe_core::units::Offset;
/// let sum = Offset::new(1) + Offset::new(2);
/// ```
/// ```compile_fail,E0308
/// # use bentpipe_core::units::{Bytes, Offset};
/// let window: Bytes = Offset::new(1) + Bytes::new(1448);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Offset(pub(super) u64);

impl Offset {
    /// The SYN's.
    pub const SYN: Offset = Offset(0);
    /// The first byte's.
    pub const FIRST: Offset = Offset(1);
    /// Behind all streams: no limit.
    pub const MAX: Offset = Offset(u64::MAX);

    /// The position `offset` behind the SYN.
    #[inline]
    pub const fn new(offset: u64) -> Offset {
        Offset(offset)
    }

    /// Its distance from the SYN.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// From `start` up to `end`.
    #[inline]
    pub const fn span(start: u64, end: u64) -> Range<Offset> {
        Offset(start)..Offset(end)
    }

    /// The one behind it.
    #[inline]
    pub const fn next(self) -> Offset {
        Offset(self.0 + 1)
    }

    /// The one before it; the SYN has none, and stays where it is.
    #[inline]
    pub const fn previous(self) -> Offset {
        Offset(self.0.saturating_sub(1))
    }

    /// How far it is behind `earlier`; nothing if it is not.
    #[inline]
    pub const fn saturating_sub(self, earlier: Offset) -> Bytes {
        Bytes(self.0.saturating_sub(earlier.0))
    }

    /// The one `distance` further on, or the last one.
    #[inline]
    pub const fn saturating_add(self, distance: Bytes) -> Offset {
        Offset(self.0.saturating_add(distance.0))
    }

    /// The one `distance` before it, if that is in the stream.
    #[inline]
    pub const fn checked_back(self, distance: Bytes) -> Option<Offset> {
        match self.0.checked_sub(distance.0) {
            Some(offset) => Some(Offset(offset)),
            None => None,
        }
    }

    /// The one `distance` before it, or the SYN's.
    #[inline]
    pub const fn saturating_back(self, distance: Bytes) -> Offset {
        Offset(self.0.saturating_sub(distance.0))
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

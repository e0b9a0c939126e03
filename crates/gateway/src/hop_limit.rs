//! The hop limit of what is sent in a host's name: as the host's own packets have it.
//!
//! A segment with a low one is not like the others. Programs send such so that they die before the
//! far host: traceroutes within a connection, and those that show a censor other bytes than the
//! server gets. So a single segment never lowers what the gateway sends with, and one that is far
//! below does not count at all.

use serde::{Deserialize, Serialize};

/// So many segments in a row with less say that the path has become longer.
const RUN: u8 = 16;

/// Paths change by so many hops, and by more at times.
const TOLERANCE: u8 = 3;

/// A hop limit below this one may end before the far host. Hosts begin with 64 at least, and no
/// path is so long that it would be left with less.
const LOW: u8 = 16;

/// The largest hop limit of late in a host's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HopLimit {
    current: u8,
    /// The largest of those since that had less, and how many they were.
    lower: (u8, u8),
}

impl HopLimit {
    /// As the handshake has it.
    pub(crate) fn new(current: u8) -> HopLimit {
        HopLimit { current, lower: (0, 0) }
    }

    /// What to send with.
    pub(crate) fn current(self) -> u8 {
        self.current
    }

    /// Whether a segment with `hop_limit` may not be meant for the far host.
    pub(crate) fn is_far_above(self, hop_limit: u8) -> bool {
        hop_limit < LOW && hop_limit < self.current.saturating_sub(TOLERANCE)
    }

    /// The host has sent a segment with `hop_limit`.
    pub(crate) fn hear(&mut self, hop_limit: u8) {
        let (lower, count) = (self.lower.0.max(hop_limit), self.lower.1 + 1);
        if hop_limit >= self.current {
            *self = HopLimit::new(hop_limit);
        } else if count >= RUN {
            *self = HopLimit::new(lower);
        } else {
            self.lower = (lower, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_with_less_does_not_lower_it_but_a_longer_path_does() {
        let mut hop_limit = HopLimit::new(60);
        hop_limit.hear(62);
        assert_eq!(hop_limit.current(), 62);
        for lower in 1..RUN {
            hop_limit.hear(58 - lower % 3);
            assert_eq!(hop_limit.current(), 62);
        }
        hop_limit.hear(50);
        assert_eq!(hop_limit.current(), 58);
        for _ in 1..RUN {
            hop_limit.hear(20);
        }
        // One as before, and they begin to count again.
        hop_limit.hear(58);
        hop_limit.hear(20);
        assert_eq!(hop_limit.current(), 58);
    }

    #[test]
    fn far_below_is_more_than_three_and_below_sixteen() {
        for (current, hop_limit, expected) in [
            (64, 16, false),
            (64, 15, true),
            (18, 15, false),
            (19, 15, true),
            (4, 1, false),
            (4, 0, true),
            (2, 0, false),
            (255, 1, true),
        ] {
            let far = HopLimit::new(current).is_far_above(hop_limit);
            assert_eq!(far, expected, "{hop_limit} below {current}");
        }
    }
}

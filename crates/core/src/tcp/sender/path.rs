//! Another size of segments, as the path's MTU is learnt.

use super::{Sender, SenderConfig};
use crate::time::Instant;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// How long segments are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SegmentSizes {
    /// Sender maximum segment size, in bytes.
    pub(super) smss: Bytes,
    /// The largest super-segment, in bytes.
    pub(super) max_burst: Bytes,
}

impl SegmentSizes {
    /// As they are at the beginning.
    pub(super) fn of(config: &SenderConfig) -> SegmentSizes {
        SegmentSizes { smss: config.smss, max_burst: config.max_burst }
    }
}

impl Sender {
    /// Segments have at most `smss` bytes from now on. What is outstanding in longer ones is
    /// [repeated](Sender::repeat_longer).
    ///
    /// A size above the congestion window is not taken: the window is at least one segment.
    pub fn set_smss(&mut self, now: Instant, smss: Bytes) -> bool {
        let former = self.smss();
        if smss > self.cwnd() {
            return false;
        }
        let burst = (self.sizes.max_burst / former).max(1);
        self.sizes = SegmentSizes { smss, max_burst: burst * smss };
        if smss < former {
            self.repeat_longer(now, smss);
        }
        true
    }

    /// What is outstanding in segments of more than `len` bytes has been dropped by a router: it is
    /// retransmitted at once, without a reduction of the window, as that is no sign of congestion
    /// (RFC 1191, 6.5).
    pub fn repeat_longer(&mut self, now: Instant, len: Bytes) {
        if self.flight.hold_longer_lost(len) {
            self.timers.restart(now);
        }
    }
}

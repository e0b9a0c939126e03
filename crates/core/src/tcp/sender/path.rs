//! Another size of segments, as the path's MTU is learnt.

use super::Sender;
use crate::time::Instant;
use crate::units::Bytes;

impl Sender {
    /// Segments have at most `smss` bytes from now on. What is outstanding in longer ones is
    /// [repeated](Sender::repeat_longer).
    ///
    /// A size above the congestion window is not taken: the window is at least one segment.
    pub fn set_smss(&mut self, now: Instant, smss: Bytes) -> bool {
        let former = self.config.smss;
        if smss > self.cwnd() {
            return false;
        }
        let burst = (self.config.max_burst / former).max(1);
        self.config.smss = smss;
        self.config.max_burst = burst * smss;
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

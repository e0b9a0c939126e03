//! The sender's answer to explicit congestion notification (RFC 3168, 6.1.2).

use super::Sender;
use crate::time::Instant;
use crate::units::Bytes;

impl Sender {
    /// The peer reports congestion, for the first time in this round trip, in a segment that has
    /// just acknowledged `acked` bytes. In fast recovery, a loss of the same window has reduced
    /// the congestion window already.
    pub fn on_ecn_echo(&mut self, now: Instant, acked: Bytes) {
        self.cwnd.marked();
        if self.flight.in_recovery() {
            return;
        }
        if self.cwnd() <= self.sizes.smss {
            // It cannot be halved: the next packet waits for the timer, which begins anew.
            self.gate.hold(self.timers.wait(now));
            return;
        }
        let event = self.congestion_event(now, self.flight.size() + acked);
        let before = self.cwnd();
        self.cwnd.on_ecn(&event);
        self.tally.window(before, self.cwnd());
    }

    /// Whether the window was reduced, for whatever reason, since this was last asked.
    pub(in crate::tcp) fn take_reduced(&mut self) -> bool {
        self.cwnd.take_reduced()
    }
}

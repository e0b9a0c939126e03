//! The sender's answer to explicit congestion notification (RFC 3168, 6.1.2).

use super::Sender;
use crate::time::Instant;

impl Sender {
    /// The peer reports congestion, for the first time in this round trip, in a segment that has
    /// just acknowledged `acked` bytes. In fast recovery, a loss of the same window has reduced
    /// the congestion window already.
    pub fn on_ecn_echo(&mut self, now: Instant, acked: u64) {
        self.end_watch();
        self.reduced = true;
        if self.recovery.in_recovery() {
            return;
        }
        let smss = self.config.smss;
        if self.congestion.window() <= smss {
            // It cannot be halved: the next packet waits for the timer, which begins anew.
            let until = self.rtt.deadline(now);
            self.ecn_hold = Some(until);
            self.rto_deadline = self.rto_deadline.map(|_| until);
            return;
        }
        let congested = self.congested(now, self.ledger.flight_size() + acked);
        self.congestion.on_ecn(&congested);
    }

    /// Whether the window was reduced, for whatever reason, since this was last asked.
    pub(in crate::tcp) fn take_reduced(&mut self) -> bool {
        std::mem::take(&mut self.reduced)
    }

    /// Whether a mark at a window of one segment still keeps the next packet back.
    pub(super) fn is_held(&self, now: Instant) -> bool {
        self.ecn_hold.is_some_and(|until| now < until)
    }
}

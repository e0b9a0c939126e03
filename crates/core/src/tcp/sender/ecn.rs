//! The sender's answer to explicit congestion notification (RFC 3168, 6.1.2).

use super::Sender;
use crate::tcp::congestion::Congested;
use crate::time::Instant;

impl Sender {
    /// The peer reports congestion, for the first time in this round trip, in a segment that has
    /// just acknowledged `acked` bytes. In fast recovery, a
    /// loss of the same window has reduced the congestion window already.
    pub fn on_ecn_echo(&mut self, now: Instant, acked: u64) {
        self.end_watch();
        if self.recovery.in_recovery() {
            return;
        }
        let smss = self.config.smss;
        let flight_size = (self.ledger.flight_size() + acked).min(self.congestion.window());
        self.congestion.on_ecn(&Congested { now, flight_size, smss });
    }
}

//! A sender that takes another one's place in mid-life: what that one has sent and nobody has acknowledged
//! yet is in flight, and this one's from now on.

use super::Sender;
use crate::tcp::congestion::Departed;
use crate::time::Instant;
use crate::units::Bytes;

impl Sender {
    /// All that is written was sent before `now`, by somebody else. No round trip is measured by it. The
    /// window begins with no less: so much was in the network before.
    pub fn adopt_flight(&mut self, now: Instant) {
        debug_assert!(self.flight.size().is_zero(), "it has sent nothing itself");
        let (una, end) = (self.snd_nxt(), self.stream.written());
        if una >= end {
            return;
        }
        // A gateway may have sent beyond the window, to a host that it did not hear.
        self.window.exceed(&(una..end));
        self.cwnd.set(self.cwnd().max(end - una), self.ssthresh());
        while self.snd_nxt() < end {
            let start = self.snd_nxt();
            let range = start..end.min(start + self.config.smss);
            let (bytes, in_flight) = (range.end - range.start, self.in_flight());
            self.note_sent(now, range, false);
            let app_limited = self.flight.ledger().is_app_limited();
            self.cwnd.sent(&Departed { now, bytes, in_flight, app_limited });
        }
        self.flight.repeated(una..end);
        self.timers.sent(now);
        debug_assert!(self.flight.size() > Bytes::ZERO, "something is written");
        self.check();
    }
}

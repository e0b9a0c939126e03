//! A sender that takes another one's place: what that one has sent and nobody has acknowledged yet
//! is this one's from now on, in flight or lost.

use super::Sender;
use crate::tcp::congestion::Departed;
use crate::time::Instant;
use crate::units::{Bytes, Offset};

impl Sender {
    /// All that is written was sent before `now`, by somebody else. No round trip is measured by
    /// it. The window begins with no less: so much was in the network before.
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
            let (bytes, in_flight) = (self.note_sent_before(now, end), self.in_flight());
            let in_flight = in_flight.saturating_sub(bytes);
            let app_limited = self.flight.ledger().is_app_limited();
            self.cwnd.sent(&Departed { now, bytes, in_flight, app_limited });
        }
        self.flight.repeated(una..end);
        self.timers.sent(now);
        debug_assert!(self.flight.size() > Bytes::ZERO, "something is written");
        self.check();
    }

    /// What is written below `sent`, the FIN counted, was sent before `now` on other terms: the
    /// peer may have all of it, or none. Its acknowledgments count. What is not acknowledged is
    /// retransmitted at once, without a reduction of the window, as that is no sign of congestion.
    pub fn resend_flight(&mut self, now: Instant, sent: Offset) {
        debug_assert!(self.flight.size().is_zero(), "it has sent nothing itself");
        let (una, end) = (self.snd_nxt(), sent.min(self.stream.end()));
        if una >= end {
            return;
        }
        self.window.exceed(&(una..end));
        while self.snd_nxt() < end {
            self.note_sent_before(now, end);
        }
        // No round trip is measured by it (Karn's rule).
        self.flight.repeated(una..end);
        self.flight.mark_lost(now, una..end, |_| {});
        self.timers.sent(now);
        self.check();
    }

    /// Notes the next segment below `end` as sent by somebody else. Its length in bytes.
    fn note_sent_before(&mut self, now: Instant, end: Offset) -> Bytes {
        let start = self.snd_nxt();
        let range = start..end.min(start + self.sizes.smss);
        self.note_sent(now, range.clone(), false);
        range.end - range.start
    }
}

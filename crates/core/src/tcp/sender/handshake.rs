//! What was sent before there was a sender: the SYN of an accelerated open and its data.

use super::Sender;
use crate::time::Instant;
use crate::units::Offset;

impl Sender {
    /// All below `end` has been sent at `at`, in one segment; `again` if more than once. Without
    /// that its acknowledgment measures a round trip.
    pub fn assume_sent(&mut self, at: Instant, end: Offset, again: bool) {
        let range = self.snd_nxt()..end;
        self.note_sent(at, range.clone(), false);
        if again {
            self.flight.mark_lost(at, range.clone(), |_| {});
            self.note_sent(at, range, true);
        }
        self.tally.stats.segments += 1;
        self.cwnd.sent_before(at);
        self.timers.restart(at);
    }
}

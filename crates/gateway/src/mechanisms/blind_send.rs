//! Sending what is owed to a host without hearing from it.
//!
//! After a change of route one host's acknowledgments may not come back through us (bharadwaj-2001,
//! 3.3 and 5). What is owed to it is then sent blindly: several times by a flow that is released,
//! once where nothing but silence tells of it.

use crate::leg::Leg;
use bentpipe_core::tcp::sender::Sender;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Offset;
use std::ops::Range;

/// How often all is sent to a host that is not heard.
const ROUNDS: u32 = 4;
/// Timeouts in a row without any answer after which a host is not heard, whatever the reason.
const UNHEARD: u32 = 3;
/// The round trip to go by where none was measured.
const UNKNOWN_ROUND_TRIP: Duration = Duration::from_millis(100);

/// What is being sent to a host that is not heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlindSend {
    leg: Leg,
    next: Offset,
    /// Times that all is still to be sent.
    rounds: u32,
    at: Instant,
}

impl BlindSend {
    /// All that `sender` owes to the host of `leg`, several times.
    pub(crate) fn all(now: Instant, leg: Leg, sender: &Sender) -> BlindSend {
        BlindSend { leg, next: sender.snd_una(), rounds: ROUNDS, at: now }
    }

    /// The same once, of a host that [is suspected](is_suspect) not to be heard.
    pub(crate) fn on_suspicion(now: Instant, leg: Leg, sender: &Sender) -> BlindSend {
        // If an outage is over, what the timer has just retransmitted is answered before.
        let answer = sender.rtt().srtt().unwrap_or(UNKNOWN_ROUND_TRIP) * 2;
        // The timer's retransmission may have been lost, so it is among them. Who forwards the
        // others without it would hold it lost for good (`Gap`).
        BlindSend { leg, next: sender.snd_una(), rounds: 1, at: now + answer }
    }

    /// What has come for the host of `leg`, which is not heard.
    pub(crate) fn of_new(now: Instant, leg: Leg, sender: &Sender) -> BlindSend {
        BlindSend { leg, next: sender.snd_nxt(), rounds: 1, at: now }
    }

    /// It has shown that it goes on: all is to be sent several times from now.
    pub(crate) fn renew(&mut self) {
        self.rounds = ROUNDS;
    }

    /// The leg whose host is not heard.
    pub(crate) fn leg(&self) -> Leg {
        self.leg
    }

    /// When the next segment is to be sent.
    pub(crate) fn at(&self) -> Instant {
        self.at
    }

    /// Where the next segment begins, of what `sender` has not been acknowledged.
    pub(crate) fn next(&self, sender: &Sender) -> Offset {
        self.next.max(sender.snd_una())
    }

    /// The offsets of `sent` have been sent, or nothing was left of this round. What remains to be
    /// done.
    pub(crate) fn go_on(
        mut self,
        now: Instant,
        sender: &Sender,
        sent: Option<Range<Offset>>,
    ) -> Option<BlindSend> {
        if let Some(sent) = sent {
            // No faster than the window that had been earned; after timeouts, half of it.
            let earned = if sender.unanswered() > 0 { sender.ssthresh() } else { sender.cwnd() };
            let window = earned.max(10 * sender.smss());
            let srtt = sender.rtt().srtt().unwrap_or(UNKNOWN_ROUND_TRIP);
            let len = sent.end - sent.start;
            self.at = now + srtt.mul_f64(len.as_f64() / window.as_f64());
            self.next = sent.end;
        } else {
            self.rounds -= 1;
            self.next = sender.snd_una();
            self.at = now + sender.rtt().rto();
        }
        (self.rounds > 0).then_some(self)
    }
}

/// A host has not answered for several timeouts: the route of a direction or of both may have
/// changed. What is owed is sent once, in case that we reach the host and do not hear it, nor the
/// windows that it has opened since. An outage costs no more by that.
///
/// What the other host says meanwhile means nothing: it probes the window that we have closed, and
/// as long as it has been told more than the silent one has, it takes no timestamps from what it
/// hears from that one on another path.
pub(crate) fn is_suspect(sender: &Sender) -> bool {
    matches!(sender.unanswered(), 2 | UNHEARD | 5)
}

/// Whether a host has left several timeouts in a row without any answer.
pub(crate) fn is_unheard(sender: &Sender) -> bool {
    sender.unanswered() >= UNHEARD
}

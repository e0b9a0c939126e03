//! The retransmission timer (RFC 6298, section 5) and the persist timer (RFC 9293, 3.8.6.1).

use super::{Sender, Waits, reduction::Step, transmit::Forced};
use crate::tcp::rtt::RttEstimator;
use crate::time::{Duration, Instant, earliest};
use serde::{Deserialize, Serialize};

/// Probing a closed window.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Persist {
    deadline: Instant,
    interval: Duration,
    /// A probe has been sent.
    probed: bool,
}

impl Persist {
    const MAX_INTERVAL: Duration = Duration::from_secs(60);

    pub(super) fn begin(now: Instant, rtt: &RttEstimator) -> Persist {
        Persist { deadline: rtt.deadline(now), interval: rtt.rto(), probed: false }
    }

    fn again(self, now: Instant, rtt: &RttEstimator) -> Persist {
        let interval = (self.interval * 2).min(Self::MAX_INTERVAL);
        Persist { deadline: rtt.expiry(now, interval), interval, probed: true }
    }
}

impl Sender {
    /// When [`Sender::on_timer`] is to be called, if ever.
    pub fn poll_timer(&self) -> Option<Instant> {
        let rto = self.rto_deadline;
        let persist = self.persist.map(|persist| persist.deadline);
        let paced = (self.waits == Waits::Pacer).then(|| self.pacer.next());
        let ours = earliest(earliest(rto, persist), earliest(paced, self.ecn_hold));
        earliest(ours, self.recovery.poll_timer())
    }

    /// Whether the peer's window has been closed for so long that it was probed.
    pub fn probes_closed_window(&self) -> bool {
        self.persist.is_some_and(|persist| persist.probed)
    }

    /// Lets expire what is due at `now`.
    pub fn on_timer(&mut self, now: Instant) {
        if self.recovery.poll_timer().is_some_and(|deadline| deadline <= now) {
            let flight_size = self.ledger.flight_size();
            let verdict = self.recovery.on_timer(now, &self.timing(), &self.ledger);
            let loss = !verdict.lost.is_empty();
            self.apply(now, verdict, flight_size);
            if loss {
                self.step_reduction(Step { loss, ..Step::default() });
            }
        }
        self.ecn_hold = self.ecn_hold.filter(|until| *until > now);
        // After recovery's own timer: a probe sets this one anew (RFC 8985, 7.3).
        if self.rto_deadline.is_some_and(|deadline| deadline <= now) {
            self.on_retransmission_timeout(now);
        }
        if let Some(persist) = self.persist.filter(|persist| persist.deadline <= now) {
            self.persist = Some(persist.again(now, &self.rtt));
            self.forced = Some(Forced::Persist);
            self.unanswered += 1;
        }
        if self.waits == Waits::Pacer && self.pacer.next() <= now {
            self.waits = Waits::Asked;
        }
    }

    /// The peer is heard, though it has acknowledged nothing new: the next timeout is a plain one, and
    /// never later than it would have been.
    pub fn end_back_off(&mut self, now: Instant) {
        self.rtt.end_back_off();
        let plain = self.rtt.deadline(now);
        self.rto_deadline = self.rto_deadline.map(|deadline| deadline.min(plain));
    }

    /// Asks the peer whether it is still there (RFC 9293, 3.8.4): the next segment is one that it
    /// answers. Counts as unanswered until it does.
    pub fn keep_alive(&mut self) {
        self.forced.get_or_insert(Forced::Persist);
        self.unanswered += 1;
    }

    /// RFC 6298, rules 5.4 to 5.6; RFC 5681, 3.1; RFC 6675, 5.1.
    fn on_retransmission_timeout(&mut self, now: Instant) {
        if self.ledger.flight_size() == 0 {
            self.rto_deadline = None;
            return;
        }
        self.stats.timeouts += 1;
        self.unanswered += 1;
        let una = self.snd_una();
        let first = self.ledger.record_at(una).expect("something is outstanding");
        // RFC 5681, 3.1: held only for what this timer, not fast retransmit, has sent again.
        let again = self.timed_out_at.replace(una) == Some(una);
        if first.sacked {
            // RFC 2018, section 8: the peer has dropped what it had sacked.
            self.ledger.forget_sacked();
        }
        let flight_size = self.ledger.flight_size();
        // What is repeated, or belongs to a fast recovery, is part of one reduction: only if the
        // original of what was sent again first has arrived, all of it was needless.
        if !again && !self.recovery.in_recovery() {
            self.watch_reduction(true);
        }
        self.reduced = true;
        self.timeout_until = Some(self.snd_nxt());
        for lost in self.recovery.lost_by_timeout(now, &self.ledger) {
            self.hold_lost(now, lost);
        }
        self.recovery.on_timeout(&self.ledger);
        let congested = self.congested(now, flight_size);
        self.congestion.on_timeout(&congested, again);
        self.end_reduction();
        self.rtt.back_off();
        self.rto_deadline = Some(self.rtt.deadline(now));
        self.forced = Some(Forced::FirstLost);
    }
}

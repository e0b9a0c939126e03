//! Letting timers expire: those of the path, of recovery and of what keeps a segment back.

use super::Sender;
use super::gate::Forced;
use crate::tcp::cause::Cause;
use crate::time::{Instant, earliest};

impl Sender {
    /// When [`Sender::on_timer`] is to be called, if ever.
    pub fn poll_timer(&self) -> Option<Instant> {
        let ours = earliest(self.timers.poll(), self.gate.poll_timer());
        earliest(ours, self.flight.poll_timer())
    }

    /// Whether the peer's window has been closed for so long that it was probed.
    pub fn probes_closed_window(&self) -> bool {
        self.timers.has_probed()
    }

    /// Lets expire what is due at `now`.
    pub fn on_timer(&mut self, now: Instant) {
        let recovering = self.flight.in_recovery();
        if let Some(verdict) = self.flight.on_timer(now, &self.timers.timing()) {
            let loss = !verdict.lost.is_empty();
            self.apply(now, verdict, self.flight.size(), recovering);
            if loss {
                self.step(None, loss);
            }
        }
        // After recovery's own timer: a probe sets this one anew (RFC 8985, 7.3).
        if self.timers.is_timed_out(now) {
            self.on_retransmission_timeout(now);
        }
        if self.timers.probe_if_due(now) {
            self.gate.force(Forced::Persist(Cause::WindowProbe));
        }
        self.gate.on_timer(now);
        self.check();
    }

    /// The peer is heard, though it has acknowledged nothing new: the next timeout is a plain one,
    /// and never later than it would have been.
    pub fn end_back_off(&mut self, now: Instant) {
        self.timers.end_back_off(now);
    }

    /// Asks the peer whether it is still there (RFC 9293, 3.8.4): the next segment is one that it
    /// answers. Counts as unanswered until it does.
    pub fn keep_alive(&mut self) {
        self.elicit();
        self.timers.ask();
    }

    /// The next segment is one that the peer answers. Whether it does says nothing.
    pub fn elicit(&mut self) {
        self.gate.force_at_least(Forced::Persist(Cause::KeepAlive));
    }

    /// RFC 6298, rules 5.4 to 5.6; RFC 5681, 3.1; RFC 6675, 5.1.
    fn on_retransmission_timeout(&mut self, now: Instant) {
        let (una, nxt, flight_size) = (self.snd_una(), self.snd_nxt(), self.flight.size());
        self.tally.stats.timeouts += 1;
        self.tally.stats.fin_timeouts += u64::from(una == self.stream.written());
        self.tally.stats.recovery_timeouts += u64::from(self.flight.in_recovery());
        self.tally.recovers(now, nxt);
        let before = self.cwnd();
        // RFC 5681, 3.1: held only for what this timer, not fast retransmit, has retransmitted.
        let again = self.timers.on_timeout(now, una);
        // What is repeated, or belongs to a fast recovery, is part of one reduction: only if the
        // original of what was retransmitted first has arrived, all of it was needless.
        if !again && !self.flight.in_recovery() {
            self.cwnd.watch(nxt, true, &self.config);
        }
        let cwnd = &mut self.cwnd;
        self.flight.on_timeout(now, |lost| cwnd.lost(lost));
        let event = self.congestion_event(now, flight_size);
        self.cwnd.on_timeout(&event, nxt, again);
        self.tally.window(before, self.cwnd());
        self.forget_unheard();
        self.gate.force(Forced::FirstLost(Cause::Timeout));
    }
}

//! What of a sender's state an observer sees.

use super::Sender;
use super::spare_copies::SpareCopies;
use crate::tcp::limiter::Limiter;
use crate::tcp::observation::Phase;
use crate::time::Instant;
use crate::units::Bytes;

impl Sender {
    /// What keeps the next segment back; None if one may leave.
    ///
    /// It is found in the state, without a clock: what has a timer keeps the segment back until
    /// that expires. It is what [`Sender::poll_transmit`] returns, unless a probe of recovery's has
    /// found no segment.
    pub fn limiter(&self) -> Option<Limiter> {
        if self.is_quiet() {
            return Some(self.all_sent());
        }
        if self.gate.is_forced() {
            return None;
        }
        if self.gate.is_marked() {
            return Some(Limiter::Mark);
        }
        match self.choose() {
            Err(Limiter::Cwnd) => Some(Limiter::Cwnd),
            Err(limiter) if !self.has_spare_copy() => Some(limiter),
            Ok(_) | Err(_) => self.gate.limiter(),
        }
    }

    /// Whether a retransmission is to be sent once more.
    fn has_spare_copy(&self) -> bool {
        let next = |copies: &SpareCopies| copies.peek(self.flight.ledger());
        let next = self.spare_copies.as_ref().and_then(next);
        next.is_some_and(|range| self.may_copy(&range))
    }

    /// What it takes the network for now.
    pub fn phase(&self) -> Phase {
        if self.flight.in_recovery() {
            Phase::Recovery
        } else if self.cwnd.repairs_timeout(self.snd_una()) {
            Phase::Loss
        } else {
            Phase::Open
        }
    }

    /// Bytes that were ever delivered, as acknowledgments and SACK blocks report them.
    pub fn delivered(&self) -> Bytes {
        self.flight.ledger().delivered()
    }

    /// Bytes that were ever taken for lost.
    pub fn lost(&self) -> Bytes {
        self.flight.ledger().lost_bytes()
    }

    /// When the retransmission timer expires, while it runs (RFC 6298).
    pub fn retransmission_timer(&self) -> Option<Instant> {
        self.timers.retransmission()
    }

    /// When the persist timer expires, while it runs (RFC 9293, 3.8.6.1).
    pub fn persist_timer(&self) -> Option<Instant> {
        self.timers.persist()
    }

    /// When recovery's own timer expires, while it runs: for reordering, or to probe (RFC 8985).
    pub fn recovery_timer(&self) -> Option<Instant> {
        self.flight.poll_timer()
    }
}

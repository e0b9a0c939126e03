//! What of a sender's state an observer sees.

use super::Sender;
use crate::tcp::limiter::Limiter;
use crate::tcp::observation::Phase;
use crate::time::Instant;
use crate::units::Bytes;

impl Sender {
    /// What keeps the next segment back, after [`Sender::poll_transmit`] has given none. None before that:
    /// something has changed since, and nobody has asked.
    pub fn limiter(&self) -> Option<Limiter> {
        let limiter = Limiter::of(self.waits())?;
        let over = self.stream.is_finished() && self.snd_nxt() >= self.stream.end();
        Some(if limiter == Limiter::Application && over { Limiter::Closed } else { limiter })
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

//! A server that is answered before its client has answered it (`handshake = "downstream-first"`,
//! bharadwaj-2001, 3.2).
//!
//! Whoever acknowledges the SYN-ACK takes over the server's duties: the SYN-ACK is repeated until the
//! client acknowledges it, and what the server says meanwhile is kept. It is sent before that only
//! to a gateway that has said it takes it, never to a host: the SYN's source may be forged, and
//! would be sent what it has not asked for.

use super::leg::{CLIENT, SERVER};
use super::split::Split;
use super::syn::Relay;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::{Flags, SeqNum, TcpHeader};

/// The SYN-ACK is repeated after this long, then after twice as long (RFC 6298, 2.1 and 5.5).
const FIRST_REPETITION: Duration = Duration::from_secs(1);
/// The longest time between two repetitions, so that several fall within the handshake's time.
const MOST_BETWEEN: Duration = Duration::from_secs(8);

/// A client that has not acknowledged its SYN-ACK.
#[derive(Debug)]
pub(crate) struct Unconfirmed {
    syn_seq: SeqNum,
    synack: Relay,
    /// Data may be sent before the acknowledgment.
    takes_early_data: bool,
    repeat_at: Instant,
    interval: Duration,
    /// How long the client may be silent.
    patience: Duration,
    deadline: Instant,
}

impl Unconfirmed {
    /// The SYN numbered `syn_seq` has been answered with `synack`.
    pub(super) fn new(
        now: Instant,
        syn_seq: SeqNum,
        synack: Relay,
        patience: Duration,
    ) -> Unconfirmed {
        Unconfirmed {
            syn_seq,
            synack,
            takes_early_data: false,
            repeat_at: now + FIRST_REPETITION,
            interval: FIRST_REPETITION,
            patience,
            deadline: now + patience,
        }
    }

    /// The same towards a gateway that takes data before the client's acknowledgment, or not.
    pub(super) fn with_early_data(self, takes_early_data: bool) -> Unconfirmed {
        Unconfirmed { takes_early_data, ..self }
    }
}

impl<B: Buffer> Split<B> {
    /// Whether the client has yet to acknowledge its SYN-ACK.
    pub(crate) fn is_unconfirmed(&self) -> bool {
        self.unconfirmed.is_some()
    }

    /// Whether nothing may be sent on `leg` but the SYN-ACK.
    pub(super) fn is_held_back(&self, leg: usize) -> bool {
        let unconfirmed = self.unconfirmed.as_ref().filter(|_| leg == CLIENT);
        unconfirmed.is_some_and(|unconfirmed| !unconfirmed.takes_early_data)
    }

    /// Answers the client's SYN if it comes again. Whether a segment from `leg` is to be taken:
    /// before the SYN-ACK is acknowledged, only one that does so (RFC 9293, 3.10.7.4).
    pub(super) fn passes_handshake(&mut self, now: Instant, leg: usize, tcp: &TcpHeader) -> bool {
        let Some(unconfirmed) = self.unconfirmed.as_mut().filter(|_| leg == CLIENT) else {
            return true;
        };
        if tcp.has(Flags::RST) {
            return true;
        }
        if tcp.has(Flags::SYN) {
            // Another SYN than the one that was answered is challenged.
            if tcp.has(Flags::ACK) || tcp.seq != unconfirmed.syn_seq {
                return true;
            }
            unconfirmed.deadline = now + unconfirmed.patience;
            let (ip, synack) = unconfirmed.synack.clone();
            self.control.push_back((CLIENT, ip, synack));
            return false;
        }
        tcp.has(Flags::ACK) && tcp.ack.distance_from(unconfirmed.synack.1.seq + 1) >= 0
    }

    /// When the SYN-ACK is to be repeated or the client given up, if ever.
    pub(super) fn unconfirmed_at(&self) -> Option<Instant> {
        let unconfirmed = self.unconfirmed.as_ref()?;
        Some(unconfirmed.repeat_at.min(unconfirmed.deadline))
    }

    /// Repeats the SYN-ACK, or resets the server of a client that is not there.
    pub(super) fn expire_unconfirmed(&mut self, now: Instant) {
        let Some(unconfirmed) = &mut self.unconfirmed else { return };
        if unconfirmed.deadline <= now {
            self.lost += self.undelivered(SERVER);
            return self.reset_both(now);
        }
        if unconfirmed.repeat_at <= now {
            unconfirmed.interval = (unconfirmed.interval * 2).min(MOST_BETWEEN);
            unconfirmed.repeat_at = now + unconfirmed.interval;
            let (ip, synack) = unconfirmed.synack.clone();
            self.control.push_back((CLIENT, ip, synack));
        }
    }
}

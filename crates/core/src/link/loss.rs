//! Independent random loss: of whole packets, and of packets that bit errors have damaged.
//!
//! A packet of `n` bytes arrives without a bit error with probability (1 − ber)^(8n): errors are
//! independent, no code corrects them, and the receiver's checksum finds every one.

use super::schedule::{Timeline, Varying};
use crate::time::Instant;
use crate::units::Probability;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A packet that a line has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmission {
    /// When its first bit began to be sent.
    pub began: Instant,
    /// When its last bit had been sent.
    pub ended: Instant,
    /// Its length on the wire in bytes, its frame included.
    pub wire_len: u64,
}

/// Decides which packets a link loses.
pub trait LossModel {
    /// Whether the packet that was sent so is lost. Transmissions come in order.
    fn loses(&mut self, sent: &Transmission) -> bool;

    /// Whether nothing at all of it arrives, not even its header.
    fn silences(&self, _sent: &Transmission) -> bool {
        false
    }
}

/// How likely a packet of `wire_len` bytes is to be lost, when packets are with probability
/// `packet_loss` and bits are wrong with probability `bit_errors`.
pub fn loss_probability(packet_loss: Probability, bit_errors: Probability, wire_len: u64) -> f64 {
    let packet = packet_loss.value();
    let ber = bit_errors.value();
    if ber == 0.0 || wire_len == 0 {
        return packet;
    }
    // 1 − (1 − ber)^bits without cancellation at small rates.
    let damaged = -f64::exp_m1(8.0 * wire_len as f64 * f64::ln_1p(-ber));
    packet + (1.0 - packet) * damaged
}

/// Every packet and every bit has its own, independent chance. The same seed gives the same
/// losses: one draw for each packet that can be lost and can arrive, from PCG (O'Neill 2014),
/// whose output is fixed by its definition.
#[derive(Debug, Clone)]
pub struct RandomLoss {
    packet_loss: Timeline<Probability>,
    bit_errors: Timeline<Probability>,
    /// For what the probability was last computed, and what it is: packets of one length come in
    /// rows.
    last: (Probability, Probability, u64),
    probability: f64,
    rng: Pcg64Mcg,
}

impl RandomLoss {
    /// Loses a packet with probability `packet_loss`, or when one of its bits, each with
    /// probability `bit_errors`, is wrong. Both are those of the moment when its last bit is sent.
    pub fn new(
        packet_loss: impl Into<Varying<Probability>>,
        bit_errors: impl Into<Varying<Probability>>,
        seed: u64,
    ) -> RandomLoss {
        RandomLoss {
            packet_loss: Timeline::new(packet_loss.into()),
            bit_errors: Timeline::new(bit_errors.into()),
            last: (Probability::ZERO, Probability::ZERO, 0),
            probability: 0.0,
            rng: Pcg64Mcg::seed_from_u64(seed),
        }
    }
}

impl LossModel for RandomLoss {
    #[inline]
    fn loses(&mut self, sent: &Transmission) -> bool {
        let packet_loss = self.packet_loss.at(sent.ended);
        let bit_errors = self.bit_errors.at(sent.ended);
        if packet_loss == Probability::ZERO && bit_errors == Probability::ZERO {
            return false;
        }
        let given = (packet_loss, bit_errors, sent.wire_len);
        if given != self.last {
            self.last = given;
            self.probability = loss_probability(packet_loss, bit_errors, sent.wire_len);
        }
        happens(&mut self.rng, self.probability)
    }
}

/// Draws whether something of `probability` happens; nothing is drawn for what is sure.
#[inline]
pub(super) fn happens(rng: &mut Pcg64Mcg, probability: f64) -> bool {
    probability >= 1.0 || (probability > 0.0 && rng.random::<f64>() < probability)
}

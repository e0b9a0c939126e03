//! Independent random loss: of whole packets, and of packets that bit errors have damaged.
//!
//! A packet of `n` bytes arrives without a bit error with probability (1 − ber)^(8n): errors are
//! independent, no code corrects them, and the receiver's checksum finds every one.

use crate::time::Instant;
use crate::units::Probability;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Decides which packets a link loses.
pub trait LossModel {
    /// Whether the packet of `wire_len` bytes whose last bit is sent at `now` is lost.
    fn loses(&mut self, now: Instant, wire_len: u64) -> bool;
}

/// Every packet and every bit has its own, independent chance. The same seed gives the same
/// losses: one draw a packet, from PCG (O'Neill 2014), whose output is fixed by its definition.
#[derive(Debug, Clone)]
pub struct RandomLoss {
    packet_loss: Probability,
    bit_errors: Probability,
    rng: Pcg64Mcg,
}

impl RandomLoss {
    /// Loses a packet with probability `packet_loss`, or when one of its bits, each with
    /// probability `bit_errors`, is wrong.
    pub fn new(packet_loss: Probability, bit_errors: Probability, seed: u64) -> RandomLoss {
        RandomLoss { packet_loss, bit_errors, rng: Pcg64Mcg::seed_from_u64(seed) }
    }

    /// How likely a packet of `wire_len` bytes is to be lost.
    pub fn probability(&self, wire_len: u64) -> f64 {
        let packet = self.packet_loss.value();
        let ber = self.bit_errors.value();
        if ber == 0.0 || wire_len == 0 {
            return packet;
        }
        // 1 − (1 − ber)^bits without cancellation at small rates.
        let damaged = -f64::exp_m1(8.0 * wire_len as f64 * f64::ln_1p(-ber));
        packet + (1.0 - packet) * damaged
    }
}

impl LossModel for RandomLoss {
    fn loses(&mut self, _now: Instant, wire_len: u64) -> bool {
        self.rng.random::<f64>() < self.probability(wire_len)
    }
}

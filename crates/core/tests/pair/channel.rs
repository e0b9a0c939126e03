//! A faulty channel: packets are lost, delayed past each other, duplicated and damaged.
//!
//! Segments cross it as bytes, so that checksums are what protects them. Super-segments are cut
//! into segments before, as a network card's TSO does.

use bentpipe_core::tcp::ecn::Ecn;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::{Checksum, Flags, IpHeader, Packet, TcpHeader, Verify, emit};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::net::IpAddr;

/// How bad a channel is. Probabilities are per packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Faults {
    pub(crate) delay: Duration,
    pub(crate) loss: f64,
    /// A packet is delayed by up to another `jitter`.
    pub(crate) reorder: f64,
    pub(crate) jitter: Duration,
    pub(crate) duplicate: f64,
    pub(crate) corrupt: f64,
    /// A packet that may be marked instead of dropped is.
    pub(crate) mark: f64,
    /// Super-segments are cut before they enter (else they cross whole).
    pub(crate) cut: bool,
}

impl Faults {
    pub(crate) const NONE: Faults = Faults {
        delay: Duration::from_millis(10),
        loss: 0.0,
        reorder: 0.0,
        jitter: Duration::ZERO,
        duplicate: 0.0,
        corrupt: 0.0,
        mark: 0.0,
        cut: true,
    };
}

/// Both directions of a channel.
#[derive(Debug)]
pub(crate) struct Channel {
    faults: Faults,
    rng: Pcg64Mcg,
}

impl Channel {
    pub(crate) fn new(faults: Faults, seed: u64) -> Channel {
        Channel { faults, rng: Pcg64Mcg::seed_from_u64(seed) }
    }

    /// Sends one segment from end `from` at `now`; `deliver` hears what arrives when.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        (tcp, ecn): (&TcpHeader, Ecn),
        payload: &[u8],
        smss: usize,
        mut deliver: impl FnMut(Instant, Vec<u8>),
    ) {
        let mss = if self.faults.cut { smss } else { usize::MAX };
        for (tcp, part) in cut(tcp, payload, mss) {
            if self.rng.random_bool(self.faults.loss) {
                continue;
            }
            let marked = ecn != Ecn::NotCapable && self.rng.random_bool(self.faults.mark);
            let ecn = if marked { Ecn::Experienced } else { ecn };
            let copies = 1 + usize::from(self.rng.random_bool(self.faults.duplicate));
            for _ in 0..copies {
                let mut bytes = to_bytes(&tcp, part, ecn);
                if self.rng.random_bool(self.faults.corrupt) {
                    let bit = self.rng.random_range(0..bytes.len() * 8);
                    bytes[bit / 8] ^= 1 << (bit % 8);
                    match Packet::parse(&bytes, Verify::Full) {
                        // Only the IP header's own fields (TTL, DSCP, ...) lie outside TCP's sum.
                        Ok(packet) => {
                            assert_eq!((&packet.tcp, packet.payload), (&tcp, part), "bit {bit}");
                        }
                        Err(_) => continue,
                    }
                }
                let mut at = now + self.faults.delay;
                if self.rng.random_bool(self.faults.reorder) {
                    at += self.faults.jitter.mul_f64(self.rng.random());
                }
                deliver(at, bytes);
            }
        }
    }
}

/// Cuts a segment into parts of at most `mss` bytes: sequence numbers advance, FIN and PSH stay
/// on the last part, CWR on the first.
fn cut<'a>(
    tcp: &TcpHeader,
    payload: &'a [u8],
    mss: usize,
) -> impl Iterator<Item = (TcpHeader, &'a [u8])> {
    let parts = payload.len().div_ceil(mss).max(1);
    let tcp = tcp.clone();
    (0..parts).map(move |i| {
        let start = i * mss;
        let end = payload.len().min(start.saturating_add(mss));
        let mut part = TcpHeader { seq: tcp.seq + start as u64, ..tcp.clone() };
        if i + 1 < parts {
            part.flags = part.flags.without(Flags::FIN | Flags::PSH);
        }
        if i > 0 {
            part.flags = part.flags.without(Flags::CWR);
        }
        (part, &payload[start..end])
    })
}

fn to_bytes(tcp: &TcpHeader, payload: &[u8], ecn: Ecn) -> Vec<u8> {
    let ip = IpHeader {
        traffic_class: ecn.bits(),
        ..IpHeader::between(IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]))
    };
    let mut bytes = emit(&ip, tcp, [payload].into_iter(), Checksum::Full).to_vec();
    bytes.extend_from_slice(payload);
    bytes
}

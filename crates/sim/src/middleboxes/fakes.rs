//! Fakes ahead of a host's segments, as circumvention tools send them: a censor on the way is to
//! see other bytes than the server, which the fakes do not reach, or which does not take them.

use crate::node::Middlebox;
use crate::packet::{Body, Content, Packet};
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{Flags, IpHeader};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::cell::Cell;
use std::rc::Rc;

/// How a fake is told from the segment that it precedes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fake {
    /// Its hop limit ends before the server.
    LowHopLimit,
    /// It has an MD5 signature (RFC 2385), and the SYN had none.
    Signed,
}

/// The hop limit of a fake.
const LOW: u8 = 4;

/// Sends them ahead of some segments that come in by port 0.
#[derive(Debug)]
pub struct Fakes {
    rng: Pcg64Mcg,
    fake: Fake,
    share: f64,
    sent: Rc<Cell<u64>>,
}

impl Fakes {
    /// Ahead of this share of the segments with data.
    pub fn new(fake: Fake, share: f64, seed: u64) -> Fakes {
        Fakes { rng: Pcg64Mcg::seed_from_u64(seed), fake, share, sent: Rc::default() }
    }

    /// How many were sent, which goes on.
    pub fn sent(&self) -> Rc<Cell<u64>> {
        Rc::clone(&self.sent)
    }
}

impl Middlebox for Fakes {
    fn handle(
        &mut self,
        _now: Instant,
        port: usize,
        packet: Packet,
        send: &mut dyn FnMut(usize, Packet),
    ) {
        if let Content::Tcp(tcp, body) = &packet.content
            && port == 0
            && !tcp.has(Flags::SYN)
            && !body.is_empty()
            && self.rng.random::<f64>() < self.share
        {
            self.sent.update(|sent| sent + 1);
            let bytes = body.to_bytes().into_iter().map(|byte| !byte).collect();
            let (mut ip, mut tcp) = (packet.ip, tcp.clone());
            match self.fake {
                Fake::LowHopLimit => ip = IpHeader { hop_limit: LOW, ..ip },
                Fake::Signed => tcp.options.other = [&[19, 18][..], &[1; 16]].concat(),
            }
            send(1, Packet::tcp(ip, tcp, Body::Bytes(bytes)));
        }
        send(1 - port, packet);
    }
}

/// Where fakes end: hops before the server, or in its TCP, which knows signatures.
#[derive(Debug, Clone, Copy)]
pub struct FakesEnd {
    /// The port by which they come in.
    pub from: usize,
}

impl Middlebox for FakesEnd {
    fn handle(
        &mut self,
        _now: Instant,
        port: usize,
        packet: Packet,
        send: &mut dyn FnMut(usize, Packet),
    ) {
        if port != self.from || !is_fake(&packet) {
            send(1 - port, packet);
        }
    }
}

/// Whether a packet ends there.
pub(crate) fn is_fake(packet: &Packet) -> bool {
    let Content::Tcp(tcp, _) = &packet.content else { return false };
    tcp.options.is_signed() || packet.ip.hop_limit <= LOW
}

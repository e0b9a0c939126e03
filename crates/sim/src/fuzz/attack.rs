//! Forged segments and ICMP errors, and what their author knows.
//!
//! An attacker off the path knows addresses and ports, and guesses the rest; it must not do any
//! harm. One that has guessed a number within the window must not either, as long as RFC 5961 has
//! an answer to it: a RST that is not exactly where the next byte is expected, a SYN, data whose
//! acknowledgment is out of range. (Whoever sees the traffic can do worse, and no TCP helps.)

use super::edges::{Edges, WireState};
use super::plan::{Call, FaultPlan};
use super::stage::{BOXES, NEAR_SIDE, SATELLITE_SIDE};
use crate::packet::{Body, Content, Packet};
use crate::world::World;
use bentpipe_core::tcp::tcb::Tcb;
use bentpipe_core::wire::{
    Flags, IcmpError, IcmpErrorKind, IpHeader, SeqNum, TcpHeader, Timestamps,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::net::IpAddr;

/// Somebody forges a segment or an ICMP error.
#[derive(Debug, Clone, Copy)]
pub struct Attack {
    /// Of this connection.
    pub call: usize,
    /// In whose name: the caller's (0) or that of the called (1).
    pub name: usize,
    /// Where it comes in: at the box near the alleged sender, at the other one, or at the victim.
    pub place: usize,
    /// What it is.
    pub forgery: Forgery,
    /// All that is drawn for it.
    pub seed: u64,
}

/// A forged segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgery {
    /// Any flags, numbers and data, by somebody who knows neither number.
    Blind,
    /// A RST within the window, but not where the next byte is expected.
    Reset,
    /// A SYN within the window.
    Syn,
    /// Data or a FIN within the window, with an acknowledgment of what was never sent.
    WrongAck,
    /// Other data in the place of what was acknowledged long ago.
    Stale,
    /// An ICMP error about a segment of the victim's: too big for any MTU, or unreachable for any
    /// reason. Some quote what is outstanding.
    Icmp,
    /// So many SYNs, each from another port, some from addresses where nobody is.
    Flood(u8),
}

/// Further from the last acknowledgment than anything that is not acknowledged yet: data in order
/// is, within two segments.
const BEYOND_DELAYED: u32 = 8 * 1460;

/// What forged errors say: old routers' nothing, less than anybody believes, and more than there
/// was.
const MTUS: [u32; 9] = [0, 1, 68, 552, 576, 1280, 1400, 9000, 65_535];

impl Attack {
    /// Injects the forgery, if there is what it is aimed at. How many segments were injected.
    pub(super) fn strike(&self, plan: &FaultPlan, edges: &Edges, world: &mut World) -> u64 {
        let call = &plan.calls[self.call];
        let mut rng = Pcg64Mcg::seed_from_u64(self.seed);
        if let Forgery::Flood(count) = self.forgery {
            self.flood(plan, call, count, &mut rng, world);
            return u64::from(count);
        }
        if self.forgery == Forgery::Icmp {
            return u64::from(self.complain(plan, call, edges, &mut rng, world).is_some());
        }
        // Before the handshake is complete there is nothing yet that could be told from a forgery.
        let known = call.reports(world).map(|report| report.is_some_and(|r| r.connected.is_some()));
        if known != [true, true] {
            return 0;
        }
        let Some((tcp, body)) = self.forge(plan, call, &mut rng, edges, world) else { return 0 };
        let (from, to) = (call.host(self.name), call.host(1 - self.name));
        let ip = header(plan.addresses[from], plan.addresses[to]);
        let (node, port) = self.entrance(from, to);
        world.inject(node, port, Packet::tcp(ip, tcp, body));
        1
    }

    fn entrance(&self, from: usize, to: usize) -> (usize, usize) {
        match self.place {
            0 => (BOXES[from], NEAR_SIDE),
            1 => (BOXES[to], SATELLITE_SIDE),
            _ => (to, 0),
        }
    }

    fn forge(
        &self,
        plan: &FaultPlan,
        call: &Call,
        rng: &mut Pcg64Mcg,
        edges: &Edges,
        world: &World,
    ) -> Option<(TcpHeader, Body)> {
        let (src_port, dst_port) = (call.keys[self.name].0, call.keys[1 - self.name].0);
        let mut tcp =
            TcpHeader { src_port, dst_port, window: rng.random(), ..TcpHeader::default() };
        if rng.random() {
            tcp.options.timestamps = Some(Timestamps { value: rng.random(), echo: rng.random() });
        }
        let mut len = rng.random_range(1..1460_usize);
        if self.forgery == Forgery::Blind {
            (tcp.seq, tcp.ack) = (SeqNum(rng.random()), SeqNum(rng.random()));
            tcp.flags = Flags(rng.random());
            len *= usize::from(rng.random::<bool>());
            return Some((tcp, junk(len, rng)));
        }
        let seen = self.seen(plan, call, edges)?;
        let inside = (BEYOND_DELAYED < seen.window)
            .then(|| rng.random_range(BEYOND_DELAYED..seen.window))
            .map(|beyond| seen.ack + u64::from(beyond));
        tcp.ack = seen.seq;
        tcp.flags = Flags::ACK;
        match self.forgery {
            Forgery::Reset => {
                (tcp.seq, tcp.flags, len) = (inside?, Flags::RST, 0);
                if self.hits(call, tcp.seq, world) {
                    return None;
                }
            }
            Forgery::Syn => (tcp.seq, tcp.flags, len) = (inside?, Flags::SYN, 0),
            Forgery::WrongAck => {
                tcp.seq = inside.unwrap_or(seen.ack);
                // Neither below what was sent, by less than a window, nor within it.
                tcp.ack = seen.seq + rng.random_range(0x1000_0000..0x7000_0000_u64);
                if rng.random() {
                    tcp.flags = Flags::ACK | Flags::FIN;
                }
            }
            Forgery::Stale => {
                let back = rng.random_range(len as u32..60_000);
                tcp.seq = SeqNum(seen.ack.0.wrapping_sub(back));
                // What a gateway that has crashed since had acknowledged, its host still waits for
                // (fault seed 50774817).
                let expected = self.victim(call, world).map(expected);
                let end = tcp.seq + len as u64;
                if plan.may_break() && expected.is_none_or(|at| end.distance_from(at) > 0) {
                    return None;
                }
            }
            Forgery::Blind | Forgery::Icmp | Forgery::Flood(_) => return None,
        }
        Some((tcp, junk(len, rng)))
    }

    /// Injects an ICMP error about a segment that the victim has sent, or has not.
    fn complain(
        &self,
        plan: &FaultPlan,
        call: &Call,
        edges: &Edges,
        rng: &mut Pcg64Mcg,
        world: &mut World,
    ) -> Option<()> {
        let (from, to) = (call.host(self.name), call.host(1 - self.name));
        let blind = SeqNum(rng.random());
        let seq = match self.seen(plan, call, edges) {
            Some(seen) if rng.random() => seen.seq,
            _ => blind,
        };
        let (src_port, dst_port) = (call.keys[1 - self.name].0, call.keys[self.name].0);
        let tcp = TcpHeader { src_port, dst_port, seq, flags: Flags::ACK, ..TcpHeader::default() };
        let ip = header(plan.addresses[to], plan.addresses[from]);
        let quoted = Packet::tcp(ip, tcp, junk(1400, rng)).to_bytes()?;
        let kind = match rng.random() {
            true => IcmpErrorKind::PacketTooBig { mtu: MTUS[rng.random_range(0..MTUS.len())] },
            false => IcmpErrorKind::Unreachable { code: rng.random_range(0..16) },
        };
        let content = Content::Error(IcmpError::emit(kind, plan.router(), &quoted)?);
        let ip = header(plan.router(), plan.addresses[to]);
        let (node, port) = self.entrance(from, to);
        world.inject(node, port, Packet::new(ip, content));
        Some(())
    }

    /// What is to be seen of whom the forgery reaches first.
    fn seen(&self, plan: &FaultPlan, call: &Call, edges: &Edges) -> Option<WireState> {
        let [src, dst] = [1 - self.name, self.name].map(|end| plan.endpoint(call, end));
        let (from, to) = (call.host(self.name), call.host(1 - self.name));
        let (node, _) = self.entrance(from, to);
        // A box that speaks in nobody's name passes it on.
        [node, BOXES[to], to].into_iter().find_map(|node| edges.seen(node, src, dst))
    }

    /// Whether the victim happens to expect just this number: a box that was seen to speak may
    /// have forgotten the connection since.
    fn hits(&self, call: &Call, seq: SeqNum, world: &World) -> bool {
        self.victim(call, world)
            .is_none_or(|tcb| seq.distance_from(expected(tcb)).unsigned_abs() < 4)
    }

    /// The host that the forgery is aimed at, unless its connection is gone.
    fn victim<'a>(&self, call: &Call, world: &'a World) -> Option<&'a Tcb> {
        call.tcb(world, 1 - self.name)
    }

    fn flood(
        &self,
        plan: &FaultPlan,
        call: &Call,
        count: u8,
        rng: &mut Pcg64Mcg,
        world: &mut World,
    ) {
        let (from, to) = (call.host(0), call.host(1));
        let (node, port) = self.entrance(from, to);
        for _ in 0..count {
            let nobody = match plan.addresses[from] {
                IpAddr::V4(_) => IpAddr::from([10, 9, 9, rng.random()]),
                IpAddr::V6(_) => IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 9, rng.random()]),
            };
            let src = if rng.random() { plan.addresses[from] } else { nobody };
            let tcp = TcpHeader {
                src_port: rng.random_range(20_000..u16::MAX),
                dst_port: call.keys[1].0,
                seq: SeqNum(rng.random()),
                flags: Flags::SYN,
                window: rng.random(),
                ..TcpHeader::default()
            };
            world.inject(
                node,
                port,
                Packet::tcp(header(src, plan.addresses[to]), tcp, Body::EMPTY),
            );
        }
    }
}

/// The number at which the next segment to it should begin.
pub(super) fn expected(tcb: &Tcb) -> SeqNum {
    tcb.handshake().rcv_isn + tcb.receiver.expected()
}

fn header(src: IpAddr, dst: IpAddr) -> IpHeader {
    IpHeader { hop_limit: 33, ..IpHeader::between(src, dst) }
}

fn junk(len: usize, rng: &mut Pcg64Mcg) -> Body {
    Body::Bytes((0..len).map(|_| rng.random()).collect())
}

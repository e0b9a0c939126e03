//! The programs that run in the kernel: one takes packets off a device into a TUN device of ours, the other one puts onto the
//! device what we write there.
//!
//! Both read a packet in the same way. Of IPv4 and IPv6, with options but without extension headers, they look at TCP
//! and at ICMP errors about TCP (RFC 792, RFC 4443), and name the connection. Fragments of TCP have no ports behind the first,
//! so all of them are named by their addresses.
//!
//! What is taken: a connection's packets from its SYN on, until it is exempt or forgotten; fragments always. Nothing is taken if we
//! have given no sign of life for [`PATIENCE`]: then the packet goes on its way. Nor is what this host would not take itself:
//! frames for others or for all, which would say where the connection's packets are to go.
//!
//! Registers: R6 is the packet, R7 the connection's [`Path`], R8 where what is looked at begins, R9 what the packet is.

use super::ends::Ends;
use super::path::{L2, Path};
use crate::bpf::assembler::Helper::{
    KtimeGetNs, MapLookup, MapUpdate, Redirect, SkbChangeHead, SkbLoadBytes, SkbStoreBytes,
};
use crate::bpf::assembler::If::{Above, AboveSigned, AnyBit, Different, Equal};
use crate::bpf::assembler::Op::{Add, And, Shl, Sub};
use crate::bpf::assembler::Reg::{R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10};
use crate::bpf::assembler::Size::{B, D, H, W};
use crate::bpf::assembler::{Arg, Assembler, Reg};
use crate::bpf::map::Plain;
use std::os::fd::RawFd;
use std::time::Duration;

/// For so long we may give no sign of life.
pub(crate) const PATIENCE: Duration = Duration::from_millis(800);

/// On which way a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// From this host to the device.
    Out = 0,
    /// From the device to this host.
    In = 1,
}

/// What a program refers to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Links {
    /// The map from [`Ends`] to [`Path`].
    pub(crate) paths: RawFd,
    /// The map from [`Ends`] to when the connection began that is exempt.
    pub(crate) exempt: RawFd,
    /// The array of one number, the time of our last sign of life (`CLOCK_MONOTONIC`, in ns).
    pub(crate) beat: RawFd,
    /// What marks the packets that are ours on their second way through the device, as a traffic class index: no
    /// number of a class that is in use.
    pub(crate) seal: u16,
}

// Fields of `struct __sk_buff`.
const SKB_PKT_TYPE: i16 = 4;
const SKB_MARK: i16 = 8;
const SKB_PROTOCOL: i16 = 16;
const SKB_VLAN_PRESENT: i16 = 20;
const SKB_IFINDEX: i16 = 40;
const SKB_TC_INDEX: i16 = 44;

// On the stack, below R10.
/// The packet's [`Ends`].
const KEY: i16 = -40;
const INNER: i16 = KEY;
const OUTER: i16 = KEY + 16;
const PORTS: i16 = KEY + Ends::PORTS;
/// An IP header.
const IP: i16 = -80;
/// What comes behind it.
const TRANSPORT: i16 = -96;
/// A new [`Path`].
const NEW: i16 = -152;
/// A time.
const TIME: i16 = -160;
/// The number of the only beat.
const ZERO: i16 = -4;

/// Goes on, to whatever else is attached and then to where it was going.
const PASS: i32 = -1;
const DROP: i32 = 2;
const ANY: i32 = 0;
const TO_INGRESS: i32 = 1;

const TCP: i32 = 6;
/// `PACKET_HOST`
const FOR_THIS_HOST: i32 = 0;
const ICMP: i32 = 1;
const ICMPV6: i32 = 58;
const FRAGMENT: i32 = 44;
const ASKS: i32 = 0x02;
/// FIN, SYN, RST and ACK.
const OPENING_FLAGS: i32 = 0x17;

/// What a packet is, in R9: what begins a connection, anything else of one, an ICMP error about it, or a fragment.
const OTHER: i32 = 0;
const BEGINS: i32 = 1;
const ERROR: i32 = 2;
const PIECE: i32 = 3;

fn be16(value: u16) -> i32 {
    i32::from(value.to_be())
}

/// The program that takes packets from a device, those that come in or are about to leave, into the TUN device `tun`.
/// They have `l2` bytes in front of the IP header.
pub(crate) fn take(way: Way, l2: usize, links: Links, tun: u32) -> Assembler {
    let mut asm = Assembler::default();
    asm.mov(R6, R1);
    // What we have put there passes, and bears nothing of ours any more.
    asm.load(W, R2, R6, SKB_TC_INDEX)
        .jump_if(R2, Different, i32::from(links.seal), "fresh")
        .mov(R2, 0)
        .store(W, R6, SKB_TC_INDEX, R2)
        .jump("pass")
        .label("fresh");
    asm.load(W, R2, R6, SKB_VLAN_PRESENT).jump_if(R2, Different, 0, "pass");
    if way == Way::In {
        asm.load(W, R2, R6, SKB_PKT_TYPE).jump_if(R2, Different, FOR_THIS_HOST, "pass");
    }
    name(&mut asm, way, l2 as i32, "pass");
    asm.jump_if(R9, Equal, BEGINS, "begins");
    look_up(&mut asm, links.paths);
    asm.jump_if(R0, Different, 0, "known").jump_if(R9, Different, PIECE, "pass");

    // What went before under this name is over.
    asm.label("begins");
    alive(&mut asm, links, "pass");
    fill(&mut asm, way, l2);
    asm.map(R1, links.paths)
        .mov(R2, R10)
        .alu(Add, R2, i32::from(KEY))
        .mov(R3, R10)
        .alu(Add, R3, i32::from(NEW))
        .mov(R4, ANY)
        .call(MapUpdate)
        .jump_if(R0, Equal, 0, "take")
        .jump("pass");

    asm.label("known").mov(R7, R0);
    look_up(&mut asm, links.exempt);
    asm.jump_if(R0, Equal, 0, "ours")
        .load(D, R2, R0, 0)
        .load(D, R3, R7, Path::BEGAN)
        .jump_if(R2, Equal, R3, "pass")
        .label("ours");
    alive(&mut asm, links, "pass");
    asm.jump_if(R9, Equal, ERROR, "take");
    asm.load(W, R2, R6, SKB_IFINDEX).store(W, R7, Path::DEVICES[way as usize], R2);
    if way == Way::Out {
        asm.load(W, R2, R6, SKB_MARK).store(W, R7, Path::MARK, R2);
    }
    if l2 > 0 {
        load_bytes(&mut asm, 0.into(), (R7, Path::L2[way as usize]), L2 as i32);
    }
    asm.label("take").mov(R1, tun as i32).mov(R2, 0).call(Redirect).exit();
    asm.label("pass").mov(R0, PASS).exit();
    asm
}

/// The program that puts what we have written into a TUN device, and comes in there, onto the device of its connection: to
/// leave by it, or as if it had come from it.
pub(crate) fn give(way: Way, links: Links) -> Assembler {
    let mut asm = Assembler::default();
    asm.mov(R6, R1);
    name(&mut asm, way, 0, "drop");
    look_up(&mut asm, links.paths);
    asm.jump_if(R0, Equal, 0, "drop").mov(R7, R0);
    asm.load(W, R2, R7, Path::HAS_L2).jump_if(R2, Equal, 0, "bare");
    asm.mov(R1, R6)
        .mov(R2, L2 as i32)
        .mov(R3, 0)
        .call(SkbChangeHead)
        .jump_if(R0, Different, 0, "drop")
        .mov(R1, R6)
        .mov(R2, 0)
        .mov(R3, R7)
        .alu(Add, R3, i32::from(Path::L2[way as usize]))
        .mov(R4, L2 as i32)
        .mov(R5, 0)
        .call(SkbStoreBytes)
        .jump_if(R0, Different, 0, "drop")
        .label("bare");
    asm.mov(R2, i32::from(links.seal)).store(W, R6, SKB_TC_INDEX, R2);
    match way {
        Way::Out => asm.load(W, R2, R7, Path::MARK),
        Way::In => asm.mov(R2, 0),
    };
    asm.store(W, R6, SKB_MARK, R2);
    let flags = if way == Way::In { TO_INGRESS } else { 0 };
    asm.load(W, R1, R7, Path::DEVICES[way as usize]).mov(R2, flags).call(Redirect).exit();
    asm.label("drop").mov(R0, DROP).exit();
    asm
}

/// Writes the packet's [`Ends`] to [`KEY`] and what it is into R9, or goes on at `other` if it is none of a connection's. Its IP header
/// is behind `l2` bytes.
fn name(asm: &mut Assembler, way: Way, l2: i32, other: &'static str) {
    asm.load(W, R2, R6, SKB_PROTOCOL).jump_if(R2, Equal, be16(0x0800), "four").jump_if(
        R2,
        Different,
        be16(0x86dd),
        other,
    );

    // IPv6.
    load_bytes(asm, l2.into(), (R10, IP), 40);
    asm.jump_if(R0, Different, 0, other);
    addresses_of_six(asm, way);
    asm.mov(R8, l2 + 40)
        .load(B, R2, R10, IP + 6)
        .jump_if(R2, Equal, TCP, "tcp")
        .jump_if(R2, Equal, ICMPV6, "error of six")
        .jump_if(R2, Different, FRAGMENT, other);
    load_bytes(asm, R8.into(), (R10, TRANSPORT), 8);
    asm.jump_if(R0, Different, 0, other)
        .load(B, R2, R10, TRANSPORT)
        .jump_if(R2, Equal, TCP, "fragment")
        .jump(other);

    asm.label("error of six");
    load_bytes(asm, R8.into(), (R10, TRANSPORT), 1);
    asm.jump_if(R0, Different, 0, other)
        .load(B, R2, R10, TRANSPORT)
        .jump_if(R2, Equal, 0, other)
        .jump_if(R2, Above, 4, other)
        .alu(Add, R8, 8);
    load_bytes(asm, R8.into(), (R10, IP), 40);
    asm.jump_if(R0, Different, 0, other)
        .load(B, R2, R10, IP + 6)
        .jump_if(R2, Different, TCP, other)
        .alu(Add, R8, 40);
    addresses_of_six(asm, back(way));
    asm.jump("quoted ports");

    // IPv4.
    asm.label("four");
    load_bytes(asm, l2.into(), (R10, IP), 20);
    asm.jump_if(R0, Different, 0, other);
    addresses_of_four(asm, way);
    header_length(asm);
    asm.mov(R8, R2).alu(Add, R8, l2).load(B, R2, R10, IP + 9);
    asm.jump_if(R2, Equal, ICMP, "error of four")
        .jump_if(R2, Different, TCP, other)
        .load(H, R2, R10, IP + 6)
        .jump_if(R2, AnyBit, be16(0x3fff), "fragment")
        .jump("tcp");

    asm.label("error of four");
    asm.load(H, R2, R10, IP + 6).jump_if(R2, AnyBit, be16(0x3fff), other);
    load_bytes(asm, R8.into(), (R10, TRANSPORT), 1);
    asm.jump_if(R0, Different, 0, other).load(B, R2, R10, TRANSPORT);
    for error in [3, 4, 11, 12] {
        asm.jump_if(R2, Equal, error, "quotes four");
    }
    asm.jump(other).label("quotes four").alu(Add, R8, 8);
    load_bytes(asm, R8.into(), (R10, IP), 20);
    asm.jump_if(R0, Different, 0, other)
        .load(B, R2, R10, IP + 9)
        .jump_if(R2, Different, TCP, other)
        .load(H, R2, R10, IP + 6)
        .jump_if(R2, AnyBit, be16(0x1fff), other);
    addresses_of_four(asm, back(way));
    header_length(asm);
    asm.alu(Add, R8, R2);

    asm.label("quoted ports").mov(R9, ERROR);
    load_bytes(asm, R8.into(), (R10, TRANSPORT), 4);
    asm.jump_if(R0, Different, 0, other);
    ports(asm, back(way));
    asm.jump("named");

    asm.label("fragment").mov(R9, PIECE).mov(R2, 0).store(W, R10, PORTS, R2).jump("named");

    asm.label("tcp").mov(R9, OTHER);
    load_bytes(asm, R8.into(), (R10, TRANSPORT), 14);
    asm.jump_if(R0, Different, 0, other);
    ports(asm, way);
    asm.load(B, R2, R10, TRANSPORT + 13)
        .alu(And, R2, OPENING_FLAGS)
        .jump_if(R2, Different, ASKS, "named")
        .mov(R9, BEGINS)
        .label("named");
}

fn back(way: Way) -> Way {
    match way {
        Way::Out => Way::In,
        Way::In => Way::Out,
    }
}

/// Where the source and the destination of a packet on this way belong.
fn places<T>(way: Way, inner: T, outer: T) -> [T; 2] {
    match way {
        Way::Out => [inner, outer],
        Way::In => [outer, inner],
    }
}

fn addresses_of_six(asm: &mut Assembler, way: Way) {
    for (from, to) in [IP + 8, IP + 24].into_iter().zip(places(way, INNER, OUTER)) {
        for part in [0, 8] {
            asm.load(D, R2, R10, from + part).store(D, R10, to + part, R2);
        }
    }
}

fn addresses_of_four(asm: &mut Assembler, way: Way) {
    for (from, to) in [IP + 12, IP + 16].into_iter().zip(places(way, INNER, OUTER)) {
        asm.mov(R2, 0)
            .store(D, R10, to, R2)
            .mov(R2, (0xffff_u32.to_be()) as i32)
            .store(W, R10, to + 8, R2)
            .load(W, R2, R10, from)
            .store(W, R10, to + 12, R2);
    }
}

/// The length of the header at [`IP`] into R2.
fn header_length(asm: &mut Assembler) {
    asm.load(B, R2, R10, IP).alu(And, R2, 0x0f).alu(Shl, R2, 2);
}

fn ports(asm: &mut Assembler, way: Way) {
    for (from, to) in [0, 2].into_iter().zip(places(way, PORTS, PORTS + 2)) {
        asm.load(H, R2, R10, TRANSPORT + from).store(H, R10, to, R2);
    }
}

/// Loads bytes of the packet from an offset into memory. R0 is not zero if it is shorter.
fn load_bytes(asm: &mut Assembler, from: Arg, (base, to): (Reg, i16), len: i32) {
    asm.mov(R2, from)
        .mov(R1, R6)
        .mov(R3, base)
        .alu(Add, R3, i32::from(to))
        .mov(R4, len)
        .call(SkbLoadBytes);
}

/// What a map from [`Ends`] has for the packet's, into R0.
fn look_up(asm: &mut Assembler, map: RawFd) {
    asm.map(R1, map).mov(R2, R10).alu(Add, R2, i32::from(KEY)).call(MapLookup);
}

/// Goes on at `other` if we have given no sign of life lately. The time is left at [`TIME`].
fn alive(asm: &mut Assembler, links: Links, other: &'static str) {
    asm.mov(R2, 0)
        .store(W, R10, ZERO, R2)
        .map(R1, links.beat)
        .mov(R2, R10)
        .alu(Add, R2, i32::from(ZERO))
        .call(MapLookup)
        .jump_if(R0, Equal, 0, other)
        .load(D, R1, R0, 0)
        .store(D, R10, IP, R1);
    // Behind the beat, so that it is no later than that.
    asm.call(KtimeGetNs).store(D, R10, TIME, R0).load(D, R1, R10, IP).alu(Sub, R0, R1).jump_if(
        R0,
        AboveSigned,
        PATIENCE.as_nanos() as i32,
        other,
    );
}

/// Writes the [`Path`] of a packet on this way, at [`TIME`], to [`NEW`]. The other way is taken to be the same, backwards.
fn fill(asm: &mut Assembler, way: Way, l2: usize) {
    asm.mov(R2, 0);
    for at in (0..Path::LEN as i16).step_by(8) {
        asm.store(D, R10, NEW + at, R2);
    }
    asm.load(D, R2, R10, TIME).store(D, R10, NEW + Path::BEGAN, R2);
    asm.load(W, R2, R6, SKB_IFINDEX);
    for at in Path::DEVICES {
        asm.store(W, R10, NEW + at, R2);
    }
    if way == Way::Out {
        asm.load(W, R2, R6, SKB_MARK).store(W, R10, NEW + Path::MARK, R2);
    }
    if l2 == 0 {
        return;
    }
    asm.mov(R2, 1).store(W, R10, NEW + Path::HAS_L2, R2);
    let (here, there) = (NEW + Path::L2[way as usize], NEW + Path::L2[1 - way as usize]);
    load_bytes(asm, 0.into(), (R10, here), L2 as i32);
    for (from, to) in [(0, 6), (2, 8), (4, 10), (6, 0), (8, 2), (10, 4), (12, 12)] {
        asm.load(H, R2, R10, here + from).store(H, R10, there + to, R2);
    }
}

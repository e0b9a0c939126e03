//! The classification of packets by the programs that run in the kernel.
//!
//! Of IPv4 and IPv6, with options but without extension headers, they look at TCP and at ICMP
//! errors about TCP (RFC 792, RFC 4443), and name the connection. Fragments of TCP have no ports
//! behind the first, so all of them are named by their addresses, and so are UDP to port 443 where
//! that is to be rejected, and errors about it.
//!
//! Registers: R6 is the packet, R8 where what is looked at begins, R9 what the packet is.

use super::endpoints::Endpoints;
use bentpipe_linux::bpf::assembler::Helper::SkbLoadBytes;
use bentpipe_linux::bpf::assembler::If::{Above, AnyBit, Different, Equal};
use bentpipe_linux::bpf::assembler::Op::{Add, And, Shl};
use bentpipe_linux::bpf::assembler::Reg::{R0, R1, R2, R3, R4, R6, R8, R9, R10};
use bentpipe_linux::bpf::assembler::Size::{B, D, H, W};
use bentpipe_linux::bpf::assembler::{Arg, Assembler, Reg};

/// On which way a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// From this host to the device.
    Out = 0,
    /// From the device to this host.
    In = 1,
}

/// Of `struct __sk_buff`.
const SKB_PROTOCOL: i16 = 16;

// On the stack, below R10.
/// The packet's [`Endpoints`].
pub(super) const KEY: i16 = -40;
const INNER: i16 = KEY;
const OUTER: i16 = KEY + 16;
const PORTS: i16 = KEY + Endpoints::PORTS;
/// An IP header.
pub(super) const IP: i16 = -80;
/// What comes behind it. Others may use what is below.
pub(super) const TRANSPORT: i16 = -96;

pub(super) const TCP: i32 = 6;
pub(super) const UDP: i32 = 17;
pub(super) const QUIC: u16 = 443;
const ICMP: i32 = 1;
const ICMPV6: i32 = 58;
pub(super) const FRAGMENT: i32 = 44;
const ASKS: i32 = 0x02;
const ANSWERED: i32 = 0x12;
/// FIN, SYN, RST and ACK.
const OPENING_FLAGS: i32 = 0x17;

// What a packet is, in R9.
/// One in the middle of a connection.
pub(super) const OTHER: i32 = 0;
/// An ICMP error about it.
pub(super) const ERROR: i32 = 1;
/// Its SYN.
pub(super) const BEGINS: i32 = 2;
/// Its SYN-ACK.
pub(super) const ANSWERS: i32 = 3;
/// What is known by its addresses alone.
pub(super) const PIECE: i32 = 4;

pub(super) fn be16(value: u16) -> i32 {
    i32::from(value.to_be())
}

/// What of UDP is named, by its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Udp {
    Nothing,
    /// What goes to port 443.
    Asks,
    /// ICMP errors about it.
    IsAnswered,
}

/// Writes the packet's [`Endpoints`] to [`KEY`] and what it is into R9, or goes on at `other` if it
/// is none of a connection's. Its IP header is behind `l2` bytes.
pub(super) fn name(asm: &mut Assembler, way: Way, l2: i32, udp: Udp, other: &'static str) {
    asm.load(W, R2, R6, SKB_PROTOCOL).jump_if(R2, Equal, be16(0x0800), "four").jump_if(
        R2,
        Different,
        be16(0x86dd),
        other,
    );

    // IPv6.
    load_bytes(asm, l2.into(), (R10, IP), 40);
    asm.jump_if(R0, Different, 0, other)
        .mov(R8, l2 + 40)
        .load(B, R9, R10, IP + 6)
        .jump_if(R9, Equal, TCP, "six")
        .jump_if(R9, Equal, ICMPV6, "error of six");
    if udp == Udp::Asks {
        asm.jump_if(R9, Equal, UDP, "six");
    }
    asm.jump_if(R9, Different, FRAGMENT, other).label("six");
    addresses_of_six(asm, way);
    asm.jump_if(R9, Equal, TCP, "tcp");
    if udp == Udp::Asks {
        asm.jump_if(R9, Equal, UDP, "udp");
    }
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
    asm.jump_if(R0, Different, 0, other).alu(Add, R8, 40);
    addresses_of_six(asm, back(way));
    asm.load(B, R2, R10, IP + 6).jump("quoted");

    // IPv4.
    asm.label("four");
    load_bytes(asm, l2.into(), (R10, IP), 20);
    asm.jump_if(R0, Different, 0, other);
    header_length(asm);
    asm.mov(R8, R2)
        .alu(Add, R8, l2)
        .load(B, R9, R10, IP + 9)
        .jump_if(R9, Equal, TCP, "four of these")
        .jump_if(R9, Equal, ICMP, "error of four");
    match udp {
        Udp::Asks => asm.jump_if(R9, Different, UDP, other),
        Udp::Nothing | Udp::IsAnswered => asm.jump(other),
    };
    asm.label("four of these");
    addresses_of_four(asm, way);
    if udp == Udp::Asks {
        asm.jump_if(R9, Equal, UDP, "udp of four");
    }
    asm.load(H, R2, R10, IP + 6).jump_if(R2, AnyBit, be16(0x3fff), "fragment").jump("tcp");

    asm.label("error of four");
    asm.load(H, R2, R10, IP + 6).jump_if(R2, AnyBit, be16(0x3fff), other);
    load_bytes(asm, R8.into(), (R10, TRANSPORT), 1);
    asm.jump_if(R0, Different, 0, other).load(B, R2, R10, TRANSPORT);
    for error in [3, 4, 11, 12] {
        asm.jump_if(R2, Equal, error, "quotes four");
    }
    asm.jump(other).label("quotes four").alu(Add, R8, 8);
    load_bytes(asm, R8.into(), (R10, IP), 20);
    asm.jump_if(R0, Different, 0, other).load(H, R2, R10, IP + 6).jump_if(
        R2,
        AnyBit,
        be16(0x1fff),
        other,
    );
    addresses_of_four(asm, back(way));
    header_length(asm);
    asm.alu(Add, R8, R2).load(B, R2, R10, IP + 9);

    asm.label("quoted");
    if udp == Udp::IsAnswered {
        asm.jump_if(R2, Equal, UDP, "fragment");
    }
    asm.jump_if(R2, Different, TCP, other).mov(R9, ERROR);
    load_bytes(asm, R8.into(), (R10, TRANSPORT), 4);
    asm.jump_if(R0, Different, 0, other);
    ports(asm, back(way));
    asm.jump("named");

    if udp == Udp::Asks {
        asm.label("udp of four")
            .load(H, R2, R10, IP + 6)
            .jump_if(R2, AnyBit, be16(0x3fff), other)
            .label("udp");
        load_bytes(asm, R8.into(), (R10, TRANSPORT), 4);
        asm.jump_if(R0, Different, 0, other).load(H, R2, R10, TRANSPORT + 2).jump_if(
            R2,
            Different,
            be16(QUIC),
            other,
        );
    }
    asm.label("fragment").mov(R9, PIECE).mov(R2, 0).store(W, R10, PORTS, R2).jump("named");

    asm.label("tcp").mov(R9, OTHER);
    load_bytes(asm, R8.into(), (R10, TRANSPORT), 14);
    asm.jump_if(R0, Different, 0, other);
    ports(asm, way);
    asm.load(B, R2, R10, TRANSPORT + 13)
        .alu(And, R2, OPENING_FLAGS)
        .jump_if(R2, Equal, ASKS, "asks")
        .jump_if(R2, Different, ANSWERED, "named")
        .mov(R9, ANSWERS)
        .jump("named")
        .label("asks")
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
pub(super) fn places<T>(way: Way, inner: T, outer: T) -> [T; 2] {
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
pub(super) fn header_length(asm: &mut Assembler) {
    asm.load(B, R2, R10, IP).alu(And, R2, 0x0f).alu(Shl, R2, 2);
}

fn ports(asm: &mut Assembler, way: Way) {
    for (from, to) in [0, 2].into_iter().zip(places(way, PORTS, PORTS + 2)) {
        asm.load(H, R2, R10, TRANSPORT + from).store(H, R10, to, R2);
    }
}

/// Loads bytes of the packet from an offset into memory. R0 is not zero if it is shorter.
pub(super) fn load_bytes(asm: &mut Assembler, from: Arg, (base, to): (Reg, i16), len: i32) {
    asm.mov(R2, from)
        .mov(R1, R6)
        .mov(R3, base)
        .alu(Add, R3, i32::from(to))
        .mov(R4, len)
        .call(SkbLoadBytes);
}

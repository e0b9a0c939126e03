//! The kernel programs' counting of packets that cross a device.
//!
//! Each is counted once, in packets and bytes, IP header included. One that passes is counted in
//! its class, and by the prefixes of both its addresses. One that is taken or given back has a
//! number of its own. A super-segment is as many packets as it will become, with the headers of
//! one.
//!
//! A packet that passes costs one or two loads of headers and three look-ups in maps, some 100
//! instructions. One that is taken costs one look-up, and 20. Each processor has counters of its
//! own but for the prefixes', to which it adds atomically.
//!
//! Registers: R6 is the packet, R7 its bytes, R8 where its transport header begins, R9 its class.

use super::classification::{
    FRAGMENT, IP, QUIC, TCP, TRANSPORT, UDP, Way, be16, header_length, load_bytes, places,
};
use super::passed::{Class, PrefixKey, TAKEN};
use bentpipe_gateway::Side;
use bentpipe_linux::bpf::assembler::Assembler;
use bentpipe_linux::bpf::assembler::Helper::{MapLookup, MapUpdate};
use bentpipe_linux::bpf::assembler::If::{AnyBit, Different, Equal};
use bentpipe_linux::bpf::assembler::Op::{Add, Shl};
use bentpipe_linux::bpf::assembler::Reg::{R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};
use bentpipe_linux::bpf::assembler::Size::{B, D, H, W};
use std::os::fd::RawFd;

/// The maps of [`PassedCounters`](super::passed::PassedCounters).
#[derive(Debug, Clone, Copy)]
pub(crate) struct CounterMaps {
    pub(crate) by_class: RawFd,
    pub(crate) by_prefix: RawFd,
}

// Fields of `struct __sk_buff`.
const SKB_LEN: i16 = 0;
const SKB_PROTOCOL: i16 = 16;
const SKB_GSO_SEGS: i16 = 164;

// On the stack, below R10. Nothing that stands there before a packet passes is needed any more.
/// A set's number.
const SET: i16 = -4;
/// The [`PrefixKey`]s.
const INNER: i16 = -24;
const OUTER: i16 = -40;
/// What a new prefix has.
const NOTHING: i16 = -112;

const NO_EXISTING: i32 = 1;

/// Counts a packet that passes, behind the label "pass", or one that was taken, behind the label
/// "taken". Then it goes on at `passed` or at `taken`.
pub(super) fn count_crossing(
    asm: &mut Assembler,
    way: Way,
    l2: i32,
    maps: CounterMaps,
    [passed, taken]: [&'static str; 2],
) {
    asm.label("pass");
    clear(asm);
    classify(asm, way, l2);
    asm.jump("tally").label("taken");
    clear(asm);
    asm.mov(R9, TAKEN).label("tally");
    asm.load(W, R7, R6, SKB_LEN).alu(Add, R7, -l2);
    asm.mov(R2, R9)
        .alu(Shl, R2, 1)
        .alu(Add, R2, way as i32)
        .store(W, R10, SET, R2)
        .map(R1, maps.by_class)
        .mov(R2, R10)
        .alu(Add, R2, i32::from(SET))
        .call(MapLookup)
        .jump_if(R0, Equal, 0, "tallied")
        .load(W, R2, R6, SKB_GSO_SEGS)
        .jump_if(R2, Different, 0, "of segments")
        .mov(R2, 1)
        .label("of segments")
        .load(D, R1, R0, 0)
        .alu(Add, R1, R2)
        .store(D, R0, 0, R1)
        .load(D, R1, R0, 8)
        .alu(Add, R1, R7)
        .store(D, R0, 8, R1)
        .label("tallied");
    asm.jump_if(R9, Equal, TAKEN, taken).jump_if(R9, Equal, Class::NotIp as i32, passed);
    credit(asm, way, maps.by_prefix, OUTER, ["outer has", "outer credited"]);
    credit(asm, way, maps.by_prefix, INNER, ["inner has", "inner credited"]);
    asm.jump(passed);
}

/// Clears both prefixes' keys.
///
/// The kernel also follows branches that no packet takes, as a processor does that guesses wrong
/// (Spectre), where a gateway has CAP_BPF and not CAP_PERFMON. On these, too, a look-up must read
/// nothing that was never written.
fn clear(asm: &mut Assembler) {
    asm.mov(R2, 0);
    for word in [OUTER, OUTER + 8, INNER, INNER + 8] {
        asm.store(D, R10, word, R2);
    }
}

/// Leaves the packet's class in R9, and both its prefixes on the stack if it is IP.
fn classify(asm: &mut Assembler, way: Way, l2: i32) {
    asm.load(W, R2, R6, SKB_PROTOCOL).jump_if(R2, Equal, be16(0x0800), "passes by four").jump_if(
        R2,
        Different,
        be16(0x86dd),
        "is not IP",
    );

    // IPv6.
    load_bytes(asm, l2.into(), (R10, IP), 40);
    asm.jump_if(R0, Different, 0, "is not IP").mov(R8, l2 + 40);
    for (from, to) in [IP + 8, IP + 24].into_iter().zip(places(way, INNER, OUTER)) {
        asm.load(D, R2, R10, from).store(D, R10, to, R2).store(B, R10, to + PrefixKey::ENDS[1], 0);
    }
    tag(asm, 6);
    asm.load(B, R2, R10, IP + 6).jump_if(R2, Different, FRAGMENT, "is whole");
    load_bytes(asm, R8.into(), (R10, TRANSPORT), 1);
    asm.jump_if(R0, Different, 0, "is other IP").load(B, R2, R10, TRANSPORT).jump("is a fragment");

    // IPv4.
    asm.label("passes by four");
    load_bytes(asm, l2.into(), (R10, IP), 20);
    asm.jump_if(R0, Different, 0, "is not IP");
    for (from, to) in [IP + 12, IP + 16].into_iter().zip(places(way, INNER, OUTER)) {
        asm.load(W, R2, R10, from)
            .store(W, R10, to, R2)
            .store(B, R10, to + PrefixKey::ENDS[0], 0)
            .store(W, R10, to + 4, 0);
    }
    tag(asm, 4);
    header_length(asm);
    asm.mov(R8, R2)
        .alu(Add, R8, l2)
        .load(B, R2, R10, IP + 9)
        .load(H, R3, R10, IP + 6)
        .jump_if(R3, AnyBit, be16(0x3fff), "is a fragment")
        .label("is whole")
        .jump_if(R2, Different, UDP, "has no ports");
    load_bytes(asm, R8.into(), (R10, TRANSPORT), 4);
    asm.jump_if(R0, Different, 0, "is UDP")
        .load(H, R2, R10, TRANSPORT)
        .jump_if(R2, Equal, be16(QUIC), "is QUIC")
        .load(H, R2, R10, TRANSPORT + 2)
        .jump_if(R2, Different, be16(QUIC), "is UDP")
        .label("is QUIC")
        .mov(R9, Class::Quic as i32)
        .jump("tally");

    // QUIC's datagrams are not fragmented (RFC 9000, 14).
    asm.label("is a fragment")
        .jump_if(R2, Equal, UDP, "is UDP")
        .label("has no ports")
        .jump_if(R2, Different, TCP, "is other IP")
        .mov(R9, Class::Tcp as i32)
        .jump("tally")
        .label("is UDP")
        .mov(R9, Class::Udp as i32)
        .jump("tally")
        .label("is other IP")
        .mov(R9, Class::OtherIp as i32)
        .jump("tally")
        .label("is not IP")
        .mov(R9, Class::NotIp as i32);
}

/// Writes side and version into both prefixes' keys, and zeros where the class will be.
fn tag(asm: &mut Assembler, version: u8) {
    for (key, side) in [(INNER, Side::Lan), (OUTER, Side::Satellite)] {
        let [side, version] = PrefixKey::tag(side, version);
        let tag = u32::from_ne_bytes([side, version, 0, 0]);
        asm.mov(R2, tag as i32).store(W, R10, key + PrefixKey::SIDE, R2);
    }
}

/// Adds the packet's bytes to a prefix.
fn credit(
    asm: &mut Assembler,
    way: Way,
    prefixes: RawFd,
    key: i16,
    [has, done]: [&'static str; 2],
) {
    let look_up = |asm: &mut Assembler| {
        asm.map(R1, prefixes).mov(R2, R10).alu(Add, R2, i32::from(key)).call(MapLookup);
    };
    asm.store(B, R10, key + PrefixKey::CLASS, R9);
    look_up(asm);
    asm.jump_if(R0, Different, 0, has)
        .mov(R2, 0)
        .store(D, R10, NOTHING, R2)
        .store(D, R10, NOTHING + 8, R2)
        .map(R1, prefixes)
        .mov(R2, R10)
        .alu(Add, R2, i32::from(key))
        .mov(R3, R10)
        .alu(Add, R3, i32::from(NOTHING))
        .mov(R4, NO_EXISTING)
        .call(MapUpdate);
    look_up(asm);
    asm.jump_if(R0, Equal, 0, done).label(has).add_atomically(R0, 8 * way as i16, R7).label(done);
}

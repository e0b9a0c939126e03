//! The programs that run in the kernel: one takes packets off a device into a TUN device of ours,
//! the other one puts onto the device what we write there.
//!
//! What is taken: a connection's packets from its SYN on, until it is forgotten; fragments always.
//! Nothing is taken once nobody vouches for us any more: then the packet goes on its way. Nor is
//! what this host would not take itself: frames for others or for all, which would say where the
//! connection's packets are to go. What IPsec has decrypted comes in by the device once more, and
//! passes: it would lose what its policy asks for.
//!
//! Where interfaces of a LAN are named, a connection that leaves is taken only if its SYN came in
//! there, and one that begins at the device is given up if its SYN-ACK did not: it is for this host
//! itself, or for others behind it. What is known already is taken wherever it came in, lest others
//! end it by a SYN of theirs.
//!
//! Registers: those of `classification`, which reads the packet; R7 is the connection's [`Path`].

use super::classification::{
    ANSWERS, BEGINS, ERROR, IP, KEY, OTHER, PIECE, Udp, Way, load_bytes, name,
};
use super::counting::{CounterMaps, count_crossing};
use super::path::{L2, Path};
use super::shared_values::SharedValue;
use bentpipe_linux::bpf::assembler::Assembler;
use bentpipe_linux::bpf::assembler::Helper::{
    CloneRedirect, KtimeGetNs, MapDelete, MapLookup, MapUpdate, Redirect, SkbChangeHead,
    SkbGetXfrmState, SkbStoreBytes,
};
use bentpipe_linux::bpf::assembler::If::{Above, AnyBit, Different, Equal};
use bentpipe_linux::bpf::assembler::Op::Add;
use bentpipe_linux::bpf::assembler::Reg::{R0, R1, R2, R3, R4, R5, R6, R7, R9, R10};
use bentpipe_linux::bpf::assembler::Size::{D, H, W};
use bentpipe_linux::bpf::map::Plain;
use std::os::fd::RawFd;

/// What a program refers to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Links {
    /// The map from [`Endpoints`](super::endpoints::Endpoints) to [`Path`].
    pub(crate) paths: RawFd,
    /// The same for what is named by addresses alone. There the oldest gives way, as it is known
    /// again with each packet.
    pub(crate) pieces: RawFd,
    /// The array of [`SharedValue`]s.
    pub(crate) values: RawFd,
    /// The counters of what crosses the device.
    pub(crate) counters: CounterMaps,
    /// The map whose keys are the numbers of the LAN's interfaces, if any are named.
    pub(crate) lan: Option<RawFd>,
    /// UDP to port 443 is taken.
    pub(crate) quic: bool,
    /// The kernel can say whether IPsec has decrypted a packet.
    pub(crate) ipsec: bool,
    /// What marks the packets that are ours on their second way through the device, as a traffic
    /// class index: no number of a class that is in use.
    pub(crate) seal: u16,
}

// Fields of `struct __sk_buff`.
const SKB_PKT_TYPE: i16 = 4;
const SKB_MARK: i16 = 8;
const SKB_VLAN_PRESENT: i16 = 20;
const SKB_PRIORITY: i16 = 32;
const SKB_INGRESS_IFINDEX: i16 = 36;
const SKB_IFINDEX: i16 = 40;
const SKB_TC_INDEX: i16 = 44;

// On the stack, below R10 and what `classification` has there.
/// A new [`Path`].
const NEW: i16 = -152;
/// A time.
const TIME: i16 = -160;
/// A key of four bytes.
const SHORT_KEY: i16 = -4;

/// Goes on, to whatever else is attached and then to where it was going.
const PASS: i32 = -1;
const DROP: i32 = 2;
const ANY: i32 = 0;
const TO_INGRESS: i32 = 1;

/// `PACKET_HOST`
const FOR_THIS_HOST: i32 = 0;
/// `PACKET_MULTICAST`: the last of what this host takes.
const FOR_MANY: i32 = 2;
/// `sizeof(struct bpf_xfrm_state)`
const XFRM_STATE: i32 = 28;

/// The program that takes packets from a device, those that come in or are about to leave, into the
/// TUN device `tun`. They have `l2` bytes in front of the IP header.
pub(crate) fn take(way: Way, l2: usize, links: Links, tun: u32) -> Assembler {
    let mut asm = Assembler::default();
    asm.mov(R6, R1);
    // What we have put there passes, and bears nothing of ours any more.
    asm.load(W, R2, R6, SKB_TC_INDEX)
        .jump_if(R2, Different, i32::from(links.seal), "fresh")
        .mov(R2, 0)
        .store(W, R6, SKB_TC_INDEX, R2);
    count(&mut asm, links, returned(way), "end");
    // What we put there to leave is on the satellite then, what comes in was counted before.
    asm.jump(if way == Way::Out { "taken" } else { "end" }).label("fresh");
    // A VLAN is another interface, and frames for others go nowhere.
    asm.load(W, R2, R6, SKB_VLAN_PRESENT).jump_if(R2, Different, 0, "end");
    if way == Way::In {
        asm.load(W, R2, R6, SKB_PKT_TYPE).jump_if(R2, Above, FOR_MANY, "end").jump_if(
            R2,
            Different,
            FOR_THIS_HOST,
            "pass",
        );
        if links.ipsec {
            asm.mov(R1, R6)
                .mov(R2, 0)
                .mov(R3, R10)
                .alu(Add, R3, i32::from(IP))
                .mov(R4, XFRM_STATE)
                .mov(R5, 0)
                .call(SkbGetXfrmState)
                .jump_if(R0, Equal, 0, "end");
        }
    }
    let quic = links.quic && way == Way::Out;
    name(&mut asm, way, l2 as i32, if quic { Udp::Asks } else { Udp::Nothing }, "pass");
    if let (Way::Out, Some(lan)) = (way, links.lan) {
        asm.jump_if(R9, Equal, OTHER, "ours to take")
            .jump_if(R9, Equal, ERROR, "ours to take")
            .load(W, R2, R6, SKB_INGRESS_IFINDEX)
            .store(W, R10, SHORT_KEY, R2)
            .map(R1, lan)
            .mov(R2, R10)
            .alu(Add, R2, i32::from(SHORT_KEY))
            .call(MapLookup)
            .jump_if(R0, Different, 0, "the LAN's")
            .jump_if(R9, Equal, PIECE, "pass");
        look_up(&mut asm, links.paths);
        asm.jump_if(R0, Equal, 0, "a stranger's")
            .jump_if(R9, Equal, BEGINS, "known")
            .load(W, R2, R0, Path::FLAGS)
            .jump_if(R2, AnyBit, Path::UNANSWERED, "forget")
            .jump("known")
            .label("a stranger's");
        count_stranger(&mut asm, links);
        asm.label("the LAN's")
            .jump_if(R9, Equal, BEGINS, "begun")
            .jump_if(R9, Different, ANSWERS, "ours to take")
            .label("begun");
        count(&mut asm, links, SharedValue::Begun, "ours to take");
        asm.label("ours to take");
    }
    asm.jump_if(R9, Equal, BEGINS, "begins").jump_if(R9, Equal, PIECE, "piece");
    look_up(&mut asm, links.paths);
    asm.jump_if(R0, Different, 0, "known").jump_if(R9, Different, OTHER, "pass");
    within(&mut asm, links, SharedValue::AllUntil, "pass");

    // What went before under this name is over.
    asm.label("begins");
    within(&mut asm, links, SharedValue::VouchedUntil, "forget");
    fill(&mut asm, way, l2);
    asm.map(R1, links.paths).jump("keep").label("piece");
    within(&mut asm, links, SharedValue::VouchedUntil, "pass");
    fill(&mut asm, way, l2);
    asm.map(R1, links.pieces)
        .label("keep")
        .mov(R2, R10)
        .alu(Add, R2, i32::from(KEY))
        .mov(R3, R10)
        .alu(Add, R3, i32::from(NEW))
        .mov(R4, ANY)
        .call(MapUpdate)
        .jump_if(R0, Equal, 0, "take")
        .jump("forget");

    asm.label("known").mov(R7, R0);
    within(&mut asm, links, SharedValue::VouchedUntil, "by");
    asm.jump_if(R9, Equal, ERROR, "take");
    asm.load(W, R2, R6, SKB_IFINDEX).store(W, R7, Path::DEVICES[way as usize], R2);
    if way == Way::Out {
        asm.load(W, R2, R6, SKB_MARK).store(W, R7, Path::MARK, R2);
        asm.load(W, R2, R6, SKB_PRIORITY).store(W, R7, Path::PRIORITY, R2);
    }
    if l2 > 0 {
        load_bytes(&mut asm, 0.into(), (R7, Path::L2[way as usize]), L2 as i32);
    }
    asm.mov(R2, i32::from(l2 > 0)).store(W, R7, Path::FLAGS, R2);
    asm.label("take").jump(if way == Way::In { "taken" } else { "redirect" }).label("by");
    count(&mut asm, links, SharedValue::WentBy, "pass");
    asm.jump("pass");
    asm.label("forget")
        .map(R1, links.paths)
        .mov(R2, R10)
        .alu(Add, R2, i32::from(KEY))
        .call(MapDelete);
    let behind = if way == Way::In { "redirect" } else { "end" };
    count_crossing(&mut asm, way, l2 as i32, links.counters, ["end", behind]);
    asm.label("redirect");
    point_to(&mut asm, links, SharedValue::Copies);
    asm.jump_if(R0, Equal, 0, "away")
        .load(D, R2, R0, 0)
        .jump_if(R2, Equal, 0, "away")
        .mov(R1, R6)
        .mov(R2, tun as i32)
        .mov(R3, 0)
        .call(CloneRedirect)
        .jump("end");
    asm.label("away").mov(R1, tun as i32).mov(R2, 0).call(Redirect).exit();
    asm.label("end").mov(R0, PASS).exit();
    asm
}

/// The program that puts what we have written into a TUN device, and comes in there, onto the
/// device of its connection: to leave by it, or as if it had come from it.
pub(crate) fn give(way: Way, links: Links) -> Assembler {
    let mut asm = Assembler::default();
    asm.mov(R6, R1);
    let quic = if links.quic { Udp::IsAnswered } else { Udp::Nothing };
    name(&mut asm, way, 0, quic, "drop");
    asm.jump_if(R9, Equal, PIECE, "piece");
    look_up(&mut asm, links.paths);
    asm.jump_if(R0, Equal, 0, "unknown").mov(R7, R0).jump("known").label("piece");
    look_up(&mut asm, links.pieces);
    asm.jump_if(R0, Equal, 0, "unknown").mov(R7, R0).label("known");
    asm.load(W, R2, R7, Path::FLAGS).jump_if(R2, AnyBit, Path::HAS_L2, "framed").jump("bare");
    asm.label("framed")
        .mov(R1, R6)
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
    if way == Way::Out {
        asm.load(W, R2, R7, Path::MARK).store(W, R6, SKB_MARK, R2);
        asm.load(W, R2, R7, Path::PRIORITY).store(W, R6, SKB_PRIORITY, R2);
    } else {
        asm.mov(R2, 0).store(W, R6, SKB_MARK, R2);
    }
    let flags = if way == Way::In { TO_INGRESS } else { 0 };
    asm.load(W, R1, R7, Path::DEVICES[way as usize]).mov(R2, flags).call(Redirect).exit();
    // That it goes nowhere is our will, and not the device's.
    asm.label("unknown");
    count(&mut asm, links, returned(way), "drop");
    asm.label("drop").mov(R0, DROP).exit();
    asm
}

/// Where packets of ours are counted on this way.
fn returned(way: Way) -> SharedValue {
    match way {
        Way::Out => SharedValue::ReturnedOut,
        Way::In => SharedValue::ReturnedIn,
    }
}

/// What a map from [`Endpoints`](super::endpoints::Endpoints) has for the packet's, into R0.
fn look_up(asm: &mut Assembler, map: RawFd) {
    asm.map(R1, map).mov(R2, R10).alu(Add, R2, i32::from(KEY)).call(MapLookup);
}

/// What a [`SharedValue`] points to, into R0, which is zero if it is not there.
fn point_to(asm: &mut Assembler, links: Links, value: SharedValue) {
    asm.mov(R2, value as i32)
        .store(W, R10, SHORT_KEY, R2)
        .map(R1, links.values)
        .mov(R2, R10)
        .alu(Add, R2, i32::from(SHORT_KEY))
        .call(MapLookup);
}

/// Adds one to a [`SharedValue`]. `pass` is where it goes on if there is none.
fn count(asm: &mut Assembler, links: Links, value: SharedValue, pass: &'static str) {
    point_to(asm, links, value);
    asm.jump_if(R0, Equal, 0, pass).mov(R1, 1).add_atomically(R0, 0, R1);
}

/// Counts a SYN that leaves and came in by an interface that is none of the LAN's, or is this
/// host's own; then it passes.
fn count_stranger(asm: &mut Assembler, links: Links) {
    asm.jump_if(R9, Different, BEGINS, "pass")
        .load(W, R7, R6, SKB_INGRESS_IFINDEX)
        .jump_if(R7, Equal, 0, "pass");
    count(asm, links, SharedValue::Strange, "pass");
    point_to(asm, links, SharedValue::StrangeFrom);
    asm.jump_if(R0, Equal, 0, "pass").store(D, R0, 0, R7).jump("pass");
}

/// Goes on at `other` if the time that a [`SharedValue`] is has come. What it is now is left at
/// [`TIME`].
fn within(asm: &mut Assembler, links: Links, value: SharedValue, other: &'static str) {
    point_to(asm, links, value);
    asm.jump_if(R0, Equal, 0, other)
        .load(D, R1, R0, 0)
        .store(D, R10, IP, R1)
        .call(KtimeGetNs)
        .store(D, R10, TIME, R0)
        .load(D, R1, R10, IP)
        .jump_if(R0, Above, R1, other);
}

/// Writes the [`Path`] of a packet on this way, at [`TIME`], to [`NEW`]. The other way is taken to
/// be the same, backwards.
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
        asm.load(W, R2, R6, SKB_PRIORITY).store(W, R10, NEW + Path::PRIORITY, R2);
    }
    let flags = if l2 > 0 { Path::HAS_L2 } else { 0 };
    let more = if way == Way::In { Path::UNANSWERED } else { 0 };
    asm.mov(R2, flags | more).store(W, R10, NEW + Path::FLAGS, R2);
    if l2 == 0 {
        return;
    }
    let (here, there) = (NEW + Path::L2[way as usize], NEW + Path::L2[1 - way as usize]);
    load_bytes(asm, 0.into(), (R10, here), L2 as i32);
    for (from, to) in [(0, 6), (2, 8), (4, 10), (6, 0), (8, 2), (10, 4), (12, 12)] {
        asm.load(H, R2, R10, here + from).store(H, R10, there + to, R2);
    }
}

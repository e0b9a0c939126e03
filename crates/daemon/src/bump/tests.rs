//! The programs, in the kernel that this runs on. It takes root.

mod crossing;
mod packet;

use super::classification::Way;
use super::endpoints::Endpoints;
use super::path::Path;
use super::programs::{Links, give, take};
use super::table::{PATIENCE, Table};
use super::wire::links;
use super::{BumpError, OLDEST};
use bentpipe_linux::bpf::BpfError;
use bentpipe_linux::bpf::map::Map;
use bentpipe_linux::bpf::program::Program;
use bentpipe_linux::kernel_version::KernelVersion;
use packet::{ACK, Packet, SYN, end, some};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

const SEAL: u16 = 0xb9e5;
const TUN: u32 = 77;
const DEVICE: u32 = 1;
const MARK: u32 = 9;
const PRIORITY: u32 = 5;
/// To and from: the first is that of the device on which the kernel runs tests.
const MACS: [u8; 12] = [0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2];
const PASSED: u32 = u32::MAX;
const TAKEN: u32 = 7;

/// In one line. What a later kernel refuses has another reason.
#[test]
fn refusal_of_an_old_kernel_says_that_it_is_old() {
    let refused = || BumpError::from(BpfError::Permission);
    let old = refused().on(KernelVersion(5, 4)).to_string();
    let remedy = "this is Linux 5.4, and a gateway takes 5.10 or later: install a newer kernel";
    assert_eq!(old, format!("{remedy} (no permission to load programs)"));
    assert_eq!(refused().on(OLDEST).to_string(), BpfError::Permission.to_string());
}

/// Programs as they are attached to a device and to TUN devices, and what they share with us.
struct Kernel {
    table: Table,
    lan: Option<Map<u32, u32>>,
    take: [Program; 2],
}

impl Kernel {
    /// None where the kernel lets nobody of our privileges do that.
    fn new() -> Option<Kernel> {
        Kernel::with(false, false)
    }

    /// The same with interfaces of a LAN, of which there are none yet, and with QUIC to be
    /// rejected.
    fn with(lan: bool, quic: bool) -> Option<Kernel> {
        let table = match Table::new(1000) {
            Err(BpfError::Permission) => {
                eprintln!("skipped: needs root that may load programs into the kernel");
                return None;
            }
            table => table.expect("a map"),
        };
        let lan: Option<Map<u32, u32>> = lan.then(|| Map::hash("test_lan", 10).expect("a map"));
        let lan_fd = lan.as_ref().map(Map::fd);
        let links = Links { lan: lan_fd, quic, ipsec: false, seal: SEAL, ..links(&table) };
        let take = [Way::Out, Way::In].map(|way| {
            Program::load("test_take", take(way, 14, links, TUN)).expect("it is verified")
        });
        for way in [Way::Out, Way::In] {
            Program::load("test_give", give(way, links)).expect("it is verified");
        }
        Some(Kernel { table, lan, take })
    }

    /// What becomes of a frame on its way, while somebody vouches for us.
    fn run(&self, way: Way, frame: &[u8]) -> u32 {
        loop {
            let began = Instant::now();
            self.table.vouching().vouch(PATIENCE).expect("it is kept");
            let result = self.run_as_it_is(way, frame);
            // A machine may be busy.
            if began.elapsed() < PATIENCE / 2 {
                return result;
            }
        }
    }

    fn run_as_it_is(&self, way: Way, frame: &[u8]) -> u32 {
        self.run_from(way, frame, 0)
    }

    /// The same of one that came in at the interface of this number, which may be the tests' own.
    fn run_from(&self, way: Way, frame: &[u8], interface: u32) -> u32 {
        self.run_with(way, frame, &[(36, interface)])
    }

    /// The same of one with fields of its own, by their offsets in `struct __sk_buff`.
    fn run_with(&self, way: Way, frame: &[u8], fields: &[(usize, u32)]) -> u32 {
        let mut context = [0; 192];
        for &(at, field) in [(8, MARK), (32, PRIORITY)].iter().chain(fields) {
            context[at..at + 4].copy_from_slice(&field.to_ne_bytes());
        }
        let (result, left) = self.take[way as usize].run(frame, &mut context).expect("it runs");
        assert_eq!(left, frame, "the packet is as it was");
        result
    }

    fn path(&self, ends: &Endpoints) -> Option<Path> {
        self.table.path(ends)
    }

    /// All but what is known by its addresses alone.
    fn clear(&self) {
        while let Some(ends) = self.table.next(None).expect("they are listed") {
            self.table.forget(&ends).expect("it is removed");
        }
    }
}

/// A connection's packets are taken from its SYN on, whichever way that goes, and nothing else is.
#[test]
fn what_is_taken_is_what_the_packets_say() {
    let Some(kernel) = Kernel::new() else { return };
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let (mut taken, mut known) = (0, 0);
    for _ in 0..20_000 {
        if random.random_range(0..50) == 0 {
            kernel.clear();
        }
        let packet = some(&mut random, 1);
        let way = if random.random() { Way::Out } else { Way::In };
        let frame = packet.frame();
        if frame.len() < if packet.is_four() { 34 } else { 54 } {
            // What the test's entrance of the kernel refuses.
            continue;
        }
        let named = packet.named(way);
        let before = named.and_then(|(ends, _)| kernel.path(&ends));
        let result = kernel.run(way, &frame);
        let expected = named.is_some_and(|(_, begins)| begins || before.is_some());
        assert_eq!(result, if expected { TAKEN } else { PASSED }, "{way:?} {packet:?}");
        if let (Some((ends, _)), true) = (named, expected) {
            let path = kernel.path(&ends).expect("it is there");
            assert_eq!(path.devices, [DEVICE; 2], "{packet:?}");
            taken += 1;
            known += u32::from(before.is_some());
        }
    }
    assert!(taken > 3000 && known > 500, "{taken}, {known}");
}

#[test]
fn the_way_is_kept_as_it_was_seen_last() {
    let Some(kernel) = Kernel::new() else { return };
    let ends = Endpoints { inner: end(1, 4000), outer: end(2, 80) };
    let out = Packet::tcp(ends.inner, ends.outer, SYN);
    assert_eq!(kernel.run(Way::Out, &out.frame()), TAKEN);
    let path = kernel.path(&ends).expect("it is there");
    let [to, from] = [&MACS[..6], &MACS[6..]];
    let [leaves, comes] = path.l2.expect("headers");
    assert_eq!((&leaves[..6], &leaves[6..12], &leaves[12..]), (to, from, &[8, 0][..]));
    assert_eq!((&comes[..6], &comes[6..12], &comes[12..]), (from, to, &[8, 0][..]), "backwards");
    assert_eq!((path.mark, path.priority), (MARK, PRIORITY));
    // Another router answers.
    let mut answer = Packet::tcp(ends.outer, ends.inner, SYN | ACK).frame();
    answer[6..12].copy_from_slice(&[2, 9, 9, 9, 9, 9]);
    assert_eq!(kernel.run(Way::In, &answer), TAKEN);
    let path = kernel.path(&ends).expect("it is there");
    let [still, comes] = path.l2.expect("headers");
    assert_eq!((still, &comes[6..12]), (leaves, &[2, 9, 9, 9, 9, 9][..]));
}

#[test]
fn what_is_forgotten_passes_until_its_ports_are_used_again() {
    let Some(kernel) = Kernel::new() else { return };
    let ends = Endpoints { inner: end(1, 4000), outer: end(2, 80) };
    let [syn, data] = [SYN, ACK].map(|flags| Packet::tcp(ends.inner, ends.outer, flags).frame());
    assert_eq!(kernel.run(Way::Out, &syn), TAKEN);
    kernel.table.forget(&ends).expect("it is removed");
    assert_eq!(kernel.run(Way::Out, &data), PASSED);
    assert_eq!(kernel.run(Way::Out, &syn), TAKEN);
    assert_eq!(kernel.run(Way::Out, &data), TAKEN);
}

#[test]
fn nothing_is_taken_once_nobody_vouches_for_us() {
    let Some(kernel) = Kernel::new() else { return };
    let ends = Endpoints { inner: end(1, 4000), outer: end(2, 80) };
    let [syn, data] = [SYN, ACK].map(|flags| Packet::tcp(ends.inner, ends.outer, flags).frame());
    assert_eq!(kernel.run_as_it_is(Way::Out, &syn), PASSED, "nobody has begun to");
    assert_eq!(kernel.path(&ends), None);
    assert_eq!(kernel.run(Way::Out, &syn), TAKEN);
    let before = kernel.table.went_by().expect("it is kept");
    for retract in [true, false] {
        match retract {
            true => kernel.table.vouching().retract().expect("it is kept"),
            false => {
                let short = Duration::from_nanos(1);
                kernel.table.vouching().vouch(short).expect("it is kept");
            }
        }
        assert_eq!(kernel.run_as_it_is(Way::Out, &data), PASSED);
    }
    assert_eq!(kernel.table.went_by().expect("it is kept"), before + 2);
    assert_eq!(kernel.run(Way::Out, &data), TAKEN);
    // One that begins meanwhile is not ours, though it has the name of one that was.
    kernel.table.vouching().retract().expect("it is kept");
    assert_eq!(kernel.run_as_it_is(Way::Out, &syn), PASSED);
    assert_eq!(kernel.run(Way::Out, &data), PASSED);
}

#[test]
fn all_is_taken_for_a_while_and_what_is_expected_for_ever() {
    let Some(kernel) = Kernel::new() else { return };
    let ends = Endpoints { inner: end(1, 4000), outer: end(2, 80) };
    let [data, answer] = [(ends.inner, ends.outer), (ends.outer, ends.inner)]
        .map(|(src, dst)| Packet::tcp(src, dst, ACK).frame());
    assert_eq!(kernel.run(Way::Out, &data), PASSED);
    kernel.table.take_all(Duration::from_secs(3600)).expect("it is kept");
    assert_eq!([kernel.run(Way::In, &answer), kernel.run(Way::Out, &data)], [TAKEN; 2]);
    kernel.table.take_all(Duration::ZERO).expect("it is kept");
    assert_eq!(kernel.run(Way::Out, &data), TAKEN, "it is known");
    kernel.table.forget(&ends).expect("it is removed");
    assert_eq!(kernel.run(Way::Out, &data), PASSED);
    kernel.table.expect(&ends).expect("it is added");
    assert_eq!(kernel.path(&ends).expect("it is there").l2, None);
    assert_eq!(kernel.run(Way::In, &answer), TAKEN);
    let path = kernel.path(&ends).expect("it is there");
    assert_eq!(path.l2.expect("headers")[1], answer[..14]);
}

/// A connection is the LAN's if what leaves of it came in there. Of one that begins at the device
/// the SYN-ACK tells.
#[test]
fn what_is_not_the_lans_passes() {
    let Some(kernel) = Kernel::with(true, false) else { return };
    let ends = Endpoints { inner: end(1, 4000), outer: end(2, 80) };
    let out = |flags| Packet::tcp(ends.inner, ends.outer, flags).frame();
    let come = |flags| Packet::tcp(ends.outer, ends.inner, flags).frame();
    kernel.table.vouching().vouch(PATIENCE).expect("it is kept");
    kernel.lan.as_ref().expect("a set").set(&3, &1).expect("it is kept");
    for interface in [0, DEVICE] {
        assert_eq!(kernel.run_from(Way::Out, &out(SYN), interface), PASSED, "{interface}");
    }
    assert_eq!(kernel.table.begun(), Ok((0, 1, DEVICE)), "this host's own are no strangers");
    assert_eq!(kernel.run_from(Way::In, &come(SYN), 0), TAKEN);
    assert_eq!(kernel.run_from(Way::Out, &out(SYN | ACK), 0), PASSED, "it is this host's");
    assert_eq!(kernel.run_from(Way::In, &come(ACK), 0), PASSED);
    kernel.lan.as_ref().expect("a set").set(&DEVICE, &1).expect("it is kept");
    assert_eq!(kernel.run_from(Way::In, &come(SYN), 0), TAKEN);
    assert_eq!(kernel.run_from(Way::Out, &out(SYN | ACK), DEVICE), TAKEN);
    assert_eq!(kernel.table.begun(), Ok((1, 1, DEVICE)), "what begins elsewhere is the LAN's, too");
    assert_eq!(kernel.run_from(Way::Out, &out(ACK), 0), TAKEN);
    // Nobody elsewhere ends it by a SYN or a SYN-ACK in the client's name.
    for flags in [SYN, SYN | ACK] {
        assert_eq!(kernel.run_from(Way::Out, &out(flags), 0), TAKEN);
        assert_eq!(kernel.run_from(Way::Out, &out(ACK), DEVICE), TAKEN);
    }
    let (before, _, _) = kernel.table.begun().expect("they are kept");
    assert_eq!(kernel.run_from(Way::Out, &out(SYN), DEVICE), TAKEN);
    assert_eq!(kernel.table.begun(), Ok((before + 1, 1, DEVICE)));
}

#[test]
fn quic_is_taken_where_it_is_to_be_rejected() {
    for quic in [false, true] {
        let Some(kernel) = Kernel::with(false, quic) else { return };
        for (port, taken) in [(443, quic), (4433, false)] {
            let mut packet = Packet::tcp(end(1, 5000), end(2, port), 0);
            packet.protocol = 17;
            let result = if taken { TAKEN } else { PASSED };
            assert_eq!(kernel.run(Way::Out, &packet.frame()), result, "{quic} {port}");
        }
        let mut packet = Packet::tcp(end(2, 5000), end(1, 443), 0);
        packet.protocol = 17;
        assert_eq!(
            kernel.run(Way::In, &packet.frame()),
            PASSED,
            "what comes in may be for anybody"
        );
        let bare = Endpoints { inner: end(1, 0), outer: end(2, 0) };
        assert_eq!(kernel.path(&bare).is_some(), quic);
    }
}

/// They would say where the connection's packets are to go.
#[test]
fn frames_for_others_or_for_all_are_not_taken() {
    let Some(kernel) = Kernel::new() else { return };
    for to in [[0xff; 6], [1, 0, 0x5e, 0, 0, 1], [2, 3, 4, 5, 6, 7]] {
        let mut frame = Packet::tcp(end(2, 80), end(1, 4000), SYN).frame();
        frame[..6].copy_from_slice(&to);
        assert_eq!(kernel.run(Way::In, &frame), PASSED, "{to:x?}");
    }
}

#[test]
fn who_floods_with_syns_fills_the_table_and_no_more() {
    let Some(kernel) = Kernel::new() else { return };
    let mut random = Pcg64Mcg::seed_from_u64(2);
    let flood = (0..3000).map(|_| {
        let from = end(random.random(), random.random_range(1..=u16::MAX));
        kernel.run(Way::In, &Packet::tcp(from, end(2, random.random()), SYN).frame())
    });
    let taken = flood.filter(|result| *result == TAKEN).count();
    assert!((900..=1100).contains(&taken), "{taken}");
}

/// Fragments fill no table that others need.
#[test]
fn who_floods_with_fragments_takes_no_connections_place() {
    let Some(kernel) = Kernel::new() else { return };
    let mut random = Pcg64Mcg::seed_from_u64(3);
    for _ in 0..6000 {
        let piece = Packet {
            fragment: 0x2000,
            src: (Ipv4Addr::from(random.random::<u32>()), 1).into(),
            ..Packet::tcp(end(1, 1), end(2, 80), ACK)
        };
        assert_eq!(kernel.run(Way::In, &piece.frame()), TAKEN);
    }
    assert_eq!(kernel.table.next(None).expect("they are listed"), None);
    let syn = Packet::tcp(end(1, 4000), end(2, 80), SYN);
    assert_eq!(kernel.run(Way::In, &syn.frame()), TAKEN);
}

#[test]
fn connections_go_by_a_device_that_was_made_again() {
    let Some(kernel) = Kernel::new() else { return };
    let ends = Endpoints { inner: end(1, 4000), outer: end(2, 80) };
    assert_eq!(kernel.run(Way::Out, &Packet::tcp(ends.inner, ends.outer, SYN).frame()), TAKEN);
    let before = kernel.path(&ends).expect("it is there");
    kernel.table.renumber([DEVICE + 1, 5], None).expect("it is kept");
    assert_eq!(kernel.path(&ends), Some(before), "that is another one's");
    let own = [2, 7, 7, 7, 7, 7];
    kernel.table.renumber([DEVICE, 5], Some(own)).expect("it is kept");
    let after = kernel.path(&ends).expect("it is there");
    let [leaves, comes] = after.l2.expect("headers");
    let [left, _] = before.l2.expect("headers");
    assert_eq!((after.devices, &leaves[6..12], &comes[..6]), ([5; 2], &own[..], &own[..]));
    assert_eq!((&leaves[..6], after.mark), (&left[..6], before.mark), "the rest stays");
}

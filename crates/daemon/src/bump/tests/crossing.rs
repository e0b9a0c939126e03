//! The counts of what crosses a device, held against what the packets say.

use super::super::classification::Way;
use super::super::passed::{Class, Crossed, PassedPrefix};
use super::packet::{ACK, Packet, SYN, end, some};
use super::{Kernel, PASSED, TAKEN};
use bentpipe_gateway::{Side, SitePrefix, Traffic};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

const GSO_SEGS: usize = 164;
const LAYER_TWO: u64 = 14;

/// Bytes by class and direction.
type Prefixes = BTreeMap<(Side, SitePrefix), [[u64; 2]; 4]>;

fn udp(src: SocketAddr, dst: SocketAddr) -> Packet {
    Packet { protocol: 17, ..Packet::tcp(src, dst, 0) }
}

/// Adds a packet to what is expected.
fn expect(
    (crossed, prefixes): (&mut Crossed, &mut Prefixes),
    way: Way,
    packet: &Packet,
    taken: bool,
) {
    let bytes = packet.bytes().len() as u64;
    let add = |traffic: &mut Traffic| {
        *traffic = *traffic + Traffic { packets: 1, bytes };
    };
    if taken {
        if way == Way::In {
            add(&mut crossed.taken[way as usize]);
        }
        return;
    }
    let class = packet.class();
    add(&mut crossed.passed[class as usize][way as usize]);
    if class == Class::NotIp {
        return;
    }
    let [lan, satellite] = match way {
        Way::Out => [packet.src, packet.dst],
        Way::In => [packet.dst, packet.src],
    };
    for (side, end) in [(Side::Lan, lan), (Side::Satellite, satellite)] {
        let bytes_of = prefixes.entry((side, SitePrefix::of(end.ip()))).or_default();
        bytes_of[class as usize][way as usize] += bytes;
    }
}

/// All that passes is counted once, by its class and by both prefixes.
#[test]
fn counts_are_what_the_packets_say() {
    let Some(kernel) = Kernel::new() else { return };
    let mut random = Pcg64Mcg::seed_from_u64(4);
    let (mut crossed, mut prefixes) = (Crossed::default(), BTreeMap::new());
    for _ in 0..20_000 {
        let mut packet = some(&mut random, 1);
        if random.random_range(0..3) == 0 {
            packet.protocol = 17;
            packet.src.set_port([443, 53][random.random_range(0..2)]);
        }
        let way = if random.random() { Way::Out } else { Way::In };
        let frame = packet.frame();
        if frame.len() < if packet.is_four() { 34 } else { 54 } {
            continue;
        }
        let result = kernel.run(way, &frame);
        assert!([TAKEN, PASSED].contains(&result));
        expect((&mut crossed, &mut prefixes), way, &packet, result == TAKEN);
    }
    assert_eq!(kernel.table.crossed(), Ok(crossed));
    assert!(crossed.passed[..4].as_flattened().iter().all(|some| some.packets > 50), "{crossed:?}");
    let counted = kernel.table.passed_prefixes().expect("they are read");
    let counted: Prefixes = counted
        .into_iter()
        .map(|PassedPrefix { side, prefix, bytes }| ((side, prefix), bytes))
        .collect();
    assert_eq!(counted, prefixes);
}

/// What has no IP header is counted, and frames for others are not: they go nowhere.
#[test]
fn frames_are_counted_where_this_host_takes_them() {
    let Some(kernel) = Kernel::new() else { return };
    let not_ip = Class::NotIp as usize;
    let mut arp = udp(end(1, 1), end(2, 2)).frame();
    arp[12..14].copy_from_slice(&[8, 6]);
    for (to, counted) in [([0xff; 6], 1), ([2, 3, 4, 5, 6, 7], 1), ([0; 6], 2)] {
        arp[..6].copy_from_slice(&to);
        assert_eq!(kernel.run(Way::In, &arp), PASSED);
        let bytes = counted * (arp.len() as u64 - LAYER_TWO);
        let traffic = Traffic { packets: counted, bytes };
        assert_eq!(kernel.table.crossed().unwrap().passed[not_ip], [Traffic::default(), traffic]);
    }
    assert_eq!(kernel.table.passed_prefixes(), Ok(Vec::new()));
}

#[test]
fn a_super_segment_is_as_many_packets_as_it_will_be() {
    let Some(kernel) = Kernel::new() else { return };
    let data = Packet::tcp(end(1, 4000), end(2, 80), ACK).frame();
    assert_eq!(kernel.run_with(Way::Out, &data, &[(GSO_SEGS, 44)]), PASSED);
    let [out, _] = kernel.table.crossed().unwrap().passed[Class::Tcp as usize];
    assert_eq!(out, Traffic { packets: 44, bytes: data.len() as u64 - LAYER_TWO });
}

/// Of what is taken, only what comes in has crossed the satellite.
#[test]
fn what_is_taken_is_counted_where_it_comes_in() {
    let Some(kernel) = Kernel::new() else { return };
    let frame = Packet::tcp(end(1, 4000), end(2, 80), SYN).frame();
    for way in [Way::Out, Way::In] {
        assert_eq!(kernel.run(way, &frame), TAKEN);
    }
    let crossed = kernel.table.crossed().unwrap();
    assert_eq!(crossed.taken.map(|traffic| traffic.packets), [0, 1]);
    assert_eq!(crossed.passed, Crossed::default().passed);
}

/// However many prefixes there are, some thousands are kept, and the totals are right.
#[test]
fn who_has_many_addresses_fills_no_more_than_a_table() {
    let Some(kernel) = Kernel::new() else { return };
    const FLOOD: u64 = 40_000;
    for number in 0..FLOOD as u32 {
        let from = (IpAddr::from((number << 8).to_be_bytes()), 1).into();
        kernel.run(Way::In, &udp(from, end(2, 53)).frame());
    }
    let prefixes = kernel.table.passed_prefixes().expect("they are read").len();
    assert!((8_000..=17_000).contains(&prefixes), "{prefixes}");
    let [_, counted] = kernel.table.crossed().unwrap().passed[Class::Udp as usize];
    assert_eq!(counted.packets, FLOOD);
}

/// The programs' cost of a packet, for the pages: `--nocapture` prints it.
#[test]
fn cost_of_a_packet() {
    let Some(kernel) = Kernel::new() else { return };
    let [h1, h2] = [end(1, 4000), end(2, 443)];
    kernel.table.vouching().vouch(super::PATIENCE).expect("it is kept");
    let taken = Packet::tcp(end(3, 4000), h2, SYN);
    for way in [Way::Out, Way::In] {
        for (name, packet) in [
            ("TCP that passes", Packet::tcp(h1, h2, ACK)),
            ("UDP that passes", udp(h1, h2)),
            ("a SYN that is taken", taken.clone()),
        ] {
            let mut context = [0; 192];
            let once = |_| kernel.take[way as usize].time(&packet.frame(), &mut context, 20_000);
            let fastest = (0..9).map(once).map(|once| once.expect("it runs")).min();
            assert!(fastest > Some(Duration::ZERO), "{name}");
            println!("{way:?}: {name}: {fastest:?}");
        }
    }
}

//! Tests of copies, of earlier sequence spaces, and of data that comes late.

use crate::testing::{ACK, File, Packet, SYN, ack, data, ip};
use crate::*;

const RST: u16 = 4;
/// MSS 1460.
const MSS: [u8; 4] = [2, 4, 5, 0xB4];

/// Adds a packet with this IP ID and TTL.
fn seen(file: &mut File, ms: f64, packet: &Packet, id: u16, ttl: u8) {
    let mut bytes = ip(packet);
    bytes[4..6].copy_from_slice(&id.to_be_bytes());
    bytes[8] = ttl;
    file.frame(ms, &bytes, usize::from(packet.len));
}

fn standings(connection: &Connection) -> Vec<Standing> {
    connection.segments.iter().map(|segment| segment.standing).collect()
}

fn repeats(connection: &Connection) -> Vec<Repeat> {
    analyse(connection).facts.iter().map(|fact| fact.repeat).collect()
}

/// A handshake, and what is sent behind it: the client's IDs count from 100 on.
fn opened_with_ids() -> File {
    let mut file = File::new();
    let syn = Packet { flags: SYN, seq: 100, ack: 0, options: MSS.to_vec(), ..data(0, 0) };
    let answer = Packet { from_client: false, seq: 500, ack: 101, flags: SYN | ACK, ..syn.clone() };
    seen(&mut file, 0.0, &syn, 100, 64);
    seen(&mut file, 20.0, &answer, 0, 60);
    seen(&mut file, 20.1, &data(101, 0), 101, 64);
    file
}

#[test]
fn a_router_that_sees_packets_come_and_go_makes_no_retransmissions() {
    let mut file = opened_with_ids();
    for number in 0..4 {
        let ms = 21.0 + f64::from(number);
        let packet = data(101 + 1000 * u32::from(number), 1000);
        seen(&mut file, ms, &packet, 102 + number, 64);
        seen(&mut file, ms + 0.01, &packet, 102 + number, 63);
    }
    // Retransmitted, with an ID of its own.
    seen(&mut file, 300.0, &data(101, 1000), 110, 64);
    seen(&mut file, 300.01, &data(101, 1000), 110, 63);
    let connection = file.connection();
    assert_eq!(connection.copies(), 5);
    let sums = analyse(&connection).summary(&connection, Direction::Forward);
    assert_eq!((sums.packets, sums.copies, sums.bytes), (7, 5, 5000));
    assert_eq!(sums.retransmissions, 1);
}

#[test]
fn without_ids_copies_are_close_and_a_tail_loss_probe_is_none() {
    let mut file = File::opened();
    file.at(21.0, &data(101, 1000));
    file.at(21.05, &data(101, 1000));
    file.at(61.5, &data(101, 1000));
    let connection = file.connection();
    let [.., first, copy, probe] = standings(&connection)[..] else { panic!() };
    assert_eq!([first, copy, probe], [Standing::Counts, Standing::Copy, Standing::Counts]);
    assert_eq!(repeats(&connection)[5], Repeat::Retransmitted(Proof::Passed));
}

#[test]
fn equal_duplicate_acks_are_no_copies() {
    let mut file = File::opened();
    for number in 0..4 {
        file.at(21.0, &data(101 + 1000 * number, 1000));
    }
    for number in 0..4 {
        file.at(41.0 + f64::from(number) / 100.0, &ack(101, &[]));
    }
    assert_eq!(file.connection().copies(), 0);
}

#[test]
fn a_challenge_ack_before_the_accepted_syn_does_not_anchor_the_stream() {
    let mut file = File::new();
    let syn = Packet { flags: SYN, seq: 100, ack: 0, options: MSS.to_vec(), ..data(0, 0) };
    file.at(0.0, &syn);
    file.at(10.0, &Packet { seq: 0x7000_0000, ..ack(0x3000_0000, &[]) });
    file.at(10.1, &Packet { flags: RST, seq: 0x3000_0000, ack: 0, ..data(0, 0) });
    file.at(1000.0, &syn);
    file.at(1010.0, &Packet { from_client: false, seq: 500, ack: 101, flags: SYN | ACK, ..syn });
    file.at(1010.1, &data(101, 0));
    file.at(1011.0, &data(101, 200));
    file.at(1030.0, &Packet { from_client: false, seq: 501, ack: 301, ..data(0, 1000) });
    let connection = file.connection();
    use Standing::{Counts, Earlier};
    assert_eq!(standings(&connection)[..4], [Counts, Earlier, Earlier, Counts]);
    let facts = analyse(&connection).facts;
    assert_eq!((facts[6].seq, facts[7].seq, facts[7].ack), (1, 1, Some(201)));
    assert!(facts[6..].iter().all(|fact| fact.repeat == Repeat::New));
}

#[test]
fn a_refused_attempt_and_another_syn_ack_give_way_to_the_accepted_one() {
    let mut file = File::new();
    let syn = Packet { flags: SYN, seq: 100, ack: 0, options: MSS.to_vec(), ..data(0, 0) };
    file.at(0.0, &syn);
    file.at(1.0, &Packet { from_client: false, flags: RST | ACK, seq: 0, ack: 101, ..data(0, 0) });
    file.at(500.0, &syn);
    let answer = Packet { from_client: false, seq: 0xC000_0000, ack: 101, flags: SYN | ACK, ..syn };
    file.at(501.0, &answer);
    file.at(501.5, &Packet { seq: 0x5000_0000, ..answer.clone() });
    // The first of both answers is the one that is taken.
    file.at(502.0, &Packet { ack: 0xC000_0001, ..data(101, 0) });
    file.at(503.0, &Packet { from_client: false, seq: 0xC000_0001, ack: 101, ..data(0, 700) });
    let connection = file.connection();
    use Standing::{Counts, Earlier};
    let all = [Counts, Earlier, Counts, Counts, Earlier, Counts, Counts];
    assert_eq!(standings(&connection), all);
    assert_eq!(analyse(&connection).facts[6].seq, 1);
}

#[test]
fn two_sequence_spaces_of_the_same_ends_are_two_connections() {
    // A firewall renumbers, and both its sides are captured.
    let mut file = File::new();
    let options = MSS.to_vec();
    let syn = |seq| Packet { flags: SYN, seq, ack: 0, options: options.clone(), ..data(0, 0) };
    let answer = |seq, ack| Packet { from_client: false, flags: SYN | ACK, ack, ..syn(seq) };
    let (inside, outside) = (100, 0x8000_0000);
    file.at(0.0, &syn(inside));
    file.at(0.1, &syn(outside));
    file.at(20.0, &answer(500, outside + 1));
    file.at(20.1, &answer(0x4000_0000, inside + 1));
    for number in 0..3 {
        let ms = 21.0 + f64::from(number);
        file.at(ms, &Packet { ack: 0x4000_0001, ..data(inside + 1 + 100 * number, 100) });
        file.at(ms + 0.1, &Packet { ack: 501, ..data(outside + 1 + 100 * number, 100) });
    }
    let connections = file.read().connections;
    assert_eq!(connections.iter().map(|one| one.segments.len()).collect::<Vec<_>>(), [5, 5]);
    assert!(connections.iter().flat_map(repeats).all(|repeat| repeat == Repeat::New));
}

#[test]
fn equal_addresses_in_two_vlans_are_two_connections_and_a_copy_in_another_is_none() {
    let tagged = |vlan: u8, packet: &Packet| {
        let mut frame = vec![0; 12];
        frame.extend([0x81, 0, 0, vlan, 8, 0]);
        frame.extend(ip(packet));
        frame
    };
    // Both begin before the capture.
    let mut file = File::with_link(1);
    for number in 0..3 {
        let ms = 1.0 + f64::from(number);
        file.frame(ms, &tagged(7, &data(101 + 100 * number, 100)), 100);
        file.frame(ms + 0.1, &tagged(8, &data(0x8000_0000 + 100 * number, 100)), 100);
    }
    let connections = file.read().connections;
    assert_eq!(connections.iter().map(|one| one.segments.len()).collect::<Vec<_>>(), [3, 3]);
    // A router between two VLANs is captured on both sides.
    let mut file = File::with_link(1);
    for number in 0..3 {
        let ms = 1.0 + f64::from(number);
        file.frame(ms, &tagged(7, &data(101 + 100 * number, 100)), 100);
        file.frame(ms + 0.1, &tagged(8, &data(101 + 100 * number, 100)), 100);
    }
    let connections = file.read().connections;
    assert_eq!((connections.len(), connections[0].copies()), (1, 3));
}

#[test]
fn late_data_is_told_by_ids_by_timestamps_or_not_at_all() {
    let by = |ids: bool, stamps: bool, again: bool| {
        let mut file = opened_with_ids();
        let options = |stamp: u8| match stamps {
            true => vec![1, 1, 8, 10, 0, 0, 0, stamp, 0, 0, 0, 0],
            false => Vec::new(),
        };
        let mut send = |ms: f64, number: u16, id: u16, stamp: u8| {
            let packet = data(101 + 1000 * u32::from(number), 1000);
            let packet = Packet { options: options(stamp), ..packet };
            seen(&mut file, ms, &packet, if ids { id } else { 0 }, 64);
        };
        send(21.0, 0, 102, 1);
        send(22.0, 2, 104, 2);
        send(22.5, 3, 105, 2);
        // The second came late, or was lost before the capture and retransmitted.
        let (id, stamp) = if again { (106, 9) } else { (103, 1) };
        send(23.0, 1, id, stamp);
        repeats(&file.connection())[6]
    };
    assert_eq!(by(true, false, false), Repeat::Late(Proof::IpId));
    assert_eq!(by(true, false, true), Repeat::Retransmitted(Proof::IpId));
    assert_eq!(by(false, true, false), Repeat::Late(Proof::Timestamp));
    assert_eq!(by(false, true, true), Repeat::Retransmitted(Proof::Timestamp));
    assert_eq!(by(false, false, false), Repeat::Undecided);
}

#[test]
fn what_was_acknowledged_and_comes_again_is_a_retransmission_near_the_receiver_too() {
    let mut file = File::opened();
    file.at(41.0, &data(101, 1000));
    file.at(41.1, &ack(1101, &[]));
    file.at(80.0, &data(101, 1000));
    assert_eq!(repeats(&file.connection())[5], Repeat::Retransmitted(Proof::Acknowledged));
}

/// A file of two places, a link of 250 ms between. Packets are those of the client's place; IP IDs
/// tell nothing, as in IPv6. The second place's clock is late by so many ms.
fn both_ends(packets: &[(u64, Packet)], late: u64) -> Vec<u8> {
    use crate::pcapng::{Interface, Packet as Block, Writer};
    let mut blocks = Vec::new();
    for (at, packet) in packets {
        let there = if packet.from_client { at + 250 } else { at - 250 };
        blocks.extend([(*at, 0, packet), (there - late, 1, packet)]);
    }
    blocks.sort_by_key(|&(at, ..)| at);
    let ends = ["here", "there"].map(|name| Interface { name, description: "" });
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, &ends, 200).unwrap();
    for (at, interface, packet) in blocks {
        let (bytes, at) = (&ip(packet)[..], at * 1_000_000);
        let len = bytes.len() as u64 + u64::from(packet.len);
        writer.packet(&Block { interface, at, bytes, len, way: None, comment: "" }).unwrap();
    }
    writer.flush().unwrap();
    file
}

#[test]
fn of_places_that_are_apart_the_one_next_to_the_sender_counts() {
    let syn = Packet { flags: SYN, seq: 100, ack: 0, options: MSS.to_vec(), ..data(0, 0) };
    let answer = Packet { from_client: false, seq: 500, ack: 101, flags: SYN | ACK, ..syn.clone() };
    let mut packets = vec![(1000, syn), (1500, answer), (1500, data(101, 0))];
    for number in 0..8 {
        packets.push((1501 + 10 * u64::from(number), data(101 + 1000 * number, 1000)));
        packets.push((2001 + 10 * u64::from(number), ack(1101 + 1000 * number, &[])));
    }
    for late in [0, 400] {
        let capture = read(&both_ends(&packets, late)[..]).unwrap();
        let connection = &capture.connections[0];
        assert_eq!((connection.copies(), connection.apart), (packets.len(), Some(250_000_000)));
        let here = |one: &Segment| capture.vias[usize::from(one.via)].interface == 0;
        assert!(connection.segments.iter().all(|one| one.counts() == here(one)));
        let sums = analyse(connection).summary(connection, Direction::Forward);
        assert_eq!((sums.bytes, sums.retransmissions), (8000, 0), "{late}");
        let trips = &sums.round_trips;
        assert_eq!((trips.min, trips.max), (Some(500_000_000), Some(500_000_000)));
    }
}

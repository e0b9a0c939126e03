//! ICMP errors: which are believed, and what follows.

use super::*;
use crate::tcp::recovery::RecoveryAlgorithm;
use crate::wire::{IcmpError, IcmpErrorKind, Quoted};
use std::net::IpAddr;

fn error(kind: IcmpErrorKind, seq: SeqNum) -> IcmpError {
    let (src, dst) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
    let quoted = Quoted { src, dst, src_port: 1, dst_port: 2, seq, wire_len: 1500 };
    IcmpError { kind, quoted }
}

fn too_big(host: &mut Host, now: Instant, mtu: u32, seq: SeqNum) {
    host.on_icmp_error(now, &error(IcmpErrorKind::PacketTooBig { mtu }, seq));
}

fn smss(host: &Host) -> u64 {
    host.tcb().unwrap().sender.smss().count()
}

fn lens(segments: &[(TcpHeader, Vec<u8>)]) -> Vec<usize> {
    segments.iter().map(|(_, bytes)| bytes.len()).collect()
}

#[test]
fn a_lower_mtu_sends_what_is_outstanding_again_without_a_reduction() {
    for &algorithm in RecoveryAlgorithm::ALL {
        let mut config = ConnectionConfig::default();
        config.sender.recovery = algorithm;
        let (mut a, mut b) = connected(config);
        a.write(Payload::Bytes(&[5; 1448 * 4]));
        let lost = drain(&mut a, at(1));
        assert_eq!(lens(&lost), [1448; 4], "{algorithm}");
        let window = a.tcb().unwrap().sender.cwnd();
        too_big(&mut a, at(50), 1000, lost[0].0.seq);
        assert_eq!(smss(&a), 1000 - 52);
        let again = drain(&mut a, at(50));
        assert_eq!(lens(&again).iter().sum::<usize>(), 1448 * 4, "{algorithm}");
        assert!(lens(&again).iter().all(|len| *len <= 948), "{algorithm}");
        assert_eq!(a.tcb().unwrap().sender.cwnd(), window, "{algorithm}");
        // The other three bring the same message, which is not news.
        for (tcp, _) in &lost[1..] {
            too_big(&mut a, at(51), 1000, tcp.seq);
        }
        assert!(drain(&mut a, at(51)).is_empty(), "{algorithm}");
        for (tcp, bytes) in again {
            b.handle_segment(at(60), &tcp, Payload::Bytes(&bytes));
        }
        assert_eq!(read_all(&mut b), [5; 1448 * 4], "{algorithm}");
        exchange(&mut a, &mut b, at(100));
        assert!(a.tcb().unwrap().sender.is_done(), "{algorithm}");
        // RFC 1191, 6.3: after ten minutes the former size is tried again.
        a.write(Payload::Bytes(&[6; 1448]));
        let tried = drain(&mut a, at(50 + 600_000));
        assert_eq!(lens(&tried), [1448], "{algorithm}");
        too_big(&mut a, at(650_100), 1000, tried[0].0.seq);
        assert_eq!(lens(&drain(&mut a, at(650_100))).len(), 2, "{algorithm}");
    }
}

#[test]
fn only_what_is_outstanding_counts_and_only_downwards_to_a_floor() {
    // RFC 5927, 7.
    let (mut a, _) = connected(ConnectionConfig::default());
    a.write(Payload::Bytes(&[5; 1448 * 2]));
    let sent = drain(&mut a, at(1));
    let first = sent[0].0.seq;
    too_big(&mut a, at(2), 576, first + 2 * 1448);
    too_big(&mut a, at(2), 576, SeqNum(first.0.wrapping_sub(1)));
    too_big(&mut a, at(2), 9000, first);
    assert_eq!(smss(&a), 1448);
    too_big(&mut a, at(2), 68, first);
    assert_eq!(smss(&a), 552 - 52);
    // A router of old says nothing: the next likely value below the packet's length.
    let (mut a, _) = connected(ConnectionConfig::default());
    a.write(Payload::Bytes(&[5; 1448]));
    let sent = drain(&mut a, at(1));
    too_big(&mut a, at(2), 0, sent[0].0.seq);
    assert_eq!(smss(&a), 1492 - 52);
    // IPv6 has a floor of its own.
    let mut v6 = error(IcmpErrorKind::PacketTooBig { mtu: 600 }, sent[0].0.seq);
    v6.quoted.src = IpAddr::from([0xFD00, 0, 0, 0, 0, 0, 0, 1]);
    a.on_icmp_error(at(3), &v6);
    assert_eq!(smss(&a), 1280 - 72);
}

#[test]
fn what_contradicts_arrived_segments_waits_for_a_timeout() {
    // RFC 5927, 7.2.
    let (mut a, mut b) = connected(ConnectionConfig::default());
    a.write(Payload::Bytes(&[5; 1448]));
    exchange(&mut a, &mut b, at(1));
    exchange(&mut a, &mut b, at(100));
    for forged in [true, false] {
        a.write(Payload::Bytes(&[6; 1448]));
        let sent = drain(&mut a, at(200));
        too_big(&mut a, at(210), 1000, sent[0].0.seq);
        assert_eq!(smss(&a), 1448);
        if forged {
            b.handle_segment(at(220), &sent[0].0, Payload::Bytes(&sent[0].1));
            b.handle_segment(at(220), &sent[0].0, Payload::Bytes(&sent[0].1));
            exchange(&mut a, &mut b, at(221));
        }
    }
    let timeout = a.poll_timeout().unwrap();
    a.handle_timeout(timeout);
    assert_eq!(smss(&a), 948);
    assert_eq!(lens(&drain(&mut a, timeout))[0], 948);
}

#[test]
fn unreachable_is_told_while_opening_and_no_more() {
    let mut a = Host::connect(at(0), ConnectionConfig::default(), SeqNum(5));
    drain(&mut a, at(0));
    let kind = IcmpErrorKind::Unreachable { code: 1 };
    a.on_icmp_error(at(1), &error(kind, SeqNum(6)));
    assert_eq!(a.poll_event(), None);
    a.on_icmp_error(at(1), &error(kind, SeqNum(5)));
    assert_eq!((a.poll_event(), a.state()), (Some(Event::Unreachable), State::SynSent));
    let (mut a, _) = connected(ConnectionConfig::default());
    a.write(Payload::Bytes(b"x"));
    let (tcp, _) = drain(&mut a, at(1)).pop().unwrap();
    a.on_icmp_error(at(2), &error(kind, tcp.seq));
    assert_eq!((a.poll_event(), a.state()), (None, State::Established));
}

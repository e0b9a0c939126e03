//! Explicit congestion notification (RFC 3168) between two connections.

use super::*;
use crate::tcp::ecn::Ecn;

/// Carries all that `from` sends to `to`; the packets that may be marked are.
fn carry_marked(from: &mut Host, to: &mut Host, now: Instant) -> Vec<(TcpHeader, Ecn)> {
    let mut carried = Vec::new();
    while let Ok(out) = from.poll_transmit(now) {
        let mut bytes = Vec::new();
        from.payload(out.data, |piece| {
            let Payload::Bytes(piece) = piece else { unreachable!() };
            bytes.extend_from_slice(piece);
        });
        if out.ecn == Ecn::Capable0 {
            to.mark_congestion_experienced();
        }
        to.handle_segment(now, &out.tcp, Payload::Bytes(&bytes));
        carried.push((out.tcp, out.ecn));
    }
    carried
}

#[test]
fn ecn_is_agreed_on_and_halves_the_window_once() {
    // RFC 3168, 6.1.1 to 6.1.3.
    let config = ConnectionConfig { ecn: true, ..Default::default() };
    let mut a = Host::connect(at(0), config, SeqNum(1));
    let (syn, _) = drain(&mut a, at(0)).pop().unwrap();
    assert_eq!(syn.flags, Flags::SYN | Flags::ECE | Flags::CWR);
    let mut b = Host::accept(at(0), config, SeqNum(2), &syn).unwrap();
    let (answer, _) = drain(&mut b, at(0)).pop().unwrap();
    assert_eq!(answer.flags, Flags::SYN | Flags::ACK | Flags::ECE);
    a.handle_segment(at(100), &answer, Payload::EMPTY);
    exchange(&mut a, &mut b, at(100));
    a.write(Payload::Bytes(&[0; 30 * 1448]));
    let window = a.tcb().unwrap().sender.cwnd();
    let sent = carry_marked(&mut a, &mut b, at(101));
    assert!(sent.iter().all(|(_, ecn)| *ecn == Ecn::Capable0));
    let acks = drain(&mut b, at(200));
    assert!(!acks.is_empty() && acks.iter().all(|(ack, _)| ack.has(Flags::ECE)));
    for (ack, _) in &acks {
        a.handle_segment(at(200), ack, Payload::EMPTY);
    }
    // However many echoes come, the window is halved once (and grows no faster than by one).
    let reduced = a.tcb().unwrap().sender.cwnd();
    assert!(
        reduced >= window / 2 - Bytes::new(1448) && reduced <= window / 2 + Bytes::new(2 * 1448),
        "{reduced}"
    );
    let next = drain(&mut a, at(201));
    assert!(next[0].0.has(Flags::CWR) && !next[1].0.has(Flags::CWR));
    for (tcp, bytes) in &next {
        b.handle_segment(at(300), tcp, Payload::Bytes(bytes));
    }
    assert!(drain(&mut b, at(300)).iter().all(|(ack, _)| !ack.has(Flags::ECE)), "CWR ends it");
}

#[test]
fn ecn_needs_both_ends_and_a_first_syn() {
    let config = ConnectionConfig { ecn: true, ..Default::default() };
    for (ours, theirs) in [(true, false), (false, true)] {
        let mut a = Host::connect(at(0), ConnectionConfig { ecn: ours, ..config }, SeqNum(1));
        let (syn, _) = drain(&mut a, at(0)).pop().unwrap();
        let theirs = ConnectionConfig { ecn: theirs, ..config };
        let mut b = Host::accept(at(0), theirs, SeqNum(2), &syn).unwrap();
        exchange(&mut a, &mut b, at(0));
        a.write(Payload::Bytes(b"x"));
        assert_eq!(a.poll_transmit(at(1)).unwrap().ecn, Ecn::NotCapable);
    }
    // 6.1.1.1: the SYN that is retransmitted goes without.
    let mut a = Host::connect(at(0), config, SeqNum(1));
    drain(&mut a, at(0));
    a.handle_timeout(at(1000));
    assert_eq!(drain(&mut a, at(1000)).pop().unwrap().0.flags, Flags::SYN);
}

#[test]
fn a_retransmission_may_not_be_marked() {
    let config = ConnectionConfig { ecn: true, ..Default::default() };
    let (mut a, _) = connected(config);
    a.write(Payload::Bytes(b"lost"));
    assert_eq!(a.poll_transmit(at(1)).unwrap().ecn, Ecn::Capable0);
    let timeout = a.poll_timeout().unwrap();
    a.handle_timeout(timeout);
    assert_eq!(a.poll_transmit(timeout).unwrap().ecn, Ecn::NotCapable);
}

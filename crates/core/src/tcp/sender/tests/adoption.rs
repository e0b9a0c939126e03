//! A sender that takes another one's place.

use super::*;
use crate::tcp::cause::Cause;

/// Segments 3 to 22 were sent by somebody else.
fn adopted(initial_window: u32) -> Sender {
    let mut sender = Sender::new(
        config(RecoveryAlgorithm::Sack, initial_window),
        segment(3).start,
        Bytes::new(1_000_000),
        Some(Duration::from_millis(100)),
    );
    sender.extend(segment(23).start);
    sender.adopt_flight(at(1_000));
    sender
}

#[test]
fn what_another_one_has_sent_is_in_flight_and_not_sent_again() {
    let mut sender = adopted(10);
    assert_eq!((sender.snd_una(), sender.snd_nxt()), (segment(3).start, segment(23).start));
    assert_eq!((sender.in_flight(), sender.cwnd()), (20 * SMSS, 20 * SMSS));
    assert_eq!(drain(&mut sender, at(1_000)), []);
    assert!(sender.poll_timer().is_some(), "RFC 6298: something is outstanding");
    // What is acknowledged lets new data out, and measures nothing.
    sender.extend(segment(30).start);
    let srtt = sender.rtt().srtt();
    acknowledge(&mut sender, at(1_001), 5, &[]);
    assert!(drain(&mut sender, at(1_001)).starts_with(&[23, 24]));
    assert_eq!(sender.rtt().srtt(), srtt);
}

#[test]
fn what_of_it_is_lost_is_retransmitted() {
    let mut sender = adopted(10);
    acknowledge(&mut sender, at(1_050), 3, &[4..8]);
    let sent = sender.poll_transmit(at(1_050)).expect("a retransmission");
    assert_eq!((sent.range, sent.retransmission), (segment(3), true));
    assert_eq!(sent.cause, Cause::FastRetransmit);
    // Or by the timer, if nothing comes back.
    let mut sender = adopted(10);
    let expiry = sender.poll_timer().expect("the timer runs");
    sender.on_timer(expiry);
    let sent = sender.poll_transmit(expiry).expect("a retransmission");
    assert_eq!((sent.range.start, sent.retransmission), (segment(3).start, true));
}

#[test]
fn a_sender_without_anything_in_flight_begins_as_usual() {
    let mut sender =
        Sender::new(config(RecoveryAlgorithm::Sack, 4), segment(3).start, Bytes::new(1_000), None);
    sender.adopt_flight(at(5));
    assert_eq!((sender.in_flight(), sender.cwnd()), (Bytes::ZERO, 4 * SMSS));
    assert_eq!(sender.poll_timer(), None);
}

/// Segments 3 to 22 and the FIN were sent before, on other terms.
fn resent(algorithm: RecoveryAlgorithm) -> Sender {
    let start = segment(3).start;
    let mut sender = Sender::new(config(algorithm, 4), start, Bytes::new(1_000_000), None);
    sender.extend(segment(23).start);
    sender.finish();
    sender.resend_flight(at(1_000), segment(23).start + Bytes::ONE);
    sender
}

#[test]
fn what_was_sent_on_other_terms_is_retransmitted_within_the_window() {
    for algorithm in [RecoveryAlgorithm::NewReno, RecoveryAlgorithm::Sack, RecoveryAlgorithm::Rack]
    {
        let mut sender = resent(algorithm);
        assert_eq!((sender.in_flight(), sender.cwnd()), (Bytes::ZERO, 4 * SMSS));
        let first = sender.poll_transmit(at(1_000)).expect("a retransmission");
        assert_eq!((first.range, first.cause), (segment(3), Cause::AfterTimeout));
        assert_eq!(drain(&mut sender, at(1_000)), [4, 5, 6]);
        // The peer had more than that.
        acknowledge(&mut sender, at(1_050), 18, &[]);
        assert_eq!(sender.rtt().srtt(), None, "what of it was acknowledged is not known");
        let mut sent = drain(&mut sender, at(1_050));
        acknowledge(&mut sender, at(1_100), 22, &[]);
        sent.extend(drain(&mut sender, at(1_100)));
        assert_eq!(sent, [18, 19, 20, 21, 22, 23], "each once, and the FIN");
        let (ack, window) = (segment(23).start + Bytes::ONE, Bytes::new(1_000_000));
        let all =
            Ack { segment: Offset::FIRST, ack, window, sack: &[], echoed: None, occupies: false };
        sender.on_ack(at(1_150), &all);
        assert!(sender.fin_acked() && sender.poll_timer().is_none());
    }
}

#[test]
fn what_was_sent_on_other_terms_and_is_acknowledged_is_not_sent() {
    let mut sender = resent(RecoveryAlgorithm::Sack);
    acknowledge(&mut sender, at(1_001), 20, &[]);
    assert_eq!(drain(&mut sender, at(1_001)), [20, 21, 22, 23]);
}

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

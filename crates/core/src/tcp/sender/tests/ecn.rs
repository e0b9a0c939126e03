//! The sender's answer to marks (RFC 3168, 6.1.2).

use super::*;

fn sack() -> Sender {
    sender(config(RecoveryAlgorithm::Sack, 10), 100)
}

#[test]
fn a_mark_halves_the_window_and_is_told() {
    let mut sender = sack();
    drain(&mut sender, at(0));
    acknowledge(&mut sender, at(100), 1, &[]);
    let window = sender.cwnd();
    sender.on_ecn_echo(at(100), SMSS);
    assert_eq!(sender.cwnd(), (window - SMSS) / 2, "half of the ten that were in flight");
    assert!(sender.take_reduced() && !sender.take_reduced());
}

#[test]
fn losses_and_timeouts_are_told_as_well() {
    let mut sender = sack();
    drain(&mut sender, at(0));
    assert!(!sender.take_reduced());
    acknowledge(&mut sender, at(100), 0, &[1..5]);
    assert!(sender.take_reduced(), "fast retransmit");
    let mut sender = sack();
    drain(&mut sender, at(0));
    let rto = sender.poll_timer().unwrap();
    sender.on_timer(rto);
    assert!(sender.take_reduced(), "timeout");
}

#[test]
fn with_a_window_of_one_segment_the_next_waits_for_the_timer() {
    let mut sender = sack();
    drain(&mut sender, at(0));
    let rto = sender.poll_timer().unwrap();
    sender.on_timer(rto);
    drain(&mut sender, rto);
    assert_eq!(sender.cwnd(), SMSS);
    let now = rto + Duration::from_millis(100);
    sender.on_ecn_echo(now, Bytes::ZERO);
    assert_eq!(sender.cwnd(), SMSS, "it cannot be halved, and does not grow");
    acknowledge(&mut sender, now, 10, &[]);
    assert_eq!(drain(&mut sender, now), []);
    let due = sender.poll_timer().expect("the wait ends");
    assert!(due > now + Duration::from_millis(100));
    sender.on_timer(due);
    assert!(!drain(&mut sender, due).is_empty());
}

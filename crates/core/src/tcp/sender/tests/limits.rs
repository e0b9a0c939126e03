//! What keeps a sender silent, by what it was given to do.

use super::*;
use crate::tcp::limiter::Limiter;
use crate::tcp::observation::Phase;
use crate::units::Rate;

/// What it is once all has left that may leave now.
fn limiter(sender: &mut Sender, now: Instant) -> Option<Limiter> {
    drain(sender, now);
    sender.limiter()
}

#[test]
fn the_application_and_the_end_of_its_stream_limit() {
    let mut sender = sender(config(RecoveryAlgorithm::Sack, 10), 2);
    assert_eq!(limiter(&mut sender, at(0)), Some(Limiter::Application));
    sender.finish();
    assert_eq!(limiter(&mut sender, at(0)), Some(Limiter::Closed), "the FIN has left");
    acknowledge(&mut sender, at(100), 2, &[]);
    assert_eq!(limiter(&mut sender, at(100)), Some(Limiter::Closed));
}

#[test]
fn before_it_is_asked_nothing_limits() {
    let mut sender = sender(config(RecoveryAlgorithm::Sack, 2), 6);
    assert!(sender.poll_transmit(at(0)).is_ok());
    assert_eq!(sender.limiter(), None);
}

#[test]
fn the_windows_limit() {
    let mut sender = sender(config(RecoveryAlgorithm::Sack, 2), 6);
    assert_eq!(limiter(&mut sender, at(0)), Some(Limiter::Cwnd));
    let config = config(RecoveryAlgorithm::Sack, 10);
    let mut sender = Sender::new(config, Offset::FIRST, 2 * SMSS, None);
    sender.extend(segment(5).end);
    assert_eq!(limiter(&mut sender, at(0)), Some(Limiter::PeerWindow));
}

#[test]
fn nagles_rule_the_pacer_and_the_link_limit() {
    let mut config = config(RecoveryAlgorithm::Sack, 10);
    let mut sender = super::sender(config, 1);
    sender.extend(segment(0).end + Bytes::new(10));
    assert_eq!(limiter(&mut sender, at(0)), Some(Limiter::Nagle));
    sender = super::sender(config, 2);
    sender.set_link_busy(true);
    assert_eq!(limiter(&mut sender, at(0)), Some(Limiter::LinkTurn));
    let rate = Rate::from_bits_per_sec(80_000);
    config.pacing = Pacing::Window { cap: Some(rate) };
    let mut sender = super::sender(config, 9);
    assert_eq!(limiter(&mut sender, at(0)), Some(Limiter::Pacer));
}

/// Ten segments are out; the first and the third are lost.
#[test]
fn recovery_limits_and_is_a_phase() {
    let mut sender = sender(config(RecoveryAlgorithm::NewReno, 10), 20);
    drain(&mut sender, at(0));
    assert_eq!(sender.phase(), Phase::Open);
    (0..3).for_each(|_| acknowledge(&mut sender, at(100), 0, &[]));
    assert!(matches!(limiter(&mut sender, at(100)), Some(Limiter::Cwnd | Limiter::Recovery)));
    assert_eq!(sender.phase(), Phase::Recovery);
    let due = sender.poll_timer().unwrap();
    sender.on_timer(due);
    assert_eq!(sender.phase(), Phase::Loss);
    drain(&mut sender, due);
    acknowledge(&mut sender, due, 10, &[]);
    assert_eq!(sender.phase(), Phase::Open);
}

#[test]
fn a_mark_at_a_window_of_one_segment_limits() {
    let mut sender = sender(config(RecoveryAlgorithm::Sack, 1), 6);
    drain(&mut sender, at(0));
    sender.on_ecn_echo(at(100), SMSS);
    assert_eq!(limiter(&mut sender, at(100)), Some(Limiter::Mark));
}

#[test]
fn a_burst_is_no_longer_than_a_scheduler_lets_it_be() {
    let config = SenderConfig { max_burst: 8 * SMSS, ..config(RecoveryAlgorithm::RackPto, 40) };
    let mut sender = sender(config, 40);
    let burst = |limit: Option<Bytes>| {
        sender.limit_burst(limit);
        let out = sender.poll_transmit(at(0)).expect("there is room");
        (out.range.end - out.range.start) / SMSS
    };
    assert_eq!([None, Some(3 * SMSS), Some(Bytes::ZERO), None].map(burst), [8, 3, 1, 8]);
}

/// The window ends `bytes` behind the first acknowledged segment, of twenty that have left.
fn shrunk(bytes: u64) -> Sender {
    let mut sender = sender(config(RecoveryAlgorithm::Sack, 20), 20);
    drain(&mut sender, at(0));
    let (ack, window) = (segment(0).end, Bytes::new(bytes));
    let ack = Ack { segment: Offset::FIRST, ack, window, sack: &[], echoed: None, occupies: false };
    sender.on_ack(at(100), &ack);
    sender
}

/// Fault seed 137778: what two hosts had in flight when their gateways went ended behind each
/// other's windows, and so did their acknowledgments.
#[test]
fn acknowledgments_stand_within_a_window_that_has_shrunk() {
    let stands = |bytes, unit| shrunk(bytes).seq_without_data(Bytes::new(unit));
    let (una, nxt) = (segment(0).end, segment(19).end);
    assert_eq!(stands(500, 1), una + Bytes::new(500));
    assert_eq!(stands(0, 1), una);
    assert_eq!(stands(2_000, 1), nxt, "it has not");
    // The field's unit does not express the same edge as the acknowledgment moves (RFC 7323, 2.4).
    assert_eq!(stands(1_899, 2), nxt);
    assert_eq!(stands(1_899, 1), nxt - Bytes::ONE);
}

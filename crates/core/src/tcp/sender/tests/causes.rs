//! Each segment's cause, by what made it leave.

use super::*;
use crate::tcp::cause::Cause;
use crate::tcp::limiter::Limiter;
use crate::units::Rate;

/// All that leaves now: number of the segment, and its cause.
fn caused(sender: &mut Sender, now: Instant) -> Vec<(u64, Cause)> {
    let mut sent = Vec::new();
    while let Ok(out) = sender.poll_transmit(now) {
        sent.push(((out.range.start - Offset::FIRST) / SMSS, out.cause));
        assert!(sent.len() < 1_000, "sends without end");
    }
    sent
}

/// The same cause for each of these segments.
fn each(segments: impl IntoIterator<Item = u64>, cause: Cause) -> Vec<(u64, Cause)> {
    segments.into_iter().map(|number| (number, cause)).collect()
}

fn expire(sender: &mut Sender) -> Instant {
    let due = sender.poll_timer().expect("a timer runs");
    sender.on_timer(due);
    due
}

#[test]
fn new_data_leaves_when_what_kept_it_back_is_over() {
    let mut sender = sender(config(RecoveryAlgorithm::Sack, 2), 6);
    assert_eq!(caused(&mut sender, at(0)), each(0..2, Cause::Written));
    acknowledge(&mut sender, at(100), 2, &[]);
    assert_eq!(caused(&mut sender, at(100)), each(2..6, Cause::AckClock), "the window held them");
    // Nothing is left: the next that is written leaves by itself.
    sender.extend(segment(6).end);
    acknowledge(&mut sender, at(200), 6, &[]);
    assert_eq!(caused(&mut sender, at(200)), each([6], Cause::Written));
}

#[test]
fn the_peers_window_the_pacer_and_the_link_are_causes() {
    let mut config = config(RecoveryAlgorithm::Sack, 10);
    config.nagle = false;
    let mut sender = Sender::new(config, Offset::FIRST, 2 * SMSS, None);
    sender.extend(segment(5).end);
    assert_eq!(caused(&mut sender, at(0)), each(0..2, Cause::Written));
    acknowledge(&mut sender, at(100), 2, &[]);
    assert_eq!(caused(&mut sender, at(100)), each(2..6, Cause::WindowOpened));

    let rate = Rate::from_bits_per_sec(80_000);
    let mut sender =
        super::sender(SenderConfig { pacing: Pacing::Window { cap: Some(rate) }, ..config }, 6);
    let burst = caused(&mut sender, at(0));
    assert!(burst.iter().all(|(_, cause)| *cause == Cause::Written), "{burst:?}");
    let due = expire(&mut sender);
    let next = burst.len() as u64;
    assert_eq!(caused(&mut sender, due), each([next], Cause::Paced));

    let mut sender = super::sender(config, 2);
    sender.set_link_busy(true);
    assert_eq!(caused(&mut sender, at(0)), []);
    sender.set_link_busy(false);
    assert_eq!(caused(&mut sender, at(0)), each(0..2, Cause::LinkTurn));
}

#[test]
fn nagles_rule_is_a_cause() {
    let mut sender = sender(config(RecoveryAlgorithm::Sack, 10), 1);
    sender.extend(segment(0).end + Bytes::new(10));
    assert_eq!(caused(&mut sender, at(0)), each([0], Cause::Written));
    assert_eq!(sender.limiter(), Some(Limiter::Nagle));
    acknowledge(&mut sender, at(100), 1, &[]);
    assert_eq!(caused(&mut sender, at(100)), each([1], Cause::Coalesced));
}

#[test]
fn holes_are_retransmitted_by_the_algorithms_own_cause() {
    for (algorithm, further) in [
        (RecoveryAlgorithm::Sack, Cause::FastRecovery),
        (RecoveryAlgorithm::Rack, Cause::Rack),
        (RecoveryAlgorithm::Fack, Cause::FastRecovery),
    ] {
        let mut sender = sender(config(algorithm, 20), 20);
        drain(&mut sender, at(0));
        acknowledge(&mut sender, at(100), 0, &[1..2, 3..12]);
        let mut sent = caused(&mut sender, at(100));
        acknowledge(&mut sender, at(200), 1, &[3..20]);
        sent.extend(caused(&mut sender, at(200)));
        assert_eq!(sent, [(0, Cause::FastRetransmit), (2, further)], "{algorithm}");
    }
}

#[test]
fn a_partial_acknowledgment_and_a_rescue_are_causes() {
    let mut sender = sender(config(RecoveryAlgorithm::NewReno, 10), 10);
    drain(&mut sender, at(0));
    (0..3).for_each(|_| acknowledge(&mut sender, at(100), 0, &[]));
    assert_eq!(caused(&mut sender, at(100)), [(0, Cause::FastRetransmit)]);
    acknowledge(&mut sender, at(200), 4, &[]);
    assert_eq!(caused(&mut sender, at(200)), [(4, Cause::PartialAck)]);

    // As in sack.rs: the first and the last two of twenty are lost.
    let mut sender = super::sender(config(RecoveryAlgorithm::Sack, 20), 20);
    drain(&mut sender, at(0));
    acknowledge(&mut sender, at(100), 0, &[1..18]);
    assert_eq!(caused(&mut sender, at(100)), [(0, Cause::FastRetransmit)]);
    acknowledge(&mut sender, at(200), 18, &[]);
    assert_eq!(caused(&mut sender, at(200)), [(19, Cause::Rescue)]);
}

#[test]
fn what_a_timeout_found_lost_follows_it_in_slow_start() {
    let mut sender = sender(config(RecoveryAlgorithm::Sack, 4), 4);
    drain(&mut sender, at(0));
    let due = expire(&mut sender);
    assert_eq!(caused(&mut sender, due), [(0, Cause::Timeout)]);
    let now = due + Duration::from_millis(100);
    acknowledge(&mut sender, now, 1, &[]);
    assert_eq!(caused(&mut sender, now), each(1..3, Cause::AfterTimeout));
}

#[test]
fn probes_are_causes() {
    let mut sender = sender(config(RecoveryAlgorithm::Rack, 20), 10);
    drain(&mut sender, at(0));
    acknowledge(&mut sender, at(100), 7, &[]);
    let due = expire(&mut sender);
    assert_eq!(caused(&mut sender, due), [(9, Cause::TailLossProbe)]);

    let mut sender = super::sender(config(RecoveryAlgorithm::Rack, 20), 1);
    drain(&mut sender, at(0));
    acknowledge(&mut sender, at(100), 1, &[]);
    sender.keep_alive();
    assert_eq!(sender.poll_transmit(at(200)).unwrap().cause, Cause::KeepAlive);

    let mut sender =
        Sender::new(config(RecoveryAlgorithm::Sack, 10), Offset::FIRST, Bytes::ZERO, None);
    sender.extend(segment(0).end);
    assert_eq!(caused(&mut sender, at(0)), []);
    let due = expire(&mut sender);
    assert_eq!(sender.poll_transmit(due).unwrap().cause, Cause::WindowProbe);
}

#[test]
fn blind_sending_is_a_cause() {
    let mut sender =
        Sender::new(config(RecoveryAlgorithm::Sack, 10), Offset::FIRST, Bytes::ZERO, None);
    sender.extend(segment(0).end);
    assert_eq!(sender.transmit_regardless(at(0)).unwrap().cause, Cause::Blind);
}

//! The congestion window alone, by what recovery and the ledger say.

use super::*;
use crate::tcp::congestion::CongestionEvent;
use crate::tcp::recovery::{Episode, SentFacts};
use crate::units::Bytes;

fn proportional() -> SenderConfig {
    let reduction = Reduction::Prr;
    SenderConfig { smss: SMSS, max_burst: SMSS, reduction, undo: true, ..Default::default() }
}

/// A window of ten segments, all of which are in flight.
fn full() -> (CongestionWindow, Flight) {
    let mut flight = Flight::new(Offset::FIRST, RecoveryAlgorithm::Sack, true);
    let (now, again, smss) = (Instant::from_millis(100), false, SMSS);
    let timing = Timers::new(proportional().rto, None).timing();
    for number in 0..10 {
        let range = segment(number);
        flight.sent(&SentFacts { now, range, again, timing, smss });
    }
    (CongestionWindow::new(&proportional()), flight)
}

fn meet(cwnd: &mut CongestionWindow, flight: &Flight, episode: Episode) {
    let (now, in_flight) = (Instant::from_millis(200), flight.in_flight());
    let event = CongestionEvent { now, flight_size: flight.size(), in_flight, smss: SMSS };
    cwnd.on_episode(episode, &event, flight, &proportional());
}

#[test]
fn each_byte_is_news_once() {
    let (mut cwnd, mut flight) = full();
    assert_eq!(cwnd.take_news(flight.ledger()), (Bytes::ZERO, Bytes::ZERO));
    let sack = [Offset::span(201, 501)];
    let ack = Ack {
        segment: Offset::FIRST,
        ack: Offset::new(101),
        window: Bytes::new(9_000),
        sack: &sack,
        echoed: None,
        occupies: false,
    };
    flight.acknowledge(Instant::from_millis(200), &ack, true, SMSS);
    flight.mark_lost(Instant::from_millis(200), Offset::span(101, 201), |_| {});
    assert_eq!(cwnd.take_news(flight.ledger()), (4 * SMSS, SMSS));
    assert_eq!(cwnd.take_news(flight.ledger()), (Bytes::ZERO, Bytes::ZERO));
}

#[test]
fn a_proportional_reduction_lets_out_what_it_allows_and_ends_at_the_threshold() {
    let (mut cwnd, flight) = full();
    assert_eq!((cwnd.bytes(), cwnd.room(9 * SMSS)), (10 * SMSS, SMSS));
    meet(&mut cwnd, &flight, Episode::Enter);
    assert!(cwnd.reduces_proportionally() && cwnd.take_reduced() && !cwnd.take_reduced());
    assert_eq!(
        (cwnd.ssthresh(), cwnd.room(Bytes::ZERO)),
        (5 * SMSS, Bytes::ZERO),
        "no acknowledgment yet"
    );
    meet(&mut cwnd, &flight, Episode::LostAgain);
    assert_eq!(cwnd.ssthresh(), 5 * SMSS, "it has answered already");
    assert!(cwnd.take_reduced());
    meet(&mut cwnd, &flight, Episode::Exit);
    assert!(!cwnd.reduces_proportionally() && !cwnd.take_reduced());
    assert_eq!((cwnd.bytes(), cwnd.room(SMSS)), (5 * SMSS, 4 * SMSS));
}

#[test]
fn what_is_undone_is_what_was_remembered() {
    let (mut cwnd, flight) = full();
    meet(&mut cwnd, &flight, Episode::Enter);
    cwnd.undo(8 * SMSS);
    assert_eq!((cwnd.bytes(), cwnd.reduces_proportionally()), (8 * SMSS, false));
    let event = CongestionEvent {
        now: Instant::ZERO,
        flight_size: Bytes::ZERO,
        in_flight: Bytes::ZERO,
        smss: SMSS,
    };
    cwnd.on_timeout(&event, Offset::new(1001), false);
    assert!(cwnd.is_after_timeout(Offset::new(1000)) && !cwnd.is_after_timeout(Offset::new(1001)));
    assert!(!cwnd.is_after_timeout(Offset::new(1000)), "once acknowledged, for good");
}

use super::*;
use crate::time::Duration;

const SMSS: Bytes = Bytes::new(100);

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn segment(number: u64) -> Range<Offset> {
    Offset::FIRST + number * SMSS..Offset::FIRST + (number + 1) * SMSS
}

fn send(flight: &mut Flight, range: Range<Offset>, again: bool) {
    let second = Duration::from_secs(1);
    let timing = Timing { srtt: None, min_rtt: None, rttvar: second, rto: second };
    flight.sent(&SentFacts { now: at(100), range, again, timing, smss: SMSS });
}

/// A flight of that many segments.
fn flight(segments: u64) -> Flight {
    let mut flight = Flight::new(Offset::FIRST, RecoveryAlgorithm::Sack, true);
    for number in 0..segments {
        send(&mut flight, segment(number), false);
    }
    flight
}

fn acknowledge(flight: &mut Flight, ack: u64, sack: &[Range<Offset>]) -> Delivered {
    let ack = Ack {
        segment: Offset::FIRST,
        ack: Offset::new(ack),
        window: Bytes::new(9_000),
        sack,
        echoed: None,
        occupies: false,
    };
    flight.acknowledge(at(200), &ack, true, SMSS)
}

#[test]
fn a_round_trip_ends_with_what_was_sent_in_answer_to_its_beginning() {
    let mut flight = flight(2);
    acknowledge(&mut flight, segment(0).end.get(), &[]);
    assert_eq!(flight.round(), 1, "the first begins with nothing");
    send(&mut flight, segment(2), false);
    acknowledge(&mut flight, segment(1).start.get(), &[]);
    assert_eq!(flight.round(), 1, "nothing new");
    acknowledge(&mut flight, segment(1).end.get(), &[]);
    assert_eq!(flight.round(), 1, "it was outstanding before the first began");
    acknowledge(&mut flight, segment(2).end.get(), &[]);
    assert_eq!(flight.round(), 2);
}

/// Windows double: each round trip is all of one window, and none begins within another's burst.
#[test]
fn round_trips_of_slow_start_double() {
    let mut flight = flight(10);
    let (mut next, mut acked, mut ends) = (10, 0, Vec::new());
    for _ in 0..150 {
        let before = flight.round();
        acknowledge(&mut flight, segment(acked).end.get(), &[]);
        if flight.round() > before {
            ends.push(acked);
        }
        acked += 1;
        for _ in 0..2 {
            send(&mut flight, segment(next), false);
            next += 1;
        }
    }
    assert_eq!(ends, [0, 10, 30, 70]);
}

#[test]
fn what_a_peer_makes_up_is_not_noted() {
    let mut flight = flight(4);
    // Never sent; a part of a segment; below what it acknowledges.
    let made_up = [segment(3).start..segment(4).end, Offset::span(310, 350), Offset::span(1, 50)];
    assert_eq!(acknowledge(&mut flight, segment(0).end.get(), &made_up).sacked, Bytes::ZERO);
    // A part and a whole one.
    let cut = Offset::new(250)..segment(3).end;
    assert_eq!(acknowledge(&mut flight, segment(0).end.get(), &[cut]).sacked, SMSS);
    assert_eq!(flight.ledger().records_in(flight.outstanding()).count(), 3, "as they were sent");
}

#[test]
fn a_timeout_tells_of_each_segment_and_distrusts_sack_blocks_that_it_refutes() {
    let mut flight = flight(4);
    acknowledge(&mut flight, 1, &[segment(0), segment(2)]);
    let mut lost = 0;
    flight.on_timeout(at(900), |_| lost += 1);
    assert_eq!((lost, flight.in_flight()), (4, Bytes::ZERO));
    assert_eq!(flight.ledger().first_lost(SMSS), Some(segment(0)));
    flight.undo();
    assert_eq!(
        (flight.in_flight(), flight.ledger().first_lost(SMSS)),
        (Bytes::new((4 * SMSS).count()), None)
    );
}

#[test]
fn segments_that_no_longer_fit_are_lost() {
    let mut flight = flight(2);
    send(&mut flight, Offset::span(201, 251), false);
    assert_eq!(
        (flight.first(), flight.last(SMSS)),
        (Some(Offset::span(1, 101)), Some(Offset::span(201, 251)))
    );
    assert!(!flight.hold_longer_lost(Bytes::new(100)));
    acknowledge(&mut flight, 1, &[segment(1)]);
    assert!(flight.hold_longer_lost(Bytes::new(60)));
    assert_eq!(
        (flight.ledger().first_lost(SMSS), flight.in_flight()),
        (Some(Offset::span(1, 101)), Bytes::new(50))
    );
}

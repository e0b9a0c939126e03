//! How much a stream holds, by what it delivers.

use super::*;

const ROUND: Duration = Duration::from_millis(500);
/// What a known link needs.
const KNOWN: StreamLimit = StreamLimit { min: Bytes::new(4 << 20), max: Bytes::new(4 << 20) };
/// Next door to the near host, and over the satellite to the far one.
const ROUND_TRIPS: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(499)];

/// Rounds in which so many bytes are delivered each, of which so many are retransmitted.
fn rounds(tuner: &mut BufferTuner, first: u64, rounds: &[(u64, u64)]) {
    let (mut delivered, mut repeated) = tuner.round_and_retransmitted();
    for (number, (bytes, again)) in rounds.iter().enumerate() {
        delivered += bytes;
        repeated += again;
        let now = Instant::ZERO + ROUND * (first + number as u64 + 1) as u32;
        let observed = Observed {
            now,
            round_trips: ROUND_TRIPS,
            min_round_trip: ROUND,
            delivered: Offset::new(delivered),
            retransmitted: Bytes::new(repeated),
        };
        tuner.on_delivered(&observed);
    }
}

impl BufferTuner {
    fn round_and_retransmitted(&self) -> (u64, u64) {
        (self.round.1.get(), self.retransmitted_before.count())
    }
}

#[test]
fn a_stream_holds_twice_what_it_delivers_in_a_round_trip() {
    let mut tuner = BufferTuner::new(Instant::ZERO, Bytes::ZERO, KNOWN);
    assert_eq!(tuner.capacity(), Bytes::new(64_000));
    rounds(&mut tuner, 0, &[(500_000, 0); 11]);
    assert_eq!(tuner.capacity(), Bytes::new(1_000_000));
    // A little loss, and much.
    rounds(&mut tuner, 11, &[(500_000, 4_000); 10]);
    assert_eq!(tuner.capacity(), Bytes::new(1_000_000));
    let mut hundredth = BufferTuner::new(Instant::ZERO, Bytes::ZERO, KNOWN);
    rounds(&mut hundredth, 0, &[(500_000, 5_000); 2]);
    assert_eq!(hundredth.capacity(), Bytes::new(1_000_000));
    rounds(&mut tuner, 21, &[(500_000, 8_000); 10]);
    assert_eq!(tuner.capacity(), Bytes::new(2_000_000));
    // The same on the way to us.
    let mut tuner = BufferTuner::new(Instant::ZERO, Bytes::ZERO, KNOWN);
    for round in 0..10 {
        tuner.note_holes(Bytes::new(8_000));
        rounds(&mut tuner, round, &[(500_000, 0)]);
    }
    assert_eq!(tuner.capacity(), Bytes::new(2_000_000));
}

#[test]
fn a_stream_from_a_distant_host_holds_four_times_as_much() {
    let mut tuner = BufferTuner::new(Instant::ZERO, Bytes::ZERO, KNOWN);
    let [near, far] = ROUND_TRIPS;
    for round in 1..4 {
        let (now, delivered) = (Instant::ZERO + ROUND * round, 1 + 500_000 * u64::from(round));
        tuner.on_delivered(&Observed {
            now,
            round_trips: [far, near],
            min_round_trip: ROUND,
            delivered: Offset::new(delivered),
            retransmitted: Bytes::ZERO,
        });
        assert_eq!(tuner.capacity(), Bytes::new(2_000_000));
    }
}

#[test]
fn a_stream_from_a_distant_host_grows_while_the_round_lasts() {
    let mut tuner = BufferTuner::new(Instant::ZERO, Bytes::ZERO, KNOWN);
    let [near, far] = ROUND_TRIPS;
    for (delivered, capacity) in [(10_000, 64_000), (20_000, 120_000), (40_000, 240_000)] {
        tuner.on_delivered(&Observed {
            now: Instant::ZERO + near,
            round_trips: [far, near],
            min_round_trip: ROUND,
            delivered: Offset::new(1 + delivered),
            retransmitted: Bytes::ZERO,
        });
        assert_eq!(tuner.capacity(), Bytes::new(capacity));
    }
    // What a round brings that is like those before takes no more.
    tuner.rounds[0] = Bytes::new(40_000);
    tuner.on_delivered(&Observed {
        now: Instant::ZERO + near,
        round_trips: [far, near],
        min_round_trip: ROUND,
        delivered: Offset::new(50_001),
        retransmitted: Bytes::ZERO,
    });
    assert_eq!(tuner.capacity(), Bytes::new(240_000));
    // Of what follows a hole nothing is delivered before that is filled.
    tuner.rounds[0] = Bytes::new(30_000);
    tuner.bridge(Bytes::new(1_000), Bytes::new(50_000), Bytes::ZERO);
    assert_eq!(tuner.capacity(), Bytes::new(1_000 + 7 * 50_000));
    tuner.rounds[0] = Bytes::new(50_000);
    tuner.bridge(Bytes::new(50_000), Bytes::new(50_000), Bytes::ZERO);
    assert_eq!(tuner.capacity(), Bytes::new(1_000 + 7 * 50_000));
    tuner.bridge(Bytes::ZERO, Bytes::new(1 << 30), Bytes::ZERO);
    assert_eq!(tuner.capacity(), Bytes::new(4 << 20), "never more than it may");
}

/// While a hole is repaired for the second time, the far host has a round trip of bytes behind it,
/// and another is in flight.
#[test]
fn what_the_far_host_has_behind_a_hole_holds_nobody_up() {
    let mut tuner = BufferTuner::new(Instant::ZERO, Bytes::ZERO, KNOWN);
    let beginning = Bytes::new(16_000);
    for (in_flight, sacked, capacity) in
        [(100_000, 0, 200_000), (100_000, 100_000, 300_000), (50_000, 1 << 30, (4 << 20) - 16_000)]
    {
        tuner.keep_ahead(Bytes::new(in_flight), Bytes::new(sacked));
        assert_eq!(tuner.capacity(), Bytes::new(capacity) + beginning);
    }
}

/// A link that is found brings a million bytes in a round trip. Three and three quarters of that
/// are held while a hole is repaired, but nothing is promised for one that has not come up.
#[test]
fn a_link_that_is_found_is_not_held_up_by_a_retransmission_that_was_lost() {
    let of = |bytes: u64| Bytes::new(bytes);
    let limits = StreamLimit { min: of(1_000_000), max: of(1 << 30) };
    let begin = || {
        let mut tuner =
            BufferTuner::new(Instant::ZERO, Bytes::ZERO, limits).promising(of(2_000_000));
        tuner.expect(of(1_000_000));
        assert_eq!(tuner.capacity(), of(2_000_000), "as much as may be promised at first");
        tuner
    };
    let mut arriving = begin();
    arriving.bridge(Bytes::ZERO, of(1_000_000), of(1));
    assert_eq!(arriving.capacity(), of(2_000_000));
    arriving.bridge(Bytes::ZERO, of(1_000_000), of(1_000_000));
    assert_eq!(arriving.capacity(), of(2_500_000));
    arriving.bridge(Bytes::ZERO, of(2_000_000), of(2_000_000));
    assert_eq!(arriving.capacity(), of(3_750_000));
    let mut leaving = begin();
    leaving.keep_ahead(of(2_000_000), Bytes::ZERO);
    assert_eq!(leaving.capacity(), of(2_000_000));
    leaving.keep_ahead(of(1_000_000), of(1_500_000));
    assert_eq!(leaving.capacity(), of(3_516_000));
    leaving.keep_ahead(of(1_000_000), of(1 << 30));
    assert_eq!(leaving.capacity(), of(3_750_000), "never more");
}

#[test]
fn a_round_that_is_held_up_by_a_loss_takes_nothing_away() {
    let mut tuner = BufferTuner::new(Instant::ZERO, Bytes::ZERO, KNOWN);
    rounds(&mut tuner, 0, &[(500_000, 0); 10]);
    rounds(&mut tuner, 10, &[(1_000, 0), (1_000, 0), (500_000, 0), (1_000, 0)]);
    assert!(tuner.capacity() >= Bytes::new(1_000_000), "what was held up came with a jump");
    rounds(&mut tuner, 14, &[(500_000, 0); 10]);
    assert_eq!(tuner.capacity(), Bytes::new(1_000_000));
}

#[test]
fn silence_does_not_count_but_a_stream_that_runs_empty_does() {
    let mut tuner = BufferTuner::new(Instant::ZERO, Bytes::ZERO, KNOWN);
    rounds(&mut tuner, 0, &[(500_000, 0); 10]);
    let at = |millis| Instant::ZERO + Duration::from_millis(millis);
    let deliver = |tuner: &mut BufferTuner, millis, delivered| {
        let (now, repeated) = (at(millis), 0);
        let round_trips = ROUND_TRIPS;
        tuner.on_delivered(&Observed {
            now,
            round_trips,
            min_round_trip: ROUND,
            delivered,
            retransmitted: Bytes::new(repeated),
        });
    };
    // It is drained at once, again and again, within the round trip.
    for tenth in 1..=5 {
        let delivered = 5_000_001 + 100_000 * (tenth - 1);
        tuner.begin(at(5_000 + 100 * tenth - 1), ROUND, Offset::new(delivered));
        deliver(&mut tuner, 5_000 + 100 * tenth, Offset::new(5_000_001 + 100_000 * tenth));
    }
    assert_eq!(tuner.capacity(), Bytes::new(1_000_000));
    // After a minute's silence as much comes in a round trip as ever.
    tuner.begin(at(65_000), ROUND, Offset::new(5_500_001));
    deliver(&mut tuner, 65_500, Offset::new(6_000_001));
    assert_eq!(tuner.capacity(), Bytes::new(1_000_000));
}

#[test]
fn a_stream_that_delivers_nothing_falls_to_the_least() {
    let mut tuner = BufferTuner::new(Instant::ZERO, Bytes::ZERO, KNOWN);
    rounds(&mut tuner, 0, &[(1_000_000, 0); 3]);
    assert!(tuner.capacity() >= Bytes::new(2_000_000));
    rounds(&mut tuner, 3, &[(100, 0); 20]);
    assert_eq!(tuner.capacity(), Bytes::new(64_000));
    let mut small = BufferTuner::new(
        Instant::ZERO,
        Bytes::new(1 << 20),
        StreamLimit::known(Bytes::new(20_000)),
    );
    rounds(&mut small, 0, &[(100, 0); 5]);
    assert_eq!(small.capacity(), Bytes::new(20_000), "never more than it may");
}

/// 250 Mbit/s and half a second: more than a stream may hold on any unknown link, and then a queue
/// that fills.
#[test]
fn an_unknown_link_is_what_is_measured_of_it() {
    let unknown = StreamLimit { min: Bytes::new(4 << 20), max: Bytes::new(1 << 30) };
    let product = 15_625_000;
    // By rounds of so many half seconds, of which all but one is the queue's.
    let after = |unknown, stretch: u32, lossy: bool| {
        let mut tuner = BufferTuner::new(Instant::ZERO, Bytes::ZERO, unknown);
        let (mut now, mut delivered, mut lost) = (Instant::ZERO, 0, 0);
        for round in 0..30_u32 {
            let queued = if round < 20 { 1 } else { stretch };
            delivered += (product * u64::from(queued)).min(20_000 << round);
            lost += if lossy { delivered / 50 } else { 0 };
            now += ROUND * queued;
            let [near, far] = ROUND_TRIPS;
            tuner.on_delivered(&Observed {
                now,
                round_trips: [near, far + ROUND * (queued - 1)],
                min_round_trip: ROUND,
                delivered: Offset::new(1 + delivered),
                retransmitted: Bytes::new(lost),
            });
            tuner.keep_ahead(Bytes::new(product * u64::from(queued)), Bytes::ZERO);
        }
        tuner.capacity().count()
    };
    for stretch in [1, 2, 10] {
        assert_eq!(after(unknown, stretch, false), 2 * product, "{stretch}");
        assert_eq!(after(unknown, stretch, true), 4 * product, "{stretch}");
    }
    assert_eq!(after(KNOWN, 10, false), 4 << 20);
    let most = StreamLimit { max: Bytes::new(20_000_000), ..unknown };
    assert_eq!(after(most, 1, false), 20_000_000, "no more than that in any case");
}

//! How much a stream holds, by what it delivers.

use super::*;

const ROUND: Duration = Duration::from_millis(500);
/// Next door to the near host, and over the satellite to the far one.
const ROUND_TRIPS: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(499)];

/// Rounds in which so many bytes are delivered each, of which so many are sent again.
fn rounds(sizing: &mut Sizing, first: u64, rounds: &[(u64, u64)]) {
    let (mut delivered, mut repeated) = sizing.round_and_repeated();
    for (number, (bytes, again)) in rounds.iter().enumerate() {
        delivered += bytes;
        repeated += again;
        let now = Instant::ZERO + ROUND * (first + number as u64 + 1) as u32;
        let observed = Observed { now, round_trips: ROUND_TRIPS, delivered, repeated };
        sizing.on_delivered(&observed);
    }
}

impl Sizing {
    fn round_and_repeated(&self) -> (u64, u64) {
        (self.round.1, self.repeated_before)
    }
}

#[test]
fn a_stream_holds_twice_what_it_delivers_in_a_round_trip() {
    let mut sizing = Sizing::new(Instant::ZERO, 0, 4 << 20);
    assert_eq!(sizing.capacity(), 64_000);
    rounds(&mut sizing, 0, &[(500_000, 0); 11]);
    assert_eq!(sizing.capacity(), 1_000_000);
    // A little loss, and much.
    rounds(&mut sizing, 11, &[(500_000, 4_000); 10]);
    assert_eq!(sizing.capacity(), 1_000_000);
    let mut hundredth = Sizing::new(Instant::ZERO, 0, 4 << 20);
    rounds(&mut hundredth, 0, &[(500_000, 5_000); 2]);
    assert_eq!(hundredth.capacity(), 1_000_000);
    rounds(&mut sizing, 21, &[(500_000, 8_000); 10]);
    assert_eq!(sizing.capacity(), 2_000_000);
    // The same on the way to us.
    let mut sizing = Sizing::new(Instant::ZERO, 0, 4 << 20);
    for round in 0..10 {
        sizing.note_holes(8_000);
        rounds(&mut sizing, round, &[(500_000, 0)]);
    }
    assert_eq!(sizing.capacity(), 2_000_000);
}

#[test]
fn a_stream_from_a_distant_host_holds_four_times_as_much() {
    let mut sizing = Sizing::new(Instant::ZERO, 0, 4 << 20);
    let [near, far] = ROUND_TRIPS;
    for round in 1..4 {
        let (now, delivered) = (Instant::ZERO + ROUND * round, 1 + 500_000 * u64::from(round));
        sizing.on_delivered(&Observed { now, round_trips: [far, near], delivered, repeated: 0 });
        assert_eq!(sizing.capacity(), 2_000_000);
    }
}

#[test]
fn a_stream_from_a_distant_host_grows_while_the_round_lasts() {
    let mut sizing = Sizing::new(Instant::ZERO, 0, 4 << 20);
    let [near, far] = ROUND_TRIPS;
    for (delivered, capacity) in [(10_000, 64_000), (20_000, 120_000), (40_000, 240_000)] {
        sizing.on_delivered(&Observed {
            now: Instant::ZERO + near,
            round_trips: [far, near],
            delivered: 1 + delivered,
            repeated: 0,
        });
        assert_eq!(sizing.capacity(), capacity);
    }
    // What a round brings that is like those before takes no more.
    sizing.rounds[0] = 40_000;
    sizing.on_delivered(&Observed {
        now: Instant::ZERO + near,
        round_trips: [far, near],
        delivered: 50_001,
        repeated: 0,
    });
    assert_eq!(sizing.capacity(), 240_000);
    // Of what follows a hole nothing is delivered before that is filled.
    sizing.rounds[0] = 30_000;
    sizing.bridge(1_000, 50_000);
    assert_eq!(sizing.capacity(), 1_000 + 7 * 50_000);
    sizing.rounds[0] = 50_000;
    sizing.bridge(50_000, 50_000);
    assert_eq!(sizing.capacity(), 1_000 + 7 * 50_000);
    sizing.bridge(0, 1 << 30);
    assert_eq!(sizing.capacity(), 4 << 20, "never more than it may");
}

#[test]
fn a_round_that_is_held_up_by_a_loss_takes_nothing_away() {
    let mut sizing = Sizing::new(Instant::ZERO, 0, 4 << 20);
    rounds(&mut sizing, 0, &[(500_000, 0); 10]);
    rounds(&mut sizing, 10, &[(1_000, 0), (1_000, 0), (500_000, 0), (1_000, 0)]);
    assert!(sizing.capacity() >= 1_000_000, "what was held up came with a jump");
    rounds(&mut sizing, 14, &[(500_000, 0); 10]);
    assert_eq!(sizing.capacity(), 1_000_000);
}

#[test]
fn silence_does_not_count_but_a_stream_that_runs_empty_does() {
    let mut sizing = Sizing::new(Instant::ZERO, 0, 4 << 20);
    rounds(&mut sizing, 0, &[(500_000, 0); 10]);
    let at = |millis| Instant::ZERO + Duration::from_millis(millis);
    let deliver = |sizing: &mut Sizing, millis, delivered| {
        let (now, repeated) = (at(millis), 0);
        let round_trips = ROUND_TRIPS;
        sizing.on_delivered(&Observed { now, round_trips, delivered, repeated });
    };
    // It is drained at once, again and again, within the round trip.
    for tenth in 1..=5 {
        let delivered = 5_000_001 + 100_000 * (tenth - 1);
        sizing.begin(at(5_000 + 100 * tenth - 1), ROUND, delivered);
        deliver(&mut sizing, 5_000 + 100 * tenth, 5_000_001 + 100_000 * tenth);
    }
    assert_eq!(sizing.capacity(), 1_000_000);
    // After a minute's silence as much comes in a round trip as ever.
    sizing.begin(at(65_000), ROUND, 5_500_001);
    deliver(&mut sizing, 65_500, 6_000_001);
    assert_eq!(sizing.capacity(), 1_000_000);
}

#[test]
fn a_stream_that_delivers_nothing_falls_to_the_least() {
    let mut sizing = Sizing::new(Instant::ZERO, 0, 4 << 20);
    rounds(&mut sizing, 0, &[(1_000_000, 0); 3]);
    assert!(sizing.capacity() >= 2_000_000);
    rounds(&mut sizing, 3, &[(100, 0); 20]);
    assert_eq!(sizing.capacity(), 64_000);
    let mut small = Sizing::new(Instant::ZERO, 1 << 20, 20_000);
    rounds(&mut small, 0, &[(100, 0); 5]);
    assert_eq!(small.capacity(), 20_000, "never more than it may");
}

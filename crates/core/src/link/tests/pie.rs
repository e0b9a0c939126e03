//! PIE, statement by statement of RFC 8033.

use super::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A packet of 1000 bytes that can be marked or not.
#[derive(Debug)]
struct Capable(bool);

impl LinkPacket for Capable {
    fn wire_len(&self) -> u64 {
        1000
    }
    fn mark_congestion_experienced(&mut self) -> bool {
        self.0
    }
}

/// A queue with this probability and delay, burst allowance used up, ten packets waiting.
fn controlled(config: PieConfig, probability: f64, delay: Duration) -> Pie<Capable> {
    let mut pie = Pie::new(config, 1);
    for _ in 0..10 {
        pie.enqueue(Instant::ZERO, Capable(false)).unwrap();
    }
    pie.set(probability, delay);
    pie
}

/// Offers a packet, which does not stay; whether it was let in.
fn offer(pie: &mut Pie<Capable>, capable: bool) -> bool {
    let passed = pie.enqueue(Instant::ZERO, Capable(capable)).is_ok();
    if passed {
        pie.forget_newest();
    }
    passed
}

/// Section 4.2's control law with its scaling: p += α·(delay − target) + β·(delay − before).
#[test]
fn the_probability_follows_the_control_law() {
    let ms = Duration::from_millis;
    for (probability, delay, expected) in [
        (0.5, 55, 0.5 + 0.125 * 0.040),
        (0.05, 55, 0.05 + 0.125 * 0.040 / 2.0),
        (0.005, 55, 0.005 + 0.125 * 0.040 / 8.0),
        (0.0005, 55, 0.0005 + 0.125 * 0.040 / 32.0),
        (0.000_05, 55, 0.000_05 + 0.125 * 0.040 / 128.0),
        (0.000_005, 55, 0.000_005 + 0.125 * 0.040 / 512.0),
        (0.0, 55, 0.125 * 0.040 / 2048.0),
        // At the target it stays; below it falls, not below zero.
        (0.3, 15, 0.3),
        (0.3, 5, 0.3 - 0.125 * 0.010),
        (0.000_000_1, 5, 0.0),
    ] {
        let mut pie = controlled(PieConfig::default(), probability, ms(delay));
        pie.catch_up(Instant::from_millis(15));
        assert!(
            (pie.probability() - expected).abs() < 1e-12,
            "{probability} {delay}: {}",
            pie.probability()
        );
    }
}

/// A step is no more than 2 % from 10 % on; without a queue the probability decays by 2 %.
#[test]
fn steps_are_limited_and_a_probability_without_a_queue_decays() {
    let mut pie = controlled(PieConfig::default(), 0.2, Duration::from_secs(2));
    pie.catch_up(Instant::from_millis(15));
    assert!((pie.probability() - 0.22).abs() < 1e-12);
    let mut pie = controlled(PieConfig::default(), 0.2, Duration::ZERO);
    pie.catch_up(Instant::from_millis(15));
    assert!((pie.probability() - (0.2 - 0.125 * 0.015) * 0.98).abs() < 1e-12);
    // A second later nothing is left of it, and an hour is no more work.
    pie.catch_up(Instant::from_millis(3_600_000));
    assert_eq!(pie.probability(), 0.0);
}

/// Section 4.4: a burst of 150 ms passes, and no more.
#[test]
fn a_burst_passes() {
    let mut pie = Pie::new(PieConfig { limit: QueueLimit::Unlimited, ..Default::default() }, 1);
    let mut first = None;
    // Two packets a millisecond come, one goes.
    for millis in 0..3000 {
        let now = Instant::from_millis(millis);
        for _ in 0..2 {
            if pie.enqueue(now, Capable(false)).is_err() {
                first.get_or_insert(millis);
            }
        }
        pie.head(now);
        pie.dequeue(Instant::from_millis(millis + 1));
    }
    let first = first.expect("in the end it drops");
    assert!((150..700).contains(&first), "{first}");
}

/// Section 5.4: no drop before the probabilities have added up to 0.85, one at 8.5 at the latest.
#[test]
fn drops_are_neither_in_a_row_nor_far_apart() {
    let p = 0.05;
    let mut pie = controlled(PieConfig::default(), p, Duration::from_millis(15));
    let (mut since, mut distances) = (0u32, Vec::new());
    while distances.len() < 20_000 {
        since += 1;
        if !offer(&mut pie, false) {
            distances.push(std::mem::take(&mut since));
        }
    }
    let (min, max) = (*distances.iter().min().unwrap(), *distances.iter().max().unwrap());
    assert!((17..=18).contains(&min) && max <= 171, "{min} to {max}");
    // Sixteen or seventeen pass, then each with p.
    let mean = distances.iter().map(|n| f64::from(*n)).sum::<f64>() / distances.len() as f64;
    assert!((mean - (16.5 + 1.0 / p)).abs() < 1.5, "{mean}");
}

/// Section 4.1: what hardly waits is let in, and so is all while the delay was below half the
/// target.
#[test]
fn short_queues_and_short_delays_are_left_alone() {
    // Three wait behind the one that is being sent, 3000 bytes.
    let mut pie = controlled(PieConfig::default(), 0.9, Duration::from_millis(50));
    (0..6).for_each(|_| pie.forget_newest());
    assert!((0..100).all(|_| offer(&mut pie, false)));
    let mut pie = controlled(PieConfig::default(), 0.9, Duration::from_millis(50));
    (0..5).for_each(|_| pie.forget_newest());
    assert!(!(0..100).all(|_| offer(&mut pie, false)));
    let mut pie = controlled(PieConfig::default(), 0.19, Duration::from_millis(7));
    assert!((0..100).all(|_| offer(&mut pie, false)));
    let mut pie = controlled(PieConfig::default(), 0.21, Duration::from_millis(7));
    assert!(!(0..100).all(|_| offer(&mut pie, false)));
}

/// Section 5.1: packets that can be are marked while the probability is below 10 %, and else
/// dropped.
#[test]
fn marks_take_the_place_of_drops_below_a_tenth() {
    let ecn = PieConfig { ecn: true, ..PieConfig::default() };
    let mut pie = controlled(ecn, 0.09, Duration::from_millis(15));
    assert!((0..1000).all(|_| offer(&mut pie, true)));
    assert!(pie.marked().packets > 20, "{:?}", pie.marked());
    let mut pie = controlled(ecn, 0.11, Duration::from_millis(15));
    assert!(!(0..1000).all(|_| offer(&mut pie, true)));
    assert_eq!(pie.marked().packets, 0);
}

/// What PIE is for: whatever the load, the controller finds the probability at which packets wait
/// for about the target.
#[test]
fn a_standing_overload_waits_for_the_target() {
    for load in [1.1, 1.25, 1.6] {
        let config = LinkConfig {
            delay: Duration::ZERO.into(),
            queue: QueueKind::Pie(PieConfig::default()),
            ..config()
        };
        let mut link = Link::<Numbered>::new(&config);
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        // A packet takes a millisecond.
        let (mut now, mut waited, mut count) = (0.0, 0.0, 0.0);
        while now < 300e9 {
            now += -f64::ln(1.0 - rng.random::<f64>()) * 1e6 / load;
            let at = Instant::from_nanos(now as u64);
            link.push(at, Numbered(now as u64, 1000));
            while let Some((left, packet)) = link.pop_with_time(at) {
                if now > 30e9 {
                    waited += (left.as_nanos() - packet.0 - 1_000_000) as f64 / 1e6;
                    count += 1.0;
                }
            }
        }
        let mean = waited / count;
        assert!((13.0..17.0).contains(&mean), "{mean} ms for 15 at {load}");
        let passed = link.counters().delivered.packets as f64;
        assert!(passed > 0.97 * 300_000.0, "the line is kept busy: {passed} at {load}");
    }
}

/// Section 5.4: what is let in without a look at the probability does not end the count since the
/// last drop.
#[test]
fn the_count_since_the_last_drop_goes_on_while_nothing_is_dropped() {
    let ms = Duration::from_millis;
    let mut pie = controlled(PieConfig::default(), 0.4, ms(15));
    assert!((0..2).all(|_| offer(&mut pie, false)), "0.8 is below 0.85");
    pie.set(0.0, ms(5));
    assert!(offer(&mut pie, false), "below half the target nothing is counted");
    pie.set(1.0, ms(15));
    assert!(!offer(&mut pie, false), "1.8 is not");
    pie.set(0.0, ms(15));
    assert!(offer(&mut pie, false), "a probability of nothing begins a new count");
}

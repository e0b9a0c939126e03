//! Rates and delays that change: integrals exact to the nanosecond, order kept or not.

use super::*;
use crate::link::serialiser::Serialiser;
use proptest::prelude::*;

fn steps<T>(steps: Vec<(u64, T)>, repeat: Option<u64>) -> Schedule<T> {
    let steps = steps.into_iter().map(|(at, value)| (Duration::from_nanos(at), value)).collect();
    let after = repeat.map_or(After::Hold, |period| After::Repeat(Duration::from_nanos(period)));
    Schedule::new(steps, after).unwrap()
}

fn rates(list: Vec<(u64, u64)>, repeat: Option<u64>) -> Varying<Rate> {
    let list = list.into_iter().map(|(at, bits)| (at, Rate::from_bits_per_sec(bits))).collect();
    steps(list, repeat).into()
}

#[test]
fn values_hold_from_their_step_on() {
    let held = Varying::<char>::from(steps(vec![(0, 'a'), (10, 'b'), (20, 'c')], None));
    let repeated = Varying::<char>::from(steps(vec![(0, 'a'), (10, 'b'), (20, 'c')], Some(30)));
    for (now, expected, again) in [
        (0, 'a', 'a'),
        (9, 'a', 'a'),
        (10, 'b', 'b'),
        (29, 'c', 'c'),
        (30, 'c', 'a'),
        (3_000_000_010, 'c', 'b'),
    ] {
        assert_eq!(held.at(Instant::from_nanos(now)), expected);
        assert_eq!(repeated.at(Instant::from_nanos(now)), again);
    }
    assert_eq!((held.greatest(), Varying::from(7).greatest()), ('c', 7));
}

#[test]
fn a_line_can_send_the_integral_of_its_rate() {
    let (from, to) = (Instant::from_millis(500), Instant::from_millis(10_250));
    let second = 1_000_000_000;
    let steps = vec![(0, 8_000), (second, 0), (2 * second, 16_000)];
    assert_eq!(Varying::from(Rate::from_bits_per_sec(8000)).bytes_between(from, to), 9750.0);
    // Half a second at 1000 bytes a second, nothing, 8.25 s at 2000.
    assert_eq!(rates(steps.clone(), None).bytes_between(from, to), 17_000.0);
    // Three seconds have 3000 bytes; three times that, and from 9.5 s on the half of the first and
    // a quarter of nothing.
    assert_eq!(rates(steps, Some(3 * second)).bytes_between(from, to), 9500.0);
    assert_eq!(rates(vec![(0, 8_000)], None).bytes_between(to, from), 0.0);
}

#[test]
fn impossible_schedules_are_refused() {
    let new = |steps: &[u64], after| {
        let steps = steps.iter().map(|at| (Duration::from_nanos(*at), ())).collect();
        Schedule::new(steps, after)
    };
    let period = |nanos| After::Repeat(Duration::from_nanos(nanos));
    assert_eq!(new(&[], After::Hold), Err(ScheduleError::Start));
    assert_eq!(new(&[1], After::Hold), Err(ScheduleError::Start));
    assert!(matches!(new(&[0, 5, 5], After::Hold), Err(ScheduleError::Order(..))));
    assert!(matches!(new(&[0, 5], period(5)), Err(ScheduleError::Period { .. })));
    assert!(matches!(new(&[0], period(0)), Err(ScheduleError::Period { .. })));
    assert!(new(&[0, 5], period(6)).is_ok());
}

#[test]
fn a_million_packets_end_to_the_nanosecond() {
    // Lengths and a rate without common factors; the reference is one division for each.
    let bits_per_sec = 9_999_991;
    let mut line = Serialiser::new(Rate::from_bits_per_sec(bits_per_sec).into());
    let mut bytes: u128 = 0;
    for i in 0..1_000_000u64 {
        let len = 40 + i * 7919 % 1461;
        bytes += u128::from(len);
        let expected = (bytes * 8_000_000_000).div_ceil(u128::from(bits_per_sec));
        assert_eq!(u128::from(line.send(len).as_nanos()), expected);
    }
}

#[test]
fn a_packet_goes_on_at_the_new_rate() {
    // 1000 bytes: 4000 bits in 4 ms at 1 Mbit/s, nothing for 1 ms, 4000 bits in 2 ms at 2 Mbit/s.
    let rate = rates(vec![(0, 1_000_000), (4_000_000, 0), (5_000_000, 2_000_000)], None);
    let mut link = Link::new(&LinkConfig { rate: Some(rate), ..config() });
    link.push(Instant::ZERO, Numbered(0, 1000));
    link.push(Instant::ZERO, Numbered(1, 1000));
    assert_eq!(arrivals(&mut link), [(0, 257_000_000), (1, 261_000_000)]);
}

#[test]
fn rates_that_repeat_are_walked_in_whole_periods() {
    // 8 bits in each second, in its first nanosecond: a byte a period, without a billion steps.
    let rate = rates(vec![(0, 8_000_000_000), (1, 0)], Some(1_000_000_000));
    let mut line = Serialiser::new(rate);
    assert_eq!(line.send(1), Instant::from_nanos(1));
    assert_eq!(line.send(1), Instant::from_nanos(1_000_000_001));
    assert_eq!(line.send(1_000_000_000), Instant::from_nanos(1_000_000_001_000_000_001));
    let nothing = rates(vec![(0, 0), (1, 0)], Some(2));
    assert_eq!(Serialiser::new(nothing).send(1), Instant::FAR_FUTURE);
    let ends = rates(vec![(0, 8), (1_000_000_000, 0)], None);
    let mut line = Serialiser::new(ends);
    assert_eq!(line.send(1), Instant::from_millis(1000));
    assert_eq!(line.send(1), Instant::FAR_FUTURE);
}

proptest! {
    /// Against the definition: the first nanosecond at whose end the integral of the rate has
    /// reached what all packets of the busy period need, summed nanosecond by nanosecond.
    #[test]
    fn serialisation_is_the_integral_of_the_rate(
        list in prop::collection::vec((1u64..40, 0u64..5_000_000_000), 1..6),
        last in 1_000_000_000u64..5_000_000_000,
        repeat in prop::option::of(1u64..40),
        start in 0u64..300,
        lengths in prop::collection::vec(0u64..60, 1..12),
    ) {
        let mut at = 0;
        let mut timed = Vec::new();
        for (span, bits) in list {
            timed.push((at, bits));
            at += span;
        }
        timed.push((at, last));
        let rate = rates(timed, repeat.map(|more| at + more));
        let mut line = Serialiser::new(rate.clone());
        line.restart(Instant::from_nanos(start));
        let (mut now, mut carried, mut needed) = (start, 0u128, 0u128);
        for len in lengths {
            let end = line.send(len);
            needed += u128::from(len) * 8_000_000_000;
            while carried < needed {
                carried += u128::from(rate.at(Instant::from_nanos(now)).bits_per_sec());
                now += 1;
            }
            // What needs nothing may end later, where the line stands still.
            if len > 0 {
                prop_assert_eq!(end, Instant::from_nanos(now));
            }
        }
    }
}

#[test]
fn a_shrinking_delay_keeps_the_order_unless_asked() {
    // 250 ms, from 10 ms on 20 ms. Packets of 1 ms; ten from the start, five from 10 ms on.
    let delay: Varying<Duration> =
        steps(vec![(0, Duration::from_millis(250)), (10_000_000, Duration::from_millis(20))], None)
            .into();
    let run = |order| {
        let mut link = Link::new(&LinkConfig { delay: delay.clone(), order, ..config() });
        for i in 0..12 {
            link.push(Instant::ZERO, Numbered(i, 1000));
        }
        arrivals(&mut link)
    };
    let ms = |millis: u64| millis * 1_000_000;
    // The tenth ends at 10 ms, when the delay is short already.
    let kept: Vec<_> = (0..12).map(|i| (i, ms(if i < 9 { 251 + i } else { 259 }))).collect();
    assert_eq!(run(Order::Kept), kept);
    let first = [(9, ms(30)), (10, ms(31)), (11, ms(32))];
    let overtaken: Vec<_> = first.into_iter().chain((0..9).map(|i| (i, ms(251 + i)))).collect();
    assert_eq!(run(Order::ByArrival), overtaken);
}

#[test]
fn no_timer_fires_before_an_arrival() {
    let mut link = Link::new(&config());
    for i in 0..500 {
        link.push(Instant::ZERO, Numbered(i, 1000));
    }
    let mut wakes = 0;
    while let Some(now) = link.next() {
        wakes += 1;
        while link.pop(now).is_some() {}
    }
    assert_eq!(wakes, 500);
}

mod conservation;
mod fq_codel;
mod losses;
mod occupancy;
mod pie;
mod policer;
mod queues;
mod schedules;
mod texts;

use super::*;
use crate::time::Duration;
use crate::units::{Bytes, Probability, Rate};

/// A packet that is only a number and a length.
#[derive(Debug, Clone, PartialEq)]
struct Numbered(u64, u64);

impl LinkPacket for Numbered {
    fn wire_len(&self) -> u64 {
        self.1
    }
}

fn config() -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bits_per_sec(8_000_000).into()),
        delay: Duration::from_millis(250).into(),
        seed: 1,
        ..LinkConfig::IDEAL
    }
}

/// Pops everything, jumping from event to event, and returns exact arrival times in nanoseconds.
fn arrivals(link: &mut Link<Numbered>) -> Vec<(u64, u64)> {
    let mut seen = Vec::new();
    while let Some(now) = link.next() {
        while let Some((at, packet)) = link.pop_with_time(now) {
            seen.push((packet.0, at.as_nanos()));
        }
    }
    seen
}

#[test]
fn one_packet_takes_serialisation_plus_delay() {
    let mut link = Link::new(&config());
    link.push(Instant::from_millis(1), Numbered(0, 1500));
    // 1500 bytes at 8 Mbit/s: 1.5 ms.
    assert_eq!(link.next(), Some(Instant::from_nanos(252_500_000)));
    assert_eq!(link.pop(Instant::from_nanos(252_499_999)), None);
    assert_eq!(link.next(), Some(Instant::from_nanos(252_500_000)));
    assert_eq!(link.pop(Instant::from_nanos(252_500_000)), Some(Numbered(0, 1500)));
    assert_eq!(link.next(), None);
}

#[test]
fn serialisation_does_not_drift() {
    // 1000 packets of 1 byte at 3 bit/s end at ceil(n·8e9/3) ns, not n times the rounded time.
    let rate = Rate::from_bits_per_sec(3);
    let mut link = Link::new(&LinkConfig {
        rate: Some(rate.into()),
        delay: Duration::ZERO.into(),
        ..config()
    });
    for i in 0..1000 {
        link.push(Instant::ZERO, Numbered(i, 1));
    }
    let expected: Vec<_> =
        (0..1000u64).map(|i| (i, ((i + 1) * 8_000_000_000).div_ceil(3))).collect();
    assert_eq!(arrivals(&mut link), expected);
}

#[test]
fn a_late_event_loop_moves_no_event() {
    let mut link = Link::new(&config());
    for i in 0..3 {
        link.push(Instant::ZERO, Numbered(i, 1000));
    }
    // Nobody looks for a second: arrivals are still 1, 2 and 3 ms of line time plus 250 ms.
    let late = Instant::from_millis(1000);
    for i in 0..3 {
        assert_eq!(
            link.pop_with_time(late),
            Some((Instant::from_millis(251 + i), Numbered(i, 1000)))
        );
    }
}

#[test]
fn the_buffer_is_full_at_its_limit_and_free_when_the_last_bit_has_left() {
    for queue in [QueueLimit::Packets(3), QueueLimit::Bytes(Bytes::new(3000))] {
        let mut link = Link::new(&LinkConfig { queue: queue.into(), ..config() });
        for i in 0..4 {
            link.push(Instant::ZERO, Numbered(i, 1000));
        }
        assert_eq!(link.counters().dropped, Count { packets: 1, bytes: 1000 });
        // One nanosecond before the first packet's end it still takes room; at its end it does not,
        // though it propagates for another 250 ms.
        link.push(Instant::from_nanos(999_999), Numbered(4, 1000));
        assert_eq!(link.counters().dropped.packets, 2);
        link.push(Instant::from_nanos(1_000_000), Numbered(5, 1000));
        assert_eq!(link.counters().dropped.packets, 2);
        assert_eq!(link.queued(), Count { packets: 3, bytes: 3000 });
        let order: Vec<_> = arrivals(&mut link).into_iter().map(|(number, _)| number).collect();
        assert_eq!(order, [0, 1, 2, 5]);
    }
}

#[test]
fn a_byte_limit_takes_what_fits_exactly() {
    let queue = QueueLimit::Bytes(Bytes::new(1500));
    let mut link = Link::new(&LinkConfig { queue: queue.into(), ..config() });
    link.push(Instant::ZERO, Numbered(0, 1501));
    link.push(Instant::ZERO, Numbered(1, 1500));
    link.push(Instant::ZERO, Numbered(2, 1));
    assert_eq!(link.counters().dropped, Count { packets: 2, bytes: 1502 });
    assert_eq!(link.queued().packets, 1);
}

#[test]
fn without_a_rate_only_the_delay_counts() {
    let mut link = Link::new(&LinkConfig { rate: None, ..config() });
    for i in 0..3 {
        link.push(Instant::ZERO, Numbered(i, 1500));
    }
    assert_eq!(arrivals(&mut link), [(0, 250_000_000), (1, 250_000_000), (2, 250_000_000)]);
}

#[test]
fn a_line_of_rate_zero_holds_everything_and_has_no_deadline() {
    let rate = Some(Rate::from_bits_per_sec(0).into());
    let mut link = Link::new(&LinkConfig { rate, ..config() });
    link.push(Instant::ZERO, Numbered(0, 1));
    assert_eq!(link.next(), None);
    assert_eq!(link.pop(Instant::FAR_FUTURE), None);
}

#[test]
fn queue_limits_are_read() {
    assert_eq!("345packets".parse(), Ok(QueueLimit::Packets(345)));
    assert_eq!("1 packet".parse(), Ok(QueueLimit::Packets(1)));
    assert_eq!("500KB".parse(), Ok(QueueLimit::Bytes(Bytes::new(500_000))));
    assert_eq!(
        "1.5packets".parse::<QueueLimit>(),
        Err(QueueLimitError::Packets("1.5packets".into()))
    );
    assert!(matches!("many".parse::<QueueLimit>(), Err(QueueLimitError::Bytes(_))));
    let rate = Rate::from_bits_per_sec(8_000_000);
    let limit = QueueLimit::bandwidth_delay_product(rate, Duration::from_millis(250));
    assert_eq!(limit, QueueLimit::Bytes(Bytes::new(500_000)));
}

#[test]
fn frames_take_the_lines_time() {
    // Ethernet: 38 bytes around each packet, which is 46 bytes long at least.
    let framing = Framing { overhead: Bytes::new(38), min_packet: Bytes::new(46) };
    let mut link = Link::new(&LinkConfig { framing, delay: Duration::ZERO.into(), ..config() });
    link.push(Instant::ZERO, Numbered(0, 1500));
    link.push(Instant::ZERO, Numbered(1, 40));
    // A microsecond a byte; what is counted are packets.
    assert_eq!(arrivals(&mut link), [(0, 1_538_000), (1, 1_622_000)]);
    assert_eq!(link.counters().delivered, Count { packets: 2, bytes: 1540 });
}

#[test]
fn a_gated_line_sends_what_it_is_granted() {
    let mut link = Link::new(&LinkConfig { delay: Duration::ZERO.into(), ..config() });
    link.gate();
    assert!(!link.asks());
    for number in 0..3 {
        link.push(Instant::ZERO, Numbered(number, 1000));
    }
    assert!(link.asks());
    assert_eq!(link.next(), None);
    assert_eq!(link.grant(Instant::from_millis(5)), Some(Instant::from_millis(6)));
    assert!(!link.asks());
    assert_eq!(
        link.pop_with_time(Instant::from_millis(9)),
        Some((Instant::from_millis(6), Numbered(0, 1000)))
    );
    // It waits for the next turn, or loses its packet.
    assert_eq!((link.asks(), link.next()), (true, None));
    link.give_up(Instant::from_millis(9));
    assert_eq!(link.counters().dropped.packets, 1);
    assert_eq!(link.grant(Instant::from_millis(10)), Some(Instant::from_millis(11)));
    assert_eq!(arrivals(&mut link), [(2, 11_000_000)]);
    assert_eq!(link.grant(Instant::from_millis(12)), None);
}

//! A policer passes its rate and burst, and drops the rest without delaying anything.

use super::*;

fn policed(burst: u64, limit: QueueLimit) -> LinkConfig {
    let rate = Rate::from_bits_per_sec(8_000_000);
    let policer = PolicerConfig { rate, burst: Bytes::new(burst), limit };
    LinkConfig { rate: None, queue: QueueKind::Policer(policer), ..config() }
}

/// Offers packets of 1000 bytes at these times in microseconds; which ones arrive, and when.
fn passed(
    config: &LinkConfig,
    times: impl IntoIterator<Item = u64>,
) -> (Vec<(u64, u64)>, Counters) {
    let mut link = Link::new(config);
    for (number, micros) in times.into_iter().enumerate() {
        link.push(Instant::from_nanos(1000 * micros), Numbered(number as u64, 1000));
    }
    (arrivals(&mut link), link.counters())
}

#[test]
fn a_burst_passes_and_then_what_the_rate_allows() {
    // At 8 Mbit/s a packet's tokens take a millisecond.
    let config = policed(3000, QueueLimit::Unlimited);
    let (seen, counters) = passed(&config, [0, 0, 0, 0, 999, 1000, 1001, 2500, 3000]);
    let numbers: Vec<u64> = seen.iter().map(|(number, _)| *number).collect();
    // The fourth finds the bucket empty, and so do those at 0.999 and 1.001 ms; the last one has
    // its half packet of tokens from 2.5 ms on.
    assert_eq!(numbers, [0, 1, 2, 5, 7, 8]);
    assert_eq!((counters.dropped.packets, counters.dropped.bytes), (3, 3000));
    // Nothing is delayed.
    assert!(seen.iter().all(|(_, at)| (at - 250_000_000) % 500_000 == 0), "{seen:?}");
}

#[test]
fn the_bucket_holds_no_more_than_the_burst() {
    let config = policed(2000, QueueLimit::Unlimited);
    let (seen, _) = passed(&config, [1_000_000; 5]);
    assert_eq!(seen.len(), 2, "a second of silence saves a burst and not a second's bytes");
}

#[test]
fn in_the_long_run_its_rate_passes_to_the_byte() {
    // Twice the rate for ten seconds: 10 MB of 20 pass, and the burst.
    let config = policed(5000, QueueLimit::Unlimited);
    let (seen, counters) = passed(&config, (0..20_000).map(|number| 500 * number));
    assert_eq!(seen.len(), 10_000 + 5 - 1);
    assert_eq!(counters.offered.packets, 20_000);
}

#[test]
fn a_packet_longer_than_the_burst_never_passes() {
    let (seen, counters) = passed(&policed(999, QueueLimit::Unlimited), [0, 1_000_000]);
    assert_eq!((seen.len(), counters.dropped.packets), (0, 2));
}

#[test]
fn what_passes_waits_for_a_slower_line_in_a_queue_that_has_its_limit() {
    let slow = Rate::from_bits_per_sec(4_000_000);
    let config = LinkConfig { rate: Some(slow.into()), ..policed(9000, QueueLimit::Packets(2)) };
    let (seen, counters) = passed(&config, [0; 10]);
    // Nine have tokens, two have room; the line takes 2 ms for each.
    assert_eq!(seen, [(0, 252_000_000), (1, 254_000_000)]);
    assert_eq!(counters.dropped.packets, 8);
}

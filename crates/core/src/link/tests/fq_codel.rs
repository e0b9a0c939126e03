//! FQ-CoDel, statement by statement of RFC 8290.

use super::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A packet of a flow, with a number and a length.
#[derive(Debug, PartialEq)]
struct Of(u64, u64, u64);

impl LinkPacket for Of {
    fn wire_len(&self) -> u64 {
        self.2
    }
    fn flow_hash(&self) -> u64 {
        self.0
    }
}

fn queue(config: FqCoDelConfig) -> FqCoDel<Of> {
    FqCoDel::new(config, 1)
}

/// Sends what is there, all at `now`: the flows in the order of their packets.
fn drain(queue: &mut FqCoDel<Of>, now: Instant) -> Vec<u64> {
    let mut seen = Vec::new();
    while queue.head(now).is_some() {
        seen.push(queue.dequeue(now).expect("the head").0);
    }
    seen
}

fn put(queue: &mut FqCoDel<Of>, flow: u64, packets: u64, len: u64) {
    for number in 0..packets {
        queue.enqueue(Instant::ZERO, Of(flow, number, len)).unwrap();
    }
}

/// Turns are by bytes (section 4.2): each queue sends a quantum before its next turn.
#[test]
fn turns_are_fair_in_bytes() {
    let mut queue = queue(FqCoDelConfig { quantum: Bytes::new(1500), ..Default::default() });
    put(&mut queue, 1, 20, 1500);
    put(&mut queue, 2, 60, 500);
    let sent = drain(&mut queue, Instant::ZERO);
    // One of 1500 bytes, three of 500, over and over.
    let turns: Vec<u64> = [1, 2, 2, 2].into_iter().cycle().take(80).collect();
    assert_eq!(sent, turns);
}

/// A queue that was empty comes before those in the row, for one quantum (sections 4.1 and 4.2).
#[test]
fn sparse_flows_go_first() {
    let mut queue = queue(FqCoDelConfig::default());
    put(&mut queue, 1, 10, 1500);
    put(&mut queue, 2, 10, 1500);
    for _ in 0..6 {
        queue.head(Instant::ZERO);
        queue.dequeue(Instant::ZERO);
    }
    put(&mut queue, 3, 1, 100);
    assert_eq!(queue.head(Instant::ZERO), Some(&Of(3, 0, 100)));
    queue.dequeue(Instant::ZERO);
    // One that comes at once again is not new any more: it has to wait for its turn in the row.
    queue.head(Instant::ZERO);
    put(&mut queue, 3, 1, 100);
    let sent = drain(&mut queue, Instant::ZERO);
    let place = sent.iter().position(|flow| *flow == 3).expect("it is sent");
    assert!((1..=4).contains(&place), "{sent:?}");
}

/// A new queue that is empty at its next turn goes through the row of the old ones before it can be
/// new again (section 4.2): flows that come and go do not starve the others.
#[test]
fn flows_that_come_and_go_starve_nobody() {
    let mut queue = queue(FqCoDelConfig::default());
    put(&mut queue, 1, 100, 1500);
    let mut sent = [0; 3];
    for _ in 0..200 {
        // Flow 2 always has exactly one packet, which comes just when its last one has gone.
        if sent[2] == 0 || queue.held().packets <= 100 - sent[1] {
            put(&mut queue, 2, 1, 1500);
        }
        queue.head(Instant::ZERO);
        let Some(packet) = queue.dequeue(Instant::ZERO) else { break };
        sent[packet.0 as usize] += 1;
    }
    assert!(sent[1] >= 90, "{sent:?}");
}

/// The queue with most bytes loses half of its packets from its head, 64 at most (section 4.1).
#[test]
fn the_longest_queue_is_pushed_out_from_its_head() {
    let limit = QueueLimit::Packets(400);
    let mut queue = queue(FqCoDelConfig { limit, ..Default::default() });
    put(&mut queue, 1, 300, 1000);
    put(&mut queue, 2, 100, 100);
    assert_eq!(queue.dropped(), Count::default());
    put(&mut queue, 2, 1, 100);
    assert_eq!(queue.dropped(), Count { packets: 64, bytes: 64_000 });
    assert_eq!(queue.head(Instant::ZERO), Some(&Of(1, 64, 1000)));
    let mut queue =
        self::queue(FqCoDelConfig { limit: QueueLimit::Packets(10), ..Default::default() });
    put(&mut queue, 1, 11, 1000);
    assert_eq!(queue.dropped().packets, 6);
    // What is being sent is not pushed out.
    assert_eq!(queue.head(Instant::ZERO), Some(&Of(1, 6, 1000)));
    put(&mut queue, 1, 6, 1000);
    assert_eq!(queue.head(Instant::ZERO), Some(&Of(1, 6, 1000)));
    assert_eq!(queue.dequeue(Instant::ZERO), Some(Of(1, 6, 1000)));
}

/// CoDel works on each queue by itself (section 3): one that is too slow is dropped from, and no
/// other.
#[test]
fn each_queue_is_controlled_by_itself() {
    let rate = Rate::from_bits_per_sec(8_000_000);
    let config = LinkConfig {
        delay: Duration::ZERO.into(),
        rate: Some(rate.into()),
        queue: QueueKind::FqCoDel(FqCoDelConfig::default()),
        ..config()
    };
    // Flow 1 sends at 1.5 times the rate, flow 2 a packet of 100 bytes every 20 ms.
    let mut link = Link::<Of>::new(&config);
    let mut late = Duration::ZERO;
    let mut seen = [0u64; 3];
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    for tick in 0..15_000u64 {
        let now = Instant::from_nanos(tick * 666_667);
        link.push(now, Of(1, tick, 1000));
        if tick % 30 == 0 {
            let now = now + Duration::from_nanos(rng.random_range(0..600_000));
            link.push(now, Of(2, now.as_nanos(), 100));
        }
        while let Some((at, packet)) = link.pop_with_time(now) {
            seen[packet.0 as usize] += 1;
            if packet.0 == 2 {
                late = late.max(at.saturating_since(Instant::from_nanos(packet.1)));
            }
        }
    }
    assert!(seen[2] >= 499, "{seen:?}");
    // The packet being sent, a turn's rest, and its own time on the line.
    assert!(late < Duration::from_millis(3), "{late:?}");
    assert!(link.counters().dropped.packets > 1000, "{:?}", link.counters());
}

#[test]
fn flows_are_spread_over_the_queues_by_a_salted_hash() {
    let places = |seed| {
        let queue: FqCoDel<Of> = FqCoDel::new(FqCoDelConfig::default(), seed);
        (0..100u64).map(|flow| queue.place(&Of(flow, 0, 1))).collect::<Vec<_>>()
    };
    let mut distinct = places(1);
    distinct.sort_unstable();
    distinct.dedup();
    // 95.3 on the average.
    assert!(distinct.len() > 85, "{}", distinct.len());
    assert_ne!(places(1), places(2));
}

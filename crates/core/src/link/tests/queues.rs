//! Queues against their closed forms: M/D/1, RED's average and drop curve, CoDel's control law.

use super::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A packet that can be marked.
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

/// A millisecond for each packet of 1000 bytes.
const RATE: Rate = Rate::from_bits_per_sec(8_000_000);
const SERVICE: u64 = 1_000_000;

#[test]
fn poisson_arrivals_wait_as_in_m_d_1() {
    for load in [0.5, 0.8] {
        // Means of 40 batches of 10,000 packets, after 10,000 to warm up.
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let config = LinkConfig { delay: Duration::ZERO.into(), ..config() };
        let mut link = Link::<Numbered>::new(&config);
        let mut now = 0.0;
        let mut batches = vec![];
        for batch in 0..41 {
            let mut waited = 0.0;
            for _ in 0..10_000 {
                now += -f64::ln(1.0 - rng.random::<f64>()) * SERVICE as f64 / load;
                let arrival = now as u64;
                link.push(Instant::from_nanos(arrival), Numbered(arrival, 1000));
                while let Some((at, packet)) = link.pop_with_time(Instant::from_nanos(arrival)) {
                    waited += (at.as_nanos() - packet.0 - SERVICE) as f64;
                }
            }
            if batch > 0 {
                batches.push(waited / 10_000.0);
            }
        }
        let n = batches.len() as f64;
        let mean = batches.iter().sum::<f64>() / n;
        let variance = batches.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        // Pollaczek and Khinchine: ρ·s / (2(1 − ρ)). Student's t for 39 degrees and 99.9 %: 3.56.
        let expected = load * SERVICE as f64 / (2.0 * (1.0 - load));
        let half_width = 3.56 * (variance / n).sqrt();
        assert!(half_width < 0.1 * expected, "{half_width} of {expected}");
        assert!((mean - expected).abs() < half_width, "{mean} ± {half_width} for {expected}");
    }
}

/// A packet of a millisecond that is urgent or not.
#[derive(Debug)]
struct Hasty(u64, bool);

impl LinkPacket for Hasty {
    fn wire_len(&self) -> u64 {
        1000
    }

    fn urgent(&self) -> bool {
        self.1
    }
}

#[test]
fn urgent_packets_go_before_all_that_waits() {
    let patient = CoDelConfig { target: Duration::from_secs(1), ..CoDelConfig::default() };
    let red = RedConfig { min_threshold: 1e9, max_threshold: 2e9, ..RedConfig::default() };
    let tail = QueueKind::DropTail(QueueLimit::Packets(7));
    let fair = FqCoDelConfig { target: patient.target, ..FqCoDelConfig::default() };
    let kinds = [tail, QueueKind::Red(red), QueueKind::CoDel(patient)];
    let kinds =
        kinds.into_iter().chain([QueueKind::FqCoDel(fair), QueueKind::Pie(PieConfig::default())]);
    for queue in kinds {
        let run = |urgent: bool| {
            let config = LinkConfig { delay: Duration::ZERO.into(), queue, ..config() };
            let mut link = Link::<Hasty>::new(&config);
            for number in 0..5 {
                link.push(Instant::ZERO, Hasty(number, false));
            }
            // While the first is being sent: two that are urgent, and one that finds the queue full
            // if it holds no more than seven.
            for number in 5..8 {
                link.push(Instant::from_nanos(500_000), Hasty(number, urgent));
            }
            let mut seen = Vec::new();
            while let Some(now) = link.next() {
                let packet = link.pop(now).unwrap().0;
                seen.push((now.as_nanos() / 1_000_000, packet));
            }
            (seen, link.counters(), link.bottleneck().occupancy())
        };
        let (seen, counters, occupancy) = run(true);
        let order =
            if queue == tail { &[0, 5, 6, 1, 2, 3, 4][..] } else { &[0, 5, 6, 7, 1, 2, 3, 4] };
        // One after the other, each a millisecond, whoever it is.
        assert_eq!(seen, (1..).zip(order.iter().copied()).collect::<Vec<_>>(), "{queue:?}");
        let (plain, same, as_long) = run(false);
        assert_eq!(plain.len(), seen.len());
        assert_eq!((counters, occupancy), (same, as_long), "{queue:?}");
    }
}

/// A queue of RED that holds `waiting` packets behind the one being sent, average and all.
fn filled(config: RedConfig, waiting: u64) -> Red<Capable> {
    let open = RedConfig { min_threshold: 1e9, max_threshold: 2e9, ..config };
    let mut red = Red::new(open, Some(RATE.into()), 1);
    for _ in 0..=waiting {
        red.enqueue(Instant::ZERO, Capable(true)).unwrap();
    }
    red.head(Instant::ZERO);
    red.set(config, waiting as f64);
    red
}

/// Offers packets, of which none stays, and returns the distances between drops.
fn distances(red: &mut Red<Capable>, drops: usize) -> Vec<u64> {
    let mut found = Vec::new();
    let mut since = 0;
    while found.len() < drops {
        since += 1;
        match red.enqueue(Instant::ZERO, Capable(false)) {
            Ok(()) => red.forget_newest(),
            Err(_) => found.push(std::mem::take(&mut since)),
        }
    }
    found.split_off(1)
}

#[test]
fn reds_average_is_exponentially_weighted() {
    let config = RedConfig { weight: 0.25, max_p: Probability::ZERO, ..RedConfig::default() };
    let mut red: Red<Capable> = Red::new(config, Some(RATE.into()), 1);
    let mut expected = 0.0;
    for waiting in [0.0, 0.0, 1.0, 2.0, 3.0] {
        red.enqueue(Instant::ZERO, Capable(false)).unwrap();
        red.head(Instant::ZERO);
        expected = 0.75 * expected + 0.25 * waiting;
        assert!((red.average() - expected).abs() < 1e-12, "{} for {expected}", red.average());
    }
    for _ in 0..5 {
        red.dequeue(Instant::from_millis(5));
    }
    // Idle for 2.25 ms, in which 4.5 packets of 500 bytes could have been sent: it ages by four.
    red.enqueue(Instant::from_nanos(7_250_000), Capable(false)).unwrap();
    expected *= 0.75f64.powi(5);
    assert!((red.average() - expected).abs() < 1e-12, "{} for {expected}", red.average());
}

#[test]
fn reds_curve_rises_from_threshold_to_threshold() {
    let config = RedConfig::default();
    let gentle = RedConfig { gentle: true, ..config };
    for (average, steep, gently) in [
        (4.99, 0.0, 0.0),
        (5.0, 0.0, 0.0),
        (7.5, 0.025, 0.025),
        (10.0, 0.05, 0.05),
        (15.0, 1.0, 0.1),
        (22.5, 1.0, 0.55),
        (30.0, 1.0, 1.0),
        (1e9, 1.0, 1.0),
    ] {
        assert!((config.probability(average) - steep).abs() < 1e-12, "{average}");
        assert!((gentle.probability(average) - gently).abs() < 1e-12, "{average}");
    }
}

#[test]
fn reds_drops_are_uniformly_spaced() {
    // A weight next to nothing holds the average; ten waiting is p = 1/20.
    let config = RedConfig {
        weight: 1e-12,
        limit: QueueLimit::Unlimited,
        wait: false,
        ..RedConfig::default()
    };
    // One to 19 arrivals, the n-th with 1/(20 − n) if it comes to it: each distance has the
    // probability 1/19. Waiting: 20 to 39 arrivals, each distance 1/20.
    for (wait, min, max) in [(false, 1u64, 19u64), (true, 20, 39)] {
        let mut red = filled(RedConfig { wait, ..config }, 10);
        let found = distances(&mut red, 20_001);
        let places = (max - min + 1) as usize;
        let mut counts = vec![0u32; places];
        for distance in found {
            assert!((min..=max).contains(&distance), "{distance}");
            counts[(distance - min) as usize] += 1;
        }
        // χ² of 18 or 19 degrees of freedom is below 50 with a probability of 0.9999.
        let each = 20_000.0 / places as f64;
        let squares: f64 = counts.iter().map(|&n| (f64::from(n) - each).powi(2) / each).sum();
        assert!(squares < 50.0, "{squares}: {counts:?}");
    }
}

#[test]
fn reds_drop_rate_follows_the_curve() {
    let config = RedConfig {
        weight: 1e-12,
        limit: QueueLimit::Unlimited,
        wait: false,
        gentle: true,
        ..RedConfig::default()
    };
    for waiting in [6, 8, 11, 14, 18, 25] {
        let mut red = filled(config, waiting);
        let found = distances(&mut red, 5_001);
        let mean = found.iter().sum::<u64>() as f64 / found.len() as f64;
        let p = config.probability(waiting as f64);
        // The distance is uniform on 1 … 1/p − 1 while that is whole: its mean is 1/(2p). Where it
        // is not, or the range is short, sum the distribution.
        let (mut left, mut expected) = (1.0, 0.0);
        for n in 1.. {
            let chance = config.spread(p, f64::from(n));
            expected += left * chance * f64::from(n);
            left *= 1.0 - chance;
            if left <= 0.0 {
                break;
            }
        }
        if p < 0.1 {
            assert!((expected - 0.5 / p).abs() < 0.6, "{expected} for {p}");
        }
        assert!((mean - expected).abs() < 0.05 * expected, "{waiting}: {mean} for {expected}");
    }
}

#[test]
fn red_in_bytes_drops_by_length() {
    // Packets of twice the mean: twice the probability, and a count that runs twice as fast.
    let bytes = RedConfig {
        weight: 1e-12,
        limit: QueueLimit::Unlimited,
        wait: false,
        drops: Measure::Bytes,
        ..RedConfig::default()
    };
    let mean = |config| {
        let found = distances(&mut filled(config, 6), 5_001);
        found.iter().sum::<u64>() as f64 / found.len() as f64
    };
    let packets = RedConfig { drops: Measure::Packets, ..bytes };
    let ratio = mean(packets) / mean(bytes);
    assert!((1.9..2.1).contains(&ratio), "{ratio}");
}

#[test]
fn red_marks_instead_of_dropping_below_the_upper_threshold() {
    let config = RedConfig {
        weight: 1e-12,
        limit: QueueLimit::Unlimited,
        ecn: true,
        ..RedConfig::default()
    };
    let mut red = filled(config, 10);
    for _ in 0..1000 {
        assert!(red.enqueue(Instant::ZERO, Capable(true)).is_ok());
        red.forget_newest();
    }
    // Every 20 to 39.
    assert!((25..=50).contains(&red.marked().packets), "{:?}", red.marked());
    assert_eq!(red.dropped(), Count::default());
    // Above it, and where it cannot be, a packet is dropped.
    assert!(filled(config, 15).enqueue(Instant::ZERO, Capable(true)).is_err());
    let mut red = filled(config, 10);
    let lost = (0..1000).filter(|_| match red.enqueue(Instant::ZERO, Capable(false)) {
        Ok(()) => {
            red.forget_newest();
            false
        }
        Err(_) => true,
    });
    let lost = lost.count() as u64;
    assert_eq!(red.marked(), Count::default());
    assert_eq!(red.dropped().packets, lost);
    assert!((25..=50).contains(&lost));
}

#[test]
fn red_never_drops_early_when_hardly_anybody_waits() {
    let mut red = filled(RedConfig::default(), 1);
    red.set(RedConfig { weight: 1e-12, ..RedConfig::default() }, 14.0);
    assert!(red.enqueue(Instant::ZERO, Capable(false)).is_ok());
}

/// Keeps a CoDel queue 50 packets long before a line of a millisecond each, from `from` on for
/// 5 s, and returns when packets were dropped or marked.
fn signals(codel: &mut CoDel<Capable>, from: u64) -> Vec<u64> {
    let mut seen = codel.dropped().packets + codel.marked().packets;
    let mut found = Vec::new();
    for millis in from..from + 5000 {
        let now = Instant::from_millis(millis);
        while codel.held().packets < 50 {
            codel.enqueue(now, Capable(true)).unwrap();
        }
        codel.head(now);
        let signals = codel.dropped().packets + codel.marked().packets;
        found.extend((seen..signals).map(|_| millis - from));
        seen = signals;
        codel.dequeue(Instant::from_millis(millis + 1));
    }
    found
}

#[test]
fn codels_drops_come_at_interval_over_root_n() {
    for ecn in [false, true] {
        let config = CoDelConfig { ecn, ..CoDelConfig::default() };
        let mut codel = CoDel::new(config);
        let found = signals(&mut codel, 0);
        // The packet that leaves at 5 ms is the first to have waited for target; 100 ms later the
        // first drop. The next one comes after 100/√1 ms, and so on, at whole milliseconds.
        let mut due = 105.0;
        for (n, at) in found.iter().enumerate() {
            assert_eq!(*at, f64::ceil(due - 1e-5) as u64, "drop {n} of {found:?}");
            due += 100.0 / ((n + 1) as f64).sqrt();
        }
        assert!(found.len() > 500, "{}", found.len());
        let counts = (codel.dropped().packets, codel.marked().packets);
        let all = found.len() as u64;
        assert_eq!(counts, if ecn { (0, all) } else { (all, 0) });
    }
}

#[test]
fn codel_lets_short_queues_and_short_times_be() {
    let mut codel = CoDel::new(CoDelConfig::default());
    // One packet behind the head is not more than one full-sized packet, however long it waits.
    for i in 0..1000 {
        let now = Instant::from_millis(10 * i);
        while codel.held().packets < 2 {
            codel.enqueue(now, Capable(true)).unwrap();
        }
        codel.head(now);
        codel.dequeue(now);
    }
    assert_eq!(codel.dropped(), Count::default());
    // Above target for less than an interval, over and over.
    let mut now = 20_000;
    for _ in 0..20 {
        for _ in 0..100 {
            codel.enqueue(Instant::from_millis(now), Capable(true)).unwrap();
        }
        while codel.held().packets > 0 {
            codel.head(Instant::from_millis(now));
            now += 1;
            codel.dequeue(Instant::from_millis(now));
        }
    }
    assert_eq!(codel.dropped(), Count::default());
}

#[test]
fn codel_takes_up_its_rate_again_soon_after() {
    let mut codel = CoDel::new(CoDelConfig::default());
    let first = signals(&mut codel, 0).len();
    while codel.head(Instant::from_millis(5000)).is_some() {
        codel.dequeue(Instant::from_millis(5000));
    }
    let again = signals(&mut codel, 5001);
    // It begins with about as many as it ended with, not with one.
    let early = again.iter().filter(|&&at| at < 305).count();
    assert!(early > 50, "{early} of {first}");
    while codel.head(Instant::from_millis(20_000)).is_some() {
        codel.dequeue(Instant::from_millis(20_000));
    }
    let late = signals(&mut codel, 20_001);
    assert_eq!(late[1] - late[0], 100, "{late:?}");
}

//! Links of several kinds, round trip by round trip.

use super::*;

const CONFIGURED: Rate = Rate::from_bits_per_sec(8_000_000);

/// A link that carries `carries` bits a second, loses `loss` by itself and queues `queue` seconds;
/// somebody else's queue is `others`.
struct Path {
    carries: f64,
    loss: f64,
    max_queue: f64,
    others: f64,
    /// Seconds of a round trip without a queue.
    base: f64,
    queue: f64,
    now: Instant,
    /// What the flows would send, in bits a second.
    demand: f64,
    /// The share of what is delivered that belongs to flows that never lose.
    spared: f64,
    lossy: LossyRound,
    control: RateControl,
}

impl Path {
    fn new(carries: f64, loss: f64, max_queue: f64) -> Path {
        Path {
            carries,
            loss,
            max_queue,
            others: 0.0,
            base: 0.5,
            queue: 0.0,
            now: Instant::from_millis(1000),
            demand: f64::INFINITY,
            spared: 0.0,
            lossy: LossyRound::default(),
            control: RateControl::new(Some(CONFIGURED), false),
        }
    }

    /// The same, but nobody has told its rate; flows would send at that of `demand`.
    fn untold(carries: f64, loss: f64, max_queue: f64, demand: f64) -> Path {
        let control = RateControl::new(None, false);
        Path { demand, control, ..Path::new(carries, loss, max_queue) }
    }

    /// At how many bits a second the flows may send.
    fn rate(&self) -> f64 {
        self.control.rate().map_or(f64::INFINITY, |rate| rate.bits_per_sec() as f64)
    }

    fn report(&mut self, delivered: u64, lost: u64, rtt: Option<Duration>) {
        let spared = (delivered as f64 * self.spared) as u64;
        let [delivered, spared, lost] = [delivered - spared, spared, lost].map(Bytes::new);
        let report = LinkReport { delivered, lost, rtt, ..LinkReport::default() };
        self.control.on_report(self.now, report, &mut self.lossy);
        let report =
            LinkReport { delivered: spared, lost: Bytes::ZERO, rtt, ..LinkReport::default() };
        self.control.on_report(self.now, report, &mut LossyRound::default());
    }

    /// Some round trips; the rate of the last.
    fn rounds(&mut self, rounds: u32) -> f64 {
        for _ in 0..rounds {
            // Fifty acknowledgments a round trip.
            let rtt = self.base + self.queue + self.others;
            for _ in 0..50 {
                let span = rtt / 50.0;
                // No more than may be in flight.
                let max_in_flight = self.control.max_in_flight().unwrap_or(u64::MAX) as f64;
                let max = max_in_flight * 8.0 / rtt;
                let rate = self.rate().min(self.demand).min(max);
                self.queue = (self.queue + (rate / self.carries - 1.0) * span).max(0.0);
                let overflow = (self.queue - self.max_queue).max(0.0);
                self.queue -= overflow;
                let sent = rate * span / 8.0;
                // What stands in the queue is served first.
                let served = if self.queue > 0.0 { self.carries } else { rate.min(self.carries) };
                let served = served * span / 8.0;
                let lost = overflow * self.carries / 8.0 + served * self.loss;
                let delivered = served * (1.0 - self.loss);
                self.now += Duration::from_secs_f64(span);
                self.control.on_sent(sent as u64);
                let rtt = Some(Duration::from_secs_f64(self.base + self.queue + self.others));
                self.report(delivered as u64, lost as u64, rtt);
            }
        }
        self.rate()
    }
}

#[test]
fn a_link_that_carries_its_rate_is_used_at_its_rate() {
    for loss in [0.0, 0.001, 0.01] {
        let mut path = Path::new(8e6, loss, 0.5);
        for _ in 0..50 {
            assert_eq!(path.rounds(1), 8e6, "{loss}");
        }
    }
}

#[test]
fn loss_that_stays_is_the_links() {
    let mut path = Path::new(8e6, 0.05, 0.5);
    path.rounds(8);
    for _ in 0..50 {
        assert_eq!(path.rounds(1), 8e6);
    }
    assert!((path.control.loss - 0.05).abs() < 0.01);
}

#[test]
fn a_rate_that_is_too_high_is_found_out() {
    for (carries, max_queue) in [(6.15e6, 0.03), (4e6, 0.03), (6.15e6, 0.5), (4e6, 0.0)] {
        let mut path = Path::new(carries, 0.0, max_queue);
        let rate = path.rounds(20);
        assert!(rate < carries * 1.25, "{rate} of {carries}");
        // It is tried again and again whether it carries more, and never much.
        let mut sum = 0.0;
        for _ in 0..200 {
            let rate = path.rounds(1);
            assert!(rate < carries * 1.25, "{rate} of {carries}");
            sum += rate;
        }
        assert!((0.9..1.04).contains(&(sum / 200.0 / carries)), "{} of {carries}", sum / 200.0);
        assert!(!path.control.is_broken());
    }
}

#[test]
fn a_link_that_recovers_is_used_again() {
    let mut path = Path::new(4e6, 0.01, 0.1);
    path.rounds(40);
    path.carries = 8e6;
    assert_eq!(path.rounds(120), 8e6);
}

#[test]
fn somebody_elses_queue_does_not_lower_the_rate_for_long() {
    let mut path = Path::new(8e6, 0.0, 0.5);
    path.rounds(5);
    path.others = 0.3;
    path.rounds(6);
    assert_eq!(path.rounds(1), 8e6);
}

/// A window that others share the queue with is no longer than theirs is on the mean.
#[test]
fn next_to_a_queue_that_swings_less_is_in_flight_until_it_is_gone() {
    let mut path = Path::new(8e6, 0.0, 0.5);
    path.rounds(5);
    let part = |path: &Path| {
        let max = path.control.max_in_flight().unwrap() as f64;
        max / path.control.product().unwrap() as f64
    };
    path.others = 0.3;
    path.rounds(20);
    assert!((part(&path) - ALONE).abs() < 0.01, "it may be a longer path");
    for round in 0..40 {
        path.others = 0.3 + 0.02 * f64::from(round % 10);
        path.rounds(1);
    }
    assert!((part(&path) - NEXT_TO_OTHERS).abs() < 0.01);
    path.others = 0.0;
    path.rounds(1);
    assert!((part(&path) - ALONE).abs() < 0.01);
}

#[test]
fn a_fade_says_nothing() {
    let mut path = Path::new(8e6, 0.0, 0.5);
    path.rounds(5);
    path.now += Duration::from_secs(3);
    let (delivered, lost, rtt) = (1500, 600_000, Some(Duration::from_millis(500)));
    path.report(delivered, lost, rtt);
    // What was lost in it is found in the next rounds, too.
    for _ in 0..2 {
        path.now += Duration::from_millis(502);
        path.control.on_sent(500_000);
        path.report(250_000, 250_000, rtt);
    }
    for _ in 0..20 {
        assert_eq!(path.rounds(1), 8e6);
    }
}

#[test]
fn a_link_that_carries_less_than_half_for_long_breaks_the_circuit() {
    let mut path = Path::new(8e6, 0.6, 0.5);
    path.rounds(25);
    assert!(path.control.is_broken());
}

#[test]
fn a_path_that_becomes_longer_is_used_again_at_once() {
    // Over the ground first; then over a satellite.
    let mut path = Path::new(8e6, 0.0, 0.5);
    path.base = 0.02;
    assert_eq!(path.rounds(200), 8e6);
    path.base = 0.6;
    path.rounds(10);
    assert_eq!(path.control.product(), Some(600_000));
    assert_eq!(path.rounds(20), 8e6);
    // A little longer is longer after some rounds only: it might be a queue.
    path.base = 0.7;
    path.rounds(5);
    assert_eq!(path.control.product(), Some(600_000));
    path.rounds(70);
    assert_eq!(path.control.product(), Some(700_000));
    // And a shorter one is believed at once.
    path.base = 0.02;
    path.rounds(1);
    assert_eq!(path.control.product(), Some(20_000));
}

#[test]
fn a_rate_that_was_not_told_is_found_when_more_is_sent_than_the_link_carries() {
    for (demand, max_queue) in [(9e6, 0.1), (12e6, 0.03), (20e6, 0.5)] {
        let mut path = Path::untold(8e6, 0.0, max_queue, demand);
        path.rounds(60);
        let mut sum = 0.0;
        for _ in 0..200 {
            let rate = path.rounds(1);
            assert!(rate < 8e6 * 1.25, "{rate}, {demand}");
            sum += rate.min(demand);
        }
        assert!((0.9..1.04).contains(&(sum / 200.0 / 8e6)), "{} at {demand}", sum / 200.0);
    }
}

#[test]
fn nothing_is_found_where_the_link_carries_what_is_sent() {
    for (loss, demand) in [(0.0, 7.9e6), (0.015, 7e6)] {
        let mut path = Path::untold(8e6, loss, 0.5, demand);
        for _ in 0..200 {
            assert_eq!(path.rounds(1), f64::INFINITY, "{loss}");
        }
    }
    // This one may be ours, and is not.
    let mut path = Path::untold(8e6, 0.05, 0.5, 7e6);
    path.rounds(12);
    for _ in 0..200 {
        assert_eq!(path.rounds(1), f64::INFINITY);
    }
}

#[test]
fn losses_of_the_smaller_part_do_not_slow_the_rest() {
    let mut path = Path::untold(8e6, 0.0, 0.1, 12e6);
    path.spared = 0.6;
    for _ in 0..100 {
        assert_eq!(path.rounds(1), f64::INFINITY);
    }
    path.spared = 0.4;
    path.rounds(40);
    assert!(path.rounds(1) < 10e6);
    // It was found, and does not help: some flows have a link of their own, which is asked for too
    // much.
    (path.carries, path.spared) = (4e6, 0.6);
    path.rounds(10);
    assert_eq!(path.rounds(1), f64::INFINITY);
}

#[test]
fn what_was_found_is_forgotten_when_nobody_needs_it() {
    let mut path = Path::untold(8e6, 0.0, 0.1, 12e6);
    path.rounds(40);
    assert!(path.rounds(1) < 10e6);
    path.demand = 2e6;
    path.rounds(60);
    assert!(path.rounds(1) < 10e6, "half a minute is not long");
    path.rounds(80);
    assert_eq!(path.rounds(1), f64::INFINITY);
    // Nor is there a circuit to break: the flows' own controls stand.
    let mut path = Path::untold(8e6, 0.6, 0.1, 12e6);
    path.rounds(40);
    assert!(!path.control.is_broken());
}

/// A peer gateway has told a rate, and is wrong: nothing is starved by that, and nothing flooded.
#[test]
fn a_rate_that_a_peer_has_told_is_where_use_begins() {
    let hinted = |carries| {
        let control = RateControl::new(Some(CONFIGURED), true);
        Path { control, ..Path::new(carries, 0.001, 0.5) }
    };
    let told = CONFIGURED.bits_per_sec() as f64;
    assert_eq!(hinted(told).rate(), told);
    let mut right = hinted(told);
    for _ in 0..200 {
        let rate = right.rounds(1);
        assert!((told * 0.8..told * 1.21).contains(&rate), "{rate}");
    }
    // It carries four times as much, or a third.
    let mut more = hinted(told * 4.0);
    assert!(more.rounds(150) > told * 3.5, "{}", more.rate());
    let mut less = hinted(told / 3.0);
    less.rounds(30);
    assert!(less.rate() < told / 2.5, "{}", less.rate());
    // One that is configured is not exceeded.
    assert_eq!(Path::new(told * 4.0, 0.001, 0.5).rounds(150), told);
}

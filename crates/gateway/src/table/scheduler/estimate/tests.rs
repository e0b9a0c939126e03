//! Links of several kinds, whose flows always have something to send.

use super::*;
use bentpipe_core::time::Duration;
use bentpipe_core::units::Bytes;
use std::collections::VecDeque;

/// The grain of time, in seconds.
const TICK: f64 = 0.002;

/// A segment that has left, and is acknowledged or found lost at a moment.
#[derive(Debug, Clone, Copy)]
struct Sent {
    acknowledged: f64,
    rtt: f64,
    lost: bool,
}

/// A link that carries `rate` bytes of payload a second.
struct Link {
    rate: f64,
    /// A round trip without a queue, in seconds.
    base: f64,
    /// The longest queue, in seconds.
    room: f64,
    /// The share that it loses by itself.
    loss: f64,
    /// What somebody else keeps in its queue, in seconds.
    others: f64,
    /// At most so many bytes a second are there to be sent.
    demand: f64,
    estimate: Estimate,
    now: f64,
    /// Bytes in its queue.
    queued: f64,
    in_flight: f64,
    sent: VecDeque<Sent>,
    /// Bytes that the pace lets out.
    credit: f64,
    /// What of the losses is due.
    owed: f64,
    /// Since they were last asked for: delivered, dropped, and the longest of the queues.
    delivered: f64,
    dropped: f64,
    longest: f64,
}

impl Link {
    fn new(megabits: f64, base: f64) -> Link {
        Link {
            rate: megabits * 1e6 / 8.0,
            base,
            room: 10.0,
            loss: 0.0,
            others: 0.0,
            demand: f64::INFINITY,
            estimate: Estimate::new(),
            now: 0.0,
            queued: 0.0,
            in_flight: 0.0,
            sent: VecDeque::new(),
            credit: START,
            owed: 0.0,
            delivered: 0.0,
            dropped: 0.0,
            longest: 0.0,
        }
    }

    fn at(&self) -> Instant {
        Instant::ZERO + Duration::from_secs_f64(self.now)
    }

    fn tick(&mut self) {
        self.now += TICK;
        self.queued = (self.queued - self.rate * TICK).max(0.0);
        while self.sent.front().is_some_and(|sent| sent.acknowledged <= self.now)
            && let Some(Sent { rtt, lost, .. }) = self.sent.pop_front()
        {
            self.in_flight -= SEGMENT;
            let [bytes, none] = [Bytes::new(SEGMENT as u64), Bytes::ZERO];
            let (delivered, lost, rtt) = match lost {
                true => (none, bytes, None),
                false => (bytes, none, Some(Duration::from_secs_f64(rtt))),
            };
            self.delivered += delivered.as_f64();
            let report = LinkReport { delivered, lost, rtt };
            self.estimate.on_report(self.at(), report, self.in_flight as u64);
        }
        let pace = self.estimate.rate();
        let pace = pace.map_or(f64::INFINITY, |rate| rate.bits_per_sec() as f64 / 8.0 / WIRE);
        let pace = pace.min(self.demand);
        self.credit =
            (self.credit + pace * TICK).min((pace * TICK).clamp(SEGMENT, 100.0 * SEGMENT));
        while self.in_flight < self.estimate.window() as f64 && self.credit > 0.0 {
            self.credit -= SEGMENT;
            self.send();
        }
        if self.in_flight >= self.estimate.window() as f64 {
            self.estimate.note_full();
        }
        self.longest = self.longest.max(self.queued / self.rate);
    }

    /// A segment leaves.
    fn send(&mut self) {
        self.in_flight += SEGMENT;
        let has_room = self.queued <= self.room * self.rate;
        self.owed += self.loss;
        let corrupted = self.owed >= 1.0;
        self.owed -= if corrupted { 1.0 } else { 0.0 };
        if has_room {
            self.queued += SEGMENT;
        } else {
            self.dropped += SEGMENT;
        }
        let rtt = self.base + self.others + self.queued / self.rate;
        let acknowledged = self.now + rtt;
        self.sent.push_back(Sent { acknowledged, rtt, lost: corrupted || !has_room });
    }

    fn run(&mut self, seconds: f64) {
        (self.delivered, self.dropped, self.longest) = (0.0, 0.0, 0.0);
        let end = self.now + seconds;
        while self.now < end {
            self.tick();
        }
    }

    /// The share of what the link could carry in these seconds that was delivered.
    fn used(&mut self, seconds: f64) -> f64 {
        self.run(seconds);
        self.delivered / (self.rate * (1.0 - self.loss) * seconds)
    }
}

#[test]
fn a_link_is_found_and_filled_with_a_queue_of_some_milliseconds() {
    for (megabits, base) in [(1.0, 0.6), (8.0, 0.5), (20.0, 0.03), (100.0, 0.054), (250.0, 0.6)] {
        let mut link = Link::new(megabits, base);
        link.run(12.0);
        assert!(link.estimate.is_found(), "{megabits} Mbit/s");
        let used = link.used(30.0);
        assert!(used > 0.95, "{megabits} Mbit/s: {used}");
        assert!(link.longest < 0.05, "{megabits} Mbit/s: {}", link.longest);
    }
}

#[test]
fn what_is_in_flight_does_not_grow_after_a_fall_and_the_link_is_full_soon_after_its_return() {
    for base in [0.05, 0.5] {
        let mut link = Link::new(50.0, base);
        link.run(20.0);
        let before = link.in_flight;
        link.rate /= 10.0;
        link.run(14.0 * base + 1.0);
        assert!(link.longest < 9.5 * base + 0.1, "{}", link.longest);
        assert!(link.in_flight < before / 4.0, "it is drained: {} of {before}", link.in_flight);
        let used = link.used(10.0);
        assert!(used > 0.95 && link.longest < 0.2, "{used} {}", link.longest);
        link.rate *= 10.0;
        link.run((5.0 * base).max(1.0));
        let used = link.used(5.0);
        assert!(used > 0.9, "{base}: {used}");
    }
}

#[test]
fn a_longer_path_is_told_from_a_queue() {
    let mut link = Link::new(50.0, 0.05);
    link.run(15.0);
    link.base = 0.09;
    link.run(5.0);
    let used = link.used(20.0);
    assert!(used > 0.95, "{used}");
    assert!(link.longest < 0.05, "{}", link.longest);
    link.base = 0.03;
    link.run(5.0);
    let used = link.used(20.0);
    assert!(used > 0.96 && link.longest < 0.05, "{used} {}", link.longest);
}

#[test]
fn a_queue_of_others_starves_nobody() {
    let mut link = Link::new(50.0, 0.1);
    link.run(15.0);
    link.others = 0.08;
    link.run(5.0);
    let used = link.used(20.0);
    assert!(used > 0.9, "{used}");
}

#[test]
fn losses_of_the_link_say_nothing() {
    for (loss, wanted) in [(0.01, 0.95), (0.05, 0.93), (0.10, 0.90)] {
        let mut link = Link::new(20.0, 0.5);
        link.loss = loss;
        link.run(30.0);
        let used = link.used(60.0);
        assert!(used > wanted, "{loss}: {used}");
    }
}

#[test]
fn a_queue_too_short_for_the_target_is_not_overrun() {
    for room in [0.004, 0.008] {
        let mut link = Link::new(50.0, 0.5);
        link.run(10.0);
        link.room = room;
        link.run(60.0);
        let used = link.used(60.0);
        let dropped = link.dropped / (link.dropped + link.delivered);
        assert!(used > 0.85, "{room}: {used}");
        assert!(dropped < 0.02, "{room}: {dropped}");
    }
}

#[test]
fn who_sends_little_finds_and_changes_nothing() {
    let mut link = Link::new(50.0, 0.5);
    link.demand = 20_000.0;
    link.run(60.0);
    assert!(!link.estimate.is_found());
    link.demand = f64::INFINITY;
    link.run(10.0);
    let window = link.estimate.window();
    link.demand = 20_000.0;
    link.run(60.0);
    let after = link.estimate.window();
    assert!(after.abs_diff(window) < window / 100, "{after} after {window}");
}

#[test]
fn before_anything_has_arrived_all_flows_have_what_one_may_begin_with() {
    let mut link = Link::new(50.0, 0.5);
    link.run(0.4);
    assert!(link.in_flight <= START + SEGMENT, "{}", link.in_flight);
    link.run(0.5);
    assert!(link.in_flight <= START * (1.0 + START_GROWTH));
}

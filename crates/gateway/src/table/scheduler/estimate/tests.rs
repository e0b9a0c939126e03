//! Links of several kinds, whose flows always have something to send.

use super::super::WIRE;
use super::round::START_GROWTH;
use super::*;
use crate::announce::{Arrivals, ByteCount, Identity};
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
    /// When it arrives at the peer, in seconds.
    arrives: f64,
}

/// Somebody else's flow, which fills the queue: it sends more until something is dropped.
#[derive(Debug, Default)]
struct Rival {
    window: f64,
    in_flight: f64,
    /// When segments are acknowledged or found lost, and whether they are.
    sent: VecDeque<(f64, bool)>,
    /// It is not lowered again before.
    lowered: f64,
    delivered: f64,
}

impl Rival {
    fn take(&mut self, now: f64, rtt: f64) {
        while self.sent.front().is_some_and(|(at, _)| *at <= now)
            && let Some((_, lost)) = self.sent.pop_front()
        {
            self.in_flight -= SEGMENT;
            if !lost {
                self.delivered += SEGMENT;
                // Twenty segments in a second, whatever the round trip.
                self.window += 20.0 * rtt * SEGMENT * SEGMENT / self.window;
            } else if now > self.lowered {
                self.window *= 0.7;
                self.lowered = now + rtt;
            }
        }
    }
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
    /// Behind its port, what a policer lets pass in bytes a second, and at most at once.
    policed: Option<[f64; 2]>,
    tokens: f64,
    /// What somebody else keeps in its queue, in seconds; and somebody who fills it.
    others: f64,
    rival: Option<Rival>,
    /// What acknowledgments wait for on their way back, in seconds.
    back: f64,
    /// The peer reports what has arrived.
    reports: bool,
    /// So many times as fast as its clock should go.
    clock: f64,
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
    /// Nothing leaves before.
    next_train: Instant,
    /// What of the losses is due.
    owed: f64,
    /// Bytes that have arrived, all in all.
    arrived: f64,
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
            policed: None,
            tokens: 0.0,
            others: 0.0,
            rival: None,
            back: 0.0,
            reports: false,
            clock: 1.0,
            demand: f64::INFINITY,
            estimate: Estimate::new(),
            now: 0.0,
            queued: 0.0,
            in_flight: 0.0,
            sent: VecDeque::new(),
            credit: START,
            next_train: Instant::ZERO,
            owed: 0.0,
            arrived: 0.0,
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
        if let Some([rate, burst]) = self.policed {
            self.tokens = (self.tokens + rate * TICK).min(burst);
        }
        while self.sent.front().is_some_and(|sent| sent.acknowledged <= self.now)
            && let Some(Sent { rtt, lost, arrives, .. }) = self.sent.pop_front()
        {
            self.in_flight -= SEGMENT;
            let [bytes, none] = [Bytes::new(SEGMENT as u64), Bytes::ZERO];
            let (delivered, lost, rtt) = match lost {
                true => (none, bytes, None),
                false => (bytes, none, Some(Duration::from_secs_f64(rtt))),
            };
            self.delivered += delivered.as_f64();
            let report = LinkReport { delivered, lost, rtt, ..LinkReport::default() };
            let mut in_flight = InFlight::default();
            in_flight.add(self.in_flight as u32, false);
            self.estimate.on_report(self.at(), report, &in_flight);
            self.arrived += delivered.as_f64();
            if self.reports && !delivered.is_zero() {
                let (micros, bytes) =
                    ((arrives * self.clock * 1e6) as u32, ByteCount::of(self.arrived as u64));
                let arrivals = Some(Arrivals { count: 0, micros, bytes });
                let report = Report::of(Identity::new(1).unwrap()).with(arrivals);
                self.estimate.on_peer_report(self.at(), report);
            }
        }
        self.compete();
        let pace = self.estimate.rate();
        let pace = pace.map_or(f64::INFINITY, |rate| rate.bits_per_sec() as f64 / 8.0 / WIRE);
        let pace = pace.min(self.demand);
        self.credit =
            (self.credit + pace * TICK).min((pace * TICK).clamp(SEGMENT, 100.0 * SEGMENT));
        while self.in_flight < self.estimate.window() as f64
            && self.credit > 0.0
            && self.at() >= self.next_train
        {
            self.credit -= SEGMENT;
            self.send();
        }
        if self.in_flight >= self.estimate.window() as f64 {
            self.estimate.note_full();
        }
        self.longest = self.longest.max(self.queued / self.rate);
    }

    /// The rival sends what it may.
    fn compete(&mut self) {
        let Some(rival) = &mut self.rival else { return };
        let rtt = self.base + self.queued / self.rate;
        rival.take(self.now, rtt);
        // Not all at once.
        for _ in 0..8 {
            if rival.in_flight >= rival.window {
                break;
            }
            let lost = self.queued > self.room * self.rate;
            self.queued += if lost { 0.0 } else { SEGMENT };
            rival.in_flight += SEGMENT;
            rival.sent.push_back((self.now + self.base + self.queued / self.rate, lost));
        }
    }

    /// A segment leaves.
    fn send(&mut self) {
        self.in_flight += SEGMENT;
        if let Some(next) = self.estimate.on_sent(self.at(), SEGMENT as u64, self.in_flight as u64)
        {
            self.next_train = next;
        }
        let passes = self.policed.is_none() || self.tokens >= SEGMENT;
        self.tokens -= if passes { SEGMENT } else { 0.0 };
        let has_room = passes && self.queued <= self.room * self.rate;
        self.owed += self.loss;
        let corrupted = self.owed >= 1.0;
        self.owed -= if corrupted { 1.0 } else { 0.0 };
        if has_room {
            self.queued += SEGMENT;
        } else {
            self.dropped += SEGMENT;
        }
        let there = self.base / 2.0 + self.others + self.queued / self.rate;
        let rtt = there + self.base / 2.0 + self.back;
        let (arrives, acknowledged) = (self.now + there, self.now + rtt);
        self.sent.push_back(Sent { acknowledged, rtt, lost: corrupted || !has_room, arrives });
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
        let longest = 0.04 + 5.0 * SEGMENT / link.rate;
        assert!(link.longest < longest, "{megabits} Mbit/s: {}", link.longest);
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
        assert!(link.longest < 9.5 * base + 0.12, "{}", link.longest);
        assert!(link.in_flight < before / 4.0, "it is drained: {} of {before}", link.in_flight);
        let used = link.used(10.0);
        assert!(used > 0.95 && link.longest < 0.25, "{used} {}", link.longest);
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
fn a_longer_path_that_loses_by_itself_is_no_rivals() {
    let mut link = Link::new(20.0, 0.15);
    link.loss = 0.01;
    link.run(20.0);
    link.base = 0.6;
    link.run(20.0);
    let used = link.used(20.0);
    assert!(used > 0.9 && link.longest < 0.1, "{used} {}", link.longest);
}

#[test]
fn a_path_that_becomes_longer_by_as_much_as_a_queue_starves_nobody() {
    for longer in [0.012, 0.018] {
        let mut link = Link::new(47.0, 0.022);
        link.reports = true;
        // Round trips vary by two milliseconds.
        let mut used = |base: f64, seconds: u64| {
            let mut delivered = 0.0;
            for step in 0..20 * seconds {
                link.base = base + (step * 7 % 5) as f64 * 0.000_5;
                link.run(0.05);
                delivered += link.delivered;
            }
            delivered / (link.rate * seconds as f64)
        };
        used(0.022, 12);
        used(0.022 + longer, 1);
        let used = used(0.022 + longer, 2);
        assert!(used > 0.9, "{longer}: {used}");
    }
}

#[test]
fn drains_to_see_the_round_trip_cost_little() {
    let mut link = Link::new(40.0, 0.6);
    link.run(30.0);
    let used = link.used(120.0);
    assert!(used > 0.993, "{used}");
}

/// Round trips are as long as before while others go: our own window takes their place.
#[test]
fn a_queue_that_others_left_behind_is_drained() {
    let mut link = Link::new(40.0, 0.6);
    link.others = 0.2;
    link.run(6.0);
    for _ in 0..20 {
        link.others -= 0.01;
        link.run(0.6);
    }
    link.used(1.0);
    assert!(link.longest > 0.15, "it is our own now: {}", link.longest);
    link.run(45.0);
    link.used(5.0);
    assert!(link.longest < 0.03, "{}", link.longest);
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
fn a_carrier_that_nobody_else_uses_is_used_as_well() {
    for (base, loss) in [(0.05, 0.0), (0.5, 0.0), (0.5, 0.03)] {
        let mut link = Link::new(20.0, base);
        link.estimate = Estimate::new().on_shared_carrier(Duration::from_secs(3));
        link.loss = loss;
        link.run(30.0);
        let used = link.used(60.0);
        assert!(used > 0.95, "{base} s: {used}");
        assert!(link.longest < 0.05 + 0.1 * base, "{base} s: {}", link.longest);
        // Its rate falls: what it was held to bear is none of others'.
        link.rate /= 4.0;
        link.run(20.0 + 20.0 * base);
        let used = link.used(20.0);
        assert!(used > 0.93 && link.longest < 0.1, "{base} s: {used} {}", link.longest);
    }
}

/// Its queue overflows before it is as long as it should be.
#[test]
fn a_short_queue_of_a_carrier_is_not_overrun() {
    let mut link = Link::new(20.0, 0.5);
    link.estimate = Estimate::new().on_shared_carrier(Duration::ZERO);
    link.room = 0.012;
    link.run(30.0);
    let used = link.used(60.0);
    let dropped = link.dropped / (link.rate * 60.0);
    assert!(used > 0.9 && dropped < 0.03, "{used} used, {dropped} dropped");
}

#[test]
fn losses_of_the_link_say_nothing() {
    for (loss, wanted) in [(0.01, 0.95), (0.05, 0.93), (0.10, 0.90)] {
        let mut link = Link::new(20.0, 0.5);
        link.loss = loss;
        link.run(30.0);
        assert!(link.estimate.loses_by_itself(), "{loss}");
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
    for reports in [false, true] {
        let mut link = Link::new(50.0, 0.5);
        link.reports = reports;
        link.demand = 20_000.0;
        link.run(60.0);
        assert!(!link.estimate.is_found());
        assert!(link.estimate.window() as f64 >= START);
        link.demand = f64::INFINITY;
        link.run(10.0);
        let window = link.estimate.window();
        link.demand = 20_000.0;
        link.run(60.0);
        let after = link.estimate.window();
        assert!(after.abs_diff(window) < window / 100, "{after} after {window}");
    }
}

/// More than a tenth is what a policer drops, too.
#[test]
fn a_link_that_loses_much_is_not_given_up_at_the_beginning() {
    let mut link = Link::new(20.0, 0.5);
    (link.loss, link.reports) = (0.12, true);
    link.run(10.0);
    let used = link.used(20.0);
    assert!(used > 0.7, "{used}");
}

#[test]
fn before_anything_has_arrived_all_flows_have_what_one_may_begin_with() {
    let mut link = Link::new(50.0, 0.5);
    link.run(0.4);
    assert!(link.in_flight <= START + SEGMENT, "{}", link.in_flight);
    link.run(0.5);
    assert!(link.in_flight <= START * (1.0 + START_GROWTH));
}

#[test]
fn a_train_shows_what_the_link_carries() {
    for (megabits, base) in [(1.0, 0.6), (8.0, 0.5), (50.0, 0.6), (250.0, 0.6)] {
        let mut link = Link::new(megabits, base);
        link.reports = true;
        link.run(base + 0.3);
        assert!(link.estimate.is_found(), "{megabits} Mbit/s");
        let used = link.used(3.0);
        assert!(used > 0.8, "{megabits} Mbit/s: {used}");
        let used = link.used(10.0);
        let longest = 0.04 + 5.0 * SEGMENT / link.rate;
        assert!(used > 0.97 && link.longest < longest, "{megabits}: {used} {}", link.longest);
    }
}

#[test]
fn what_a_short_queue_dropped_at_the_beginning_does_not_meet_it_at_once_again() {
    let mut link = Link::new(0.25, 0.6);
    (link.reports, link.room) = (true, 3.0 * SEGMENT / link.rate);
    // Fifty leave in five trains. The first three of them come back.
    link.run(0.75);
    link.run(0.5);
    assert!(!link.estimate.is_found() && link.dropped <= 15.0 * SEGMENT, "{}", link.dropped);
}

#[test]
fn the_queue_of_the_way_back_is_none_of_this_way_by_the_clock_of_the_peer() {
    let mut link = Link::new(50.0, 0.5);
    link.reports = true;
    link.run(15.0);
    link.back = 0.1;
    link.run(2.0);
    let used = link.used(4.0);
    assert!(used > 0.8, "{used}");
    link.run(10.0);
    let used = link.used(10.0);
    assert!(used > 0.93 && link.longest < 0.12, "{used} {}", link.longest);
}

#[test]
fn after_a_pause_all_is_as_it_was() {
    let mut link = Link::new(50.0, 0.6);
    link.reports = true;
    link.run(12.0);
    let window = link.estimate.window();
    link.demand = 0.0;
    link.run(120.0);
    assert_eq!(link.in_flight, 0.0);
    link.demand = f64::INFINITY;
    link.run(0.6);
    let used = link.used(5.0);
    assert!(used > 0.97 && link.longest < 0.05, "{used} {}", link.longest);
    assert!(link.estimate.window().abs_diff(window) < window / 20);
}

#[test]
fn what_was_found_long_ago_is_taken_for_half_at_first() {
    for (pause, least) in [(300.0, 0.9), (900.0, 0.4)] {
        let mut link = Link::new(50.0, 0.6);
        link.reports = true;
        link.run(12.0);
        let before = link.estimate.window() as f64;
        link.demand = 0.0;
        link.run(pause);
        link.demand = f64::INFINITY;
        link.run(0.5);
        let window = link.estimate.window() as f64 / before;
        assert!((least..least + 0.2).contains(&window), "{pause}: {window}");
        link.run(1.5);
        let used = link.used(5.0);
        assert!(used > 0.95 && link.longest < 0.05, "{used} {}", link.longest);
    }
}

/// Now and then a page, for a quarter of an hour.
#[test]
fn who_uses_little_of_a_link_does_not_keep_it_young() {
    let mut link = Link::new(50.0, 0.6);
    link.reports = true;
    link.run(12.0);
    let before = link.estimate.window();
    for _ in 0..45 {
        link.demand = 20_000.0;
        link.run(2.0);
        link.demand = 0.0;
        link.run(18.0);
    }
    let after = link.estimate.window();
    assert!(after < before * 3 / 5 && after > before * 2 / 5, "{after} of {before}");
}

/// As when another link takes over whose round trip is a terrestrial one.
#[test]
fn a_shorter_path_is_not_sent_what_a_long_one_holds() {
    let mut link = Link::new(20.0, 0.6);
    link.reports = true;
    link.run(12.0);
    link.demand = 0.0;
    link.run(20.0);
    link.base = 0.04;
    link.demand = f64::INFINITY;
    link.run(3.0);
    assert!(link.longest < 0.15, "{}", link.longest);
    let used = link.used(5.0);
    assert!(used > 0.95, "{used}");
}

/// Of 20 Mbit/s with bursts of 64 KB. Trains show the port.
#[test]
fn a_policer_gets_what_it_lets_pass_from_the_next_round_trip_on() {
    for port in [100.0, 1_000.0] {
        let mut link = Link::new(port, 0.6);
        link.policed = Some([2.5e6, 64e3]);
        link.reports = true;
        link.run(2.5);
        link.run(10.0);
        let dropped = link.dropped / (link.dropped + link.delivered);
        assert!(dropped < 0.2, "{port}: {dropped}");
        assert!(link.delivered > 0.3 * 2.5e6 * 10.0, "{port}: {}", link.delivered);
    }
}

/// Its reports say a tenth of the rate, or ten times as much. It floods its link for some seconds,
/// and may keep a queue for itself.
#[test]
fn a_liar_neither_starves_its_remote_nor_floods_the_link_for_long() {
    for clock in [10.0, 0.1] {
        let mut link = Link::new(20.0, 0.5);
        (link.reports, link.clock, link.room) = (true, clock, 1.0);
        link.run(20.0);
        let used = link.used(20.0);
        assert!(used > 0.9 && link.longest < 0.8, "{clock}: {used} {}", link.longest);
        assert_eq!(link.dropped, 0.0, "{clock}");
    }
}

/// Somebody comes who fills the queue. Who kept it short would be left with nothing; and when he
/// has gone it is short again.
#[test]
fn next_to_a_rival_a_share_is_kept_and_when_he_is_gone_the_queue_is_short() {
    let mut shares = 0.0;
    for (megabits, base) in [(20.0, 0.3), (8.0, 0.5), (2.0, 0.6)] {
        let mut link = Link::new(megabits, base);
        link.room = base;
        link.run(20.0);
        assert!(!link.estimate.rivals.are_there(), "{megabits} Mbit/s: alone");
        link.rival = Some(Rival { window: 10.0 * SEGMENT, ..Rival::default() });
        // Until he has filled it, and is found.
        link.run(120.0);
        link.rival.as_mut().unwrap().delivered = 0.0;
        let share = link.used(200.0);
        let his = link.rival.as_ref().unwrap().delivered / (link.rate * 200.0);
        assert!(share > 0.15 && his > 0.15, "{megabits} Mbit/s: {share} and {his}");
        shares += share;
        assert!(link.longest > 0.8 * link.room, "{megabits} Mbit/s: he fills the queue");
        assert!(!link.estimate.loses_by_itself(), "{megabits} Mbit/s: it overflows");
        link.rival = None;
        link.run(1_200.0);
        assert!(!link.estimate.rivals.are_there(), "{megabits} Mbit/s: alone again");
        let used = link.used(30.0);
        assert!(used > 0.95 && link.longest < 0.04 + 5.0 * SEGMENT / link.rate, "{used}");
    }
    assert!(shares > 3.0 * 0.25, "on the mean {}", shares / 3.0);
}

#[test]
fn a_drain_keeps_hardly_anybody_waiting_who_is_in_a_hurry() {
    let mut link = Link::new(10.0, 0.5);
    link.run(5.0);
    while link.estimate.draining.kept().is_none() {
        link.run(0.01);
        assert!(link.now < 60.0, "it is drained now and then");
    }
    let estimate = &mut link.estimate;
    let window = estimate.window();
    assert!(estimate.is_full(window, false) && !estimate.is_full(window, true));
    assert!(!estimate.is_full(window - 1, false));
    let product = 0.5 * 10e6 / 8.0;
    let mut added = 0.0;
    while !estimate.is_full(window, true) {
        estimate.note_hurried(window, SEGMENT as u64);
        added += SEGMENT;
    }
    assert!(added > 0.02 * product && added < 0.06 * product, "{added} of {product}");
}

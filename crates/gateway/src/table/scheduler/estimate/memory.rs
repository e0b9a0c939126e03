//! A link as an earlier run has found it, or its operator guesses it.
//!
//! It is begun with as RFC 9959 says: with most of the rate that it carried then. With half of it
//! where that is long ago or the round trip is another one. Packets are [checked](super::seeking)
//! as they come back. The rest follows a round trip later if no queue stands.

use super::super::WIRE;
use super::leaving::{OLD, wire_rate};
use super::start::START;
use super::{Estimate, MIN_WINDOW};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Rate;

/// The part that is begun with, and where it is old or the path may be another one.
const PART: f64 = 0.9;
const DOUBTFUL: f64 = 0.5;

/// By how much the first round trip may be shorter and longer: that of a handshake goes on to a
/// host, in seconds.
const SHORTER: f64 = 0.8;
const LONGER: f64 = 1.2;
const BEYOND: f64 = 0.2;

/// The longest round trip for which a window is made before one was measured, in seconds.
const MAX_ROUND_TRIP: f64 = 3.0;

/// See the module's head.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::table) struct Memory {
    /// Bytes of payload a second.
    rate: f64,
    /// A round trip without a queue, in seconds.
    round_trip: Option<f64>,
    /// When it was so old; None: an operator says it.
    found: Option<(Instant, Duration)>,
    /// The rate that is begun with, once a handshake has shown a round trip.
    checked: Option<f64>,
}

impl Memory {
    /// What an operator holds a link for.
    pub(in crate::table) fn guess(rate: Rate, round_trip: Option<Duration>) -> Memory {
        let rate = rate.bits_per_sec() as f64 / 8.0 / WIRE;
        Memory {
            rate,
            round_trip: round_trip.map(|it| it.as_secs_f64()),
            found: None,
            checked: None,
        }
    }

    /// What an earlier run had found, so long ago.
    pub(in crate::table) fn found(
        now: Instant,
        rate: Rate,
        round_trip: Duration,
        age: Duration,
    ) -> Memory {
        Memory { found: Some((now, age)), ..Memory::guess(rate, Some(round_trip)) }
    }

    /// The same, as it was given: with its age now.
    pub(in crate::table) fn parts(&self, now: Instant) -> Option<(Rate, Duration, Duration)> {
        let (from, age) = self.found?;
        let round_trip = Duration::from_secs_f64(self.round_trip?);
        Some((wire_rate(self.rate), round_trip, age + now.saturating_since(from)))
    }

    /// The rate that is begun with before data has shown a round trip, in bytes of payload a
    /// second.
    pub(super) fn begins_with(&self) -> f64 {
        let unchecked = self.rate * if self.found.is_none() { PART } else { DOUBTFUL };
        self.checked.unwrap_or(unchecked)
    }

    /// The rate that is begun with after a first round trip.
    fn checked_rate(&self, now: Instant, rtt: f64) -> f64 {
        let old = self.found.is_some_and(|(from, age)| age + now.saturating_since(from) > OLD);
        self.rate * if old || !self.agrees(rtt) { DOUBTFUL } else { PART }
    }

    /// The round trip of the path that is to be filled, after one was measured.
    fn filled(&self, rtt: f64) -> f64 {
        self.round_trip.map_or(rtt, |before| before.min(rtt))
    }

    /// Whether this may be a round trip of that path.
    fn agrees(&self, rtt: f64) -> bool {
        let may_be = |before: f64| (before * SHORTER..=before * LONGER + BEYOND).contains(&rtt);
        self.round_trip.is_none_or(may_be)
    }
}

impl Estimate {
    /// Of a link of which something is remembered.
    pub(in crate::table) fn beginning_with(memory: Memory) -> Estimate {
        let round_trip = memory.round_trip.filter(|_| memory.found.is_none());
        let filling = memory.begins_with() * round_trip.unwrap_or(0.0).min(MAX_ROUND_TRIP);
        let window = filling.max(START);
        Estimate { memory: Some(memory), window, start: None, ..Estimate::new() }
    }

    /// What of the link is to be remembered, if it has been found: its rate, a round trip without a
    /// queue, and how long ago that was.
    pub(in crate::table) fn to_remember(&self, now: Instant) -> Option<(Rate, Duration, Duration)> {
        if let Some(memory) = &self.memory {
            return memory.parts(now);
        }
        let base = self.path.base().filter(|_| self.found)?;
        // Where others fill the queue, the window is as long as that.
        let contested = self.rivals.are_there();
        let rate = if contested { self.rate } else { self.window / (base + self.path.queue()) };
        let rate = wire_rate(rate);
        Some((rate, Duration::from_secs_f64(base), now.saturating_since(self.used)))
    }

    /// A handshake's round trip was measured. If it is that of the path that is remembered, that is
    /// begun with. It is no measure of the path: others may have answered.
    pub(in crate::table) fn on_handshake(&mut self, now: Instant, rtt: f64) {
        let Some(memory) = self.memory.as_mut().filter(|it| it.checked.is_none()) else { return };
        if memory.agrees(rtt) {
            let rate = memory.checked_rate(now, rtt);
            memory.checked = Some(rate);
            self.window = (rate * memory.filled(rtt)).max(START);
            self.settled = Some(now + Duration::from_secs_f64(rtt));
        }
    }

    /// A first round trip of data was measured: what is remembered is begun with.
    pub(super) fn begin_by_memory(&mut self, now: Instant, rtt: f64) {
        let Some(memory) = self.memory.take() else { return };
        let rate = memory.checked_rate(now, rtt);
        self.found = true;
        self.window = (rate * (memory.filled(rtt) + self.path.queue())).max(MIN_WINDOW);
        (self.rate, self.best, self.used) = (rate, memory.rate, now);
        // Data may come long after the handshake.
        let settled = self.settled.unwrap_or(now + Duration::from_secs_f64(rtt));
        self.settled = Some(settled.max(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_millis(1_000);
    const ROUND_TRIP: Duration = Duration::from_millis(500);

    /// The window in bytes and the rate in Mbit/s of an estimate that begins with 8 Mbit/s which
    /// were found so many seconds ago, after a first round trip of so many milliseconds.
    fn begun(age: u64, handshake: u64) -> (f64, u64) {
        let rate = Rate::from_bits_per_sec(8_000_000);
        let memory = Memory::found(NOW, rate, ROUND_TRIP, Duration::from_secs(age));
        let mut estimate = Estimate::beginning_with(memory);
        assert_eq!(estimate.window() as f64, START, "nothing has been checked");
        assert_eq!(estimate.rate().map(Rate::bits_per_sec), Some(4_000_000));
        estimate.on_handshake(NOW, handshake as f64 / 1e3);
        let window = estimate.window() as f64;
        (window, (estimate.rate().unwrap().bits_per_sec() + 50_000) / 100_000)
    }

    #[test]
    fn nine_tenths_are_begun_with_and_half_where_it_is_old() {
        let filling = 8e6 / 8.0 / WIRE * 0.5;
        let rows = [(1, 500, 0.9, 72), (599, 690, 0.9, 72), (601, 500, 0.5, 40)];
        for (age, handshake, part, rate) in rows {
            let begun = begun(age, handshake);
            assert!((begun.0 / (filling * part) - 1.0).abs() < 0.02, "{age} {handshake} {begun:?}");
            assert_eq!(begun.1, rate, "{age} {handshake}");
        }
        // Another path's: what comes back has to show it.
        for handshake in [40, 390, 900] {
            assert_eq!(begun(1, handshake), (START, 40));
        }
    }

    #[test]
    fn a_guess_is_begun_with_at_once_if_its_round_trip_is_known() {
        let rate = Rate::from_bits_per_sec(8_000_000);
        let known = Estimate::beginning_with(Memory::guess(rate, Some(ROUND_TRIP)));
        let unknown = Estimate::beginning_with(Memory::guess(rate, None));
        assert_eq!(known.window(), 434_400);
        assert_eq!(unknown.window() as f64, START);
        assert_eq!(unknown.to_remember(NOW), None, "an operator says it");
    }

    #[test]
    fn a_path_that_is_another_one_gets_half() {
        let rate = Rate::from_bits_per_sec(80_000_000);
        let memory = Memory::found(NOW, rate, ROUND_TRIP, Duration::ZERO);
        let mut estimate = Estimate::beginning_with(memory);
        let expected = 80e6 / 8.0 / WIRE * 0.5 * 0.042;
        estimate.begin_by_memory(NOW, 0.04);
        let window = estimate.window() as f64;
        assert!((window / expected - 1.0).abs() < 0.01, "{window}");
    }
}

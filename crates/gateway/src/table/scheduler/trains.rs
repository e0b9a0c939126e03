//! The rate that trains of segments show by the clock of their receiver.
//!
//! Segments that leave at once are as far apart behind a link as the link makes them (Jacobson,
//! 1988). Carter and Crovella (1996) measure paths by such trains. A part of a train shows the
//! link's rate if it took twice as long to arrive as to leave, at least. Otherwise it shows its
//! sender's.
//!
//! A busy receiver sees several segments at one moment, and some links send them so. Therefore
//! several parts are read, and the lower of those in the middle counts; half of it, unless they
//! agree and are independent.

use crate::announce::{Arrivals, Identity, Report};
use bentpipe_core::time::Instant;
use std::collections::VecDeque;

/// Reports that are kept.
const KEPT: usize = 64;

/// A part shows a rate if it has so many bytes, and took so long, in seconds.
const MIN_BYTES: f64 = 4.0 * 1_400.0;
const MIN_SPAN: f64 = 0.000_05;

/// What took so many times as long to arrive as to leave was held up by the link.
const HELD_UP: f64 = 2.0;

/// Parts agree that differ by no more than this factor.
const AGREES: f64 = 1.25;

/// Parts are independent if the first one and the last one left so far apart, in seconds; or if
/// each took as long to come, as on a slow link.
const APART: f64 = 0.05;

/// What is not told so soon, in microseconds, is of another train.
const MAX_SPAN: u32 = 10_000_000;

/// What trains show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shown {
    /// In bytes a second.
    pub(super) rate: f64,
    /// What may turn out to be the rate.
    pub(super) perhaps: f64,
}

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Trains {
    /// Who reports, and which count.
    of: Option<(Identity, u8)>,
    reports: VecDeque<Reported>,
}

/// What had arrived when, and when the last of that had left, as far as is known.
#[derive(Debug, Clone, Copy)]
struct Reported {
    arrivals: Arrivals,
    left: Option<Instant>,
}

impl Trains {
    /// A peer may have reported what has arrived. The last of that had `left` then.
    pub(super) fn on_report(&mut self, report: Report, left: Option<Instant>) {
        let Some(arrivals) = report.arrivals else { return };
        let of = Some((report.identity, arrivals.count));
        if std::mem::replace(&mut self.of, of) != of {
            self.reports.clear();
        }
        let reported = Reported { arrivals, left };
        match self.reports.back().map(|last| last.until(&reported)) {
            Some((_, Some(0))) => return,
            None | Some((..=MAX_SPAN, Some(_))) => {}
            // Of long ago, or reports have overtaken each other.
            Some(_) => self.reports.clear(),
        }
        if self.reports.len() == KEPT {
            self.reports.pop_front();
        }
        self.reports.push_back(reported);
    }

    /// The rate that the trains show; None, as long as they show none.
    pub(super) fn shown(&self) -> Option<Shown> {
        let parts = self.parts();
        let mut held_up: Vec<&Part> = parts.iter().filter(|part| part.is_held_up()).collect();
        let (first, last) = (held_up.first()?, held_up.last()?);
        let left_apart = last.left.saturating_since(first.left).as_secs_f64() > APART;
        held_up.sort_by(|a, b| a.rate().total_cmp(&b.rate()));
        let of = |quarter: usize| held_up[(held_up.len() - 1) * quarter / 4].rate();
        let agree = |low: usize, high: usize| of(high) <= of(low) * AGREES;
        let slow = held_up.len() > 1 && held_up.iter().all(|part| part.took > APART);
        let is_clear = left_apart && agree(1, 3) || slow && agree(0, 4);
        Some(Shown { rate: if is_clear { of(2) } else { of(2) / 2.0 }, perhaps: of(2) })
    }

    /// The best rate of a part, in bytes a second, whatever it shows.
    pub(super) fn fastest(&self) -> Option<f64> {
        self.parts().iter().map(Part::rate).max_by(f64::total_cmp)
    }

    /// Parts of trains: each is as short as it can be. Where the sender has paused, they overlap.
    fn parts(&self) -> Vec<Part> {
        let (mut parts, mut begin) = (Vec::new(), 0);
        while let Some(first) = self.reports.get(begin) {
            let rest = self.reports.iter().enumerate().skip(begin + 1);
            let Some((end, part)) = { rest }.find_map(|(end, last)| Some((end, first.part(last)?)))
            else {
                break;
            };
            begin = if part.is_held_up() { end } else { begin + 1 };
            parts.push(part);
        }
        parts
    }
}

impl Reported {
    /// Microseconds and bytes from this report to a later one.
    fn until(&self, last: &Reported) -> (u32, Option<u64>) {
        let [first, last] = [&self.arrivals, &last.arrivals];
        (last.micros.wrapping_sub(first.micros), last.bytes.since(first.bytes))
    }

    /// The part from this report to a later one, if that shows a rate.
    fn part(&self, last: &Reported) -> Option<Part> {
        let (micros, bytes) = self.until(last);
        let (took, bytes) = (f64::from(micros) / 1e6, bytes? as f64);
        let left = self.left.unwrap_or(Instant::ZERO);
        let leaving = last.left.unwrap_or(left).saturating_since(left).as_secs_f64();
        (bytes >= MIN_BYTES && took >= MIN_SPAN).then_some(Part { bytes, took, leaving, left })
    }
}

/// A part of a train, in bytes and seconds.
struct Part {
    bytes: f64,
    /// From its first arrival to its last.
    took: f64,
    /// The same of its departures, and when the first one was.
    leaving: f64,
    left: Instant,
}

impl Part {
    fn rate(&self) -> f64 {
        self.bytes / self.took
    }

    /// The link has held it up.
    fn is_held_up(&self) -> bool {
        self.took >= HELD_UP * self.leaving
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announce::ByteCount;
    use bentpipe_core::time::Duration;

    fn report(micros: u32, bytes: u64) -> Report {
        let arrivals = Some(Arrivals { count: 1, micros, bytes: ByteCount::of(bytes) });
        Report::of(Identity::OF_CARRIER).with(arrivals)
    }

    /// Ten segments leave at once, `apart` milliseconds after those before. Of each train two come
    /// every so many microseconds.
    fn trains(apart: u64, trains: &[[u32; 5]]) -> Trains {
        let mut read = Trains::default();
        let (began, mut bytes) = (u32::MAX - 2_000, (1 << 28) - 10_000);
        for (number, train) in trains.iter().enumerate() {
            let left = number as u64 * apart;
            let mut micros = began.wrapping_add(left as u32 * 1_000);
            for interval in train {
                (micros, bytes) = (micros.wrapping_add(*interval), bytes + 2 * 1_448);
                read.on_report(report(micros, bytes), Some(Instant::from_millis(left)));
            }
        }
        read
    }

    /// What is shown, in Mbit/s of payload, and whether it is clear.
    fn shown(apart: u64, all: &[[u32; 5]]) -> Option<(u64, bool)> {
        let Shown { rate, perhaps } = trains(apart, all).shown()?;
        Some(((rate * 8.0 / 1e6).round() as u64, rate == perhaps))
    }

    #[test]
    fn several_trains_show_the_rate_and_one_shows_half_of_it() {
        assert_eq!(shown(100, &[[1_000; 5]]), Some((12, false)));
        assert_eq!(shown(100, &[[1_000; 5]; 2]), Some((23, true)));
        assert_eq!(shown(100, &[[100; 5]; 5]), Some((232, true)));
        assert_eq!(Trains::default().shown(), None);
    }

    /// On 256 kbit/s a train of ten takes half a second.
    #[test]
    fn one_train_that_comes_slowly_shows_the_rate() {
        let mut slow = trains(100, &[[94_000; 5]]);
        let Shown { rate, perhaps } = slow.shown().unwrap();
        assert_eq!(((rate * 8.0 / 1e3).round(), rate == perhaps), (246.0, true));
        // But not if its parts do not agree.
        slow = trains(100, &[[94_000, 94_000, 94_000, 40_000, 40_000]]);
        let Shown { rate, perhaps } = slow.shown().unwrap();
        assert!(rate < perhaps);
    }

    #[test]
    fn a_train_that_is_seen_at_one_moment_shows_nothing() {
        let at_once = [5_000, 20, 20, 30, 40];
        assert_eq!(shown(100, &[[1_000; 5], at_once, [1_000; 5]]), Some((23, true)));
        assert_eq!(shown(100, &[at_once, [1_000; 5], at_once]), Some((12, false)));
    }

    #[test]
    fn what_leaves_no_faster_than_it_arrives_shows_nothing_of_the_link() {
        let mut slow = Trains::default();
        for millis in 1..30 {
            slow.on_report(
                report(millis * 1_000, u64::from(millis) * 1_448),
                Some(Instant::from_millis(millis.into())),
            );
        }
        assert_eq!(slow.shown(), None);
        assert_eq!((slow.fastest().unwrap() / 1_448.0).round(), 1_000.0);
        // Sixteen that left one by one are seen at one moment.
        let mut late = Trains::default();
        for millis in 0..16 {
            let left = Instant::ZERO + Duration::from_millis(millis);
            late.on_report(report(20_000 + 40 * millis as u32, millis * 1_448), Some(left));
        }
        assert_eq!(late.shown(), None);
    }

    #[test]
    fn what_another_clock_or_one_long_ago_has_told_is_forgotten() {
        let mut trains = Trains::default();
        let mut kept = |micros: u32, segments: u64| {
            trains.on_report(report(micros, segments * 1_440), None);
            trains.reports.len()
        };
        assert_eq!([kept(1_000, 10), kept(2_000, 10), kept(3_000, 20)], [1, 1, 2]);
        assert_eq!([kept(4_000, 15), kept(5_000, 20)], [1, 2], "fewer have come");
        assert_eq!(kept(4_000, 30), 1, "sooner");
        assert_eq!(kept(70_000_000, 40), 1);
        assert_eq!((1..100).map(|n| kept(70_001_000 + n as u32, 100 + n)).last(), Some(KEPT));
        let other =
            Report::of(Identity::new(7).unwrap()).with(report(71_000_000, 1 << 20).arrivals);
        trains.on_report(other, None);
        assert_eq!(trains.reports.len(), 1);
        trains.on_report(report(0, 0).with(None), None);
        assert_eq!(trains.reports.len(), 1);
    }
}

//! The time of segments to a peer, by its clock.
//!
//! The queue that their acknowledgments meet is not in it.
//! The clocks do not agree. So only how much longer a segment takes than another one is known. They
//! also drift, by some milliseconds in a minute, in which the minimum is forgotten. A departure
//! from the round trips by more than that and a queue on the way back is not believed. It may be
//! one report, as of a machine that stood still, or the clock.

use super::minimum::Minimum;
use crate::announce::{Identity, Report};
use bentpipe_core::time::{Duration, Instant};

/// What the way back may take longer or less than with the first segment, in seconds, and how much
/// faster or slower than ours a clock may run.
const PLAUSIBLE_BACK: f64 = 1.0;
const PLAUSIBLE_DRIFT: f64 = 0.000_5;

/// For so long reports may be wrong until it is the first one that is.
const WRONG_FOR: Duration = Duration::from_secs(10);

/// The first segment of which it was reported when it arrived.
#[derive(Debug, Clone, Copy)]
struct First {
    of: Identity,
    /// What its clock shows beyond ours, in microseconds that wrap.
    shown: u32,
    at: Instant,
    rtt: f64,
}

/// See the module's head. Times are in seconds.
#[derive(Debug, Default)]
pub(super) struct OneWay {
    first: Option<First>,
    /// There are several clocks, or none that can be one.
    doubtful: bool,
    /// The latest reports cannot be right, since this moment.
    wrong: Option<Instant>,
    /// The first one was not, so that another one has taken its place.
    corrected: bool,
    least: Minimum,
}

impl OneWay {
    /// How much longer than the first one a segment has taken that left `rtt` ago, and whose
    /// arrival is reported now. None, if that cannot be known.
    pub(super) fn on_report(&mut self, now: Instant, rtt: f64, report: Report) -> Option<f64> {
        let arrivals = report.arrivals?;
        let left = now - Duration::from_secs_f64(rtt);
        let shown = arrivals.micros.wrapping_sub((left.as_nanos() / 1_000) as u32);
        let first = First { of: report.identity, shown, at: now, rtt };
        let first = *self.first.get_or_insert(first);
        let longer = f64::from(shown.wrapping_sub(first.shown).cast_signed()) / 1e6;
        let (back, since) = (rtt - first.rtt - longer, now.saturating_since(first.at));
        self.doubtful |= report.identity != first.of;
        let is_wrong = back.abs() > PLAUSIBLE_BACK + PLAUSIBLE_DRIFT * since.as_secs_f64();
        if self.doubtful || is_wrong {
            return self.doubt(now);
        }
        self.wrong = None;
        self.least.take(now, longer, rtt);
        Some(longer)
    }

    /// A report cannot be right: it, or the first one, was held up. Only if that stays so after
    /// another first one, it is the clock.
    fn doubt(&mut self, now: Instant) -> Option<f64> {
        let since = *self.wrong.get_or_insert(now);
        if now.saturating_since(since) >= WRONG_FOR {
            if self.corrected {
                self.doubtful = true;
            } else {
                *self = OneWay { doubtful: self.doubtful, corrected: true, ..OneWay::default() };
            }
        }
        None
    }

    /// The least of them of late.
    pub(super) fn least(&self) -> Option<f64> {
        self.least.get().filter(|_| !self.doubtful && self.wrong.is_none())
    }

    /// The way takes this much longer than the least.
    pub(super) fn lengthen(&mut self, now: Instant, longer: f64) {
        if let Some(least) = self.least.get() {
            self.least.replace(now, least + longer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announce::{Arrivals, ByteCount};

    /// A segment left at `left` and took `way`, its acknowledgment `back`, all in milliseconds. The
    /// peer's clock is about to wrap.
    fn report(way: &mut OneWay, identity: u32, left: u64, [there, back]: [u64; 2]) -> Option<f64> {
        let micros = ((left + there) as u32 * 1_000).wrapping_sub(5_000_000);
        let arrivals = Some(Arrivals { count: 0, micros, bytes: ByteCount::of(0) });
        let now = Instant::from_millis(left + there + back);
        let rtt = Duration::from_millis(there + back).as_secs_f64();
        let report = Report::of(Identity::new(identity).unwrap()).with(arrivals);
        way.on_report(now, rtt, report).map(|longer| (longer * 1e3).round())
    }

    #[test]
    fn the_way_back_does_not_count() {
        let mut way = OneWay::default();
        assert_eq!(report(&mut way, 1, 3_000, [300, 300]), Some(0.0));
        assert_eq!(report(&mut way, 1, 4_000, [300, 900]), Some(0.0));
        assert_eq!(report(&mut way, 1, 6_000, [320, 300]), Some(20.0));
        assert_eq!(report(&mut way, 1, 7_000, [290, 400]), Some(-10.0));
        assert_eq!(way.least(), Some(-0.01));
        way.lengthen(Instant::from_millis(8_000), 0.03);
        assert_eq!(way.least().map(|longer| (longer * 1e3).round()), Some(20.0));
        assert_eq!(report(&mut way, 2, 9_000, [300, 300]), None, "another clock");
        assert_eq!((report(&mut way, 1, 9_100, [300, 300]), way.least()), (None, None));
    }

    #[test]
    fn a_clock_that_cannot_be_one_is_not_believed() {
        // In a minute it is so many microseconds ahead or behind.
        let is_believed = |ahead: i64| {
            let mut way = OneWay::default();
            let mut believed = true;
            for left in (0..60_000).step_by(100) {
                let micros = (left as i64 * 1_000 + left as i64 * ahead / 60_000) as u32;
                let arrivals = Some(Arrivals { count: 0, micros, bytes: ByteCount::of(0) });
                let report = Report::of(Identity::OF_CARRIER).with(arrivals);
                believed &= way.on_report(Instant::from_millis(left + 500), 0.5, report).is_some();
            }
            assert_eq!(way.least().is_some(), believed);
            believed
        };
        assert!([0, 30_000, -30_000].into_iter().all(is_believed));
        assert!([1_100_000, -1_100_000, 30_000_000].into_iter().all(|ahead| !is_believed(ahead)));
        // It is not corrected again and again.
        assert!(!is_believed(20_000_000));
        // Half a second more on the way back is a queue there.
        let mut way = OneWay::default();
        assert_eq!(report(&mut way, 7, 0, [250, 250]), Some(0.0));
        assert_eq!(report(&mut way, 7, 1_000, [250, 750]), Some(0.0));
    }

    #[test]
    fn a_report_that_was_held_up_ends_nothing() {
        let mut way = OneWay::default();
        assert_eq!(report(&mut way, 1, 3_000, [300, 300]), Some(0.0));
        assert_eq!(report(&mut way, 1, 4_000, [300, 2_300]), None);
        assert_eq!(report(&mut way, 1, 7_000, [310, 300]), Some(10.0));
        assert_eq!(way.least(), Some(0.0));
    }

    #[test]
    fn if_the_first_report_was_held_up_another_one_takes_its_place() {
        let mut way = OneWay::default();
        assert_eq!(report(&mut way, 1, 3_000, [300, 1_500]), Some(0.0));
        let mut after = (5..30).map(|second| report(&mut way, 1, second * 1_000, [300, 300]));
        assert_eq!(after.position(|longer| longer == Some(0.0)), Some(11));
    }
}

//! The time of segments to a peer, by its clock.
//!
//! The queue that their acknowledgments meet is not in it.
//! The clocks do not agree. So only how much longer a segment takes than another one is known. They
//! also drift, by some milliseconds in a minute, in which the minimum is forgotten.

use super::minimum::Minimum;
use crate::announce::{Identity, Report};
use bentpipe_core::time::{Duration, Instant};

/// See the module's head. Times are in seconds.
#[derive(Debug, Default)]
pub(super) struct OneWay {
    /// By whose clock, and what it shows beyond ours for the segment that was first, in
    /// microseconds that wrap.
    clock: Option<(Identity, u32)>,
    /// There are several clocks.
    several: bool,
    least: Minimum,
}

impl OneWay {
    /// How much longer than the first one a segment has taken that left `rtt` ago, and whose
    /// arrival is reported now. None, if that cannot be known.
    pub(super) fn on_report(&mut self, now: Instant, rtt: f64, report: Report) -> Option<f64> {
        let arrivals = report.arrivals?;
        let left = now - Duration::from_secs_f64(rtt);
        let shown = arrivals.micros.wrapping_sub((left.as_nanos() / 1_000) as u32);
        let (of, first) = *self.clock.get_or_insert((report.identity, shown));
        self.several |= of != report.identity;
        if self.several {
            return None;
        }
        let longer = f64::from(shown.wrapping_sub(first).cast_signed()) / 1e6;
        self.least.take(now, longer, rtt);
        Some(longer)
    }

    /// The least of them of late.
    pub(super) fn least(&self) -> Option<f64> {
        self.least.get().filter(|_| !self.several)
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
}

//! When the last bit of each packet leaves a line, exactly, at a rate that may change meanwhile.
//!
//! A packet of *n* bytes ends when the integral of the rate since it began has reached 8·*n* bits.
//! In units of a bit per second times a nanosecond (10⁹ to the bit) all of that is whole numbers:
//! rates are whole bits a second and change at whole nanoseconds. So a busy period accumulates no
//! rounding error, however many packets and rates it has; only what is reported, the end of each
//! packet, is rounded, up to the nanosecond.

use super::schedule::{After, Timeline, Varying};
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// Work of one byte: bit/s × ns.
const WORK_PER_BYTE: u64 = 8_000_000_000;

/// How far a line has got.
#[derive(Debug, Clone)]
pub(super) struct Serialiser {
    rate: Timeline<Rate>,
    /// The work of one period of a rate that repeats.
    period: Option<(u128, Duration)>,
    /// All is sent up to somewhere in the nanosecond that begins here …
    at: Instant,
    /// … namely up to this much work, less than the rate, within it.
    done: u64,
    last: Divided,
}

/// The time of the last packet's length on its own: packets of one length come in rows, and a
/// division costs more than all else here.
#[derive(Debug, Clone)]
struct Divided {
    bytes: u64,
    rate: u64,
    whole: u64,
    rest: u64,
}

/// Two remainders of this rate still fit into their sum.
const MAX: u64 = u64::MAX / 2;

impl Serialiser {
    pub(super) fn new(rate: Varying<Rate>) -> Serialiser {
        let period = match &rate {
            Varying::Scheduled(schedule) => match schedule.after() {
                After::Repeat(period) => Some((work_of_period(schedule), period)),
                After::Hold => None,
            },
            Varying::Constant(_) => None,
        };
        let last = Divided { bytes: 0, rate: u64::MAX, whole: 0, rest: 0 };
        Serialiser { rate: Timeline::new(rate), period, at: Instant::ZERO, done: 0, last }
    }

    /// A busy period begins at `now`.
    pub(super) fn restart(&mut self, now: Instant) {
        self.at = now;
        self.done = 0;
    }

    /// Sends `bytes` right behind what was sent before; when the last bit has left, rounded up.
    #[inline]
    pub(super) fn send(&mut self, bytes: u64) -> Instant {
        let rate = self.rate.at(self.at).bits_per_sec();
        if (self.last.bytes, self.last.rate) != (bytes, rate) {
            match (bytes.checked_mul(WORK_PER_BYTE), rate) {
                (Some(work), 1..=MAX) => {
                    self.last = Divided { bytes, rate, whole: work / rate, rest: work % rate };
                }
                _ => return self.send_through_changes(bytes),
            }
        }
        let done = self.done + self.last.rest;
        let (carry, done) = if done >= rate { (1, done - rate) } else { (0, done) };
        let end = self.at.as_nanos().checked_add(self.last.whole + carry).map(Instant::from_nanos);
        if let Some(end) = end.filter(|&end| end < self.rate.until()) {
            self.at = end;
            self.done = done;
            return self.reported();
        }
        self.send_through_changes(bytes)
    }

    /// As [`send`](Serialiser::send), when the rate changes before the end, or has no end.
    #[cold]
    fn send_through_changes(&mut self, bytes: u64) -> Instant {
        let mut work = u128::from(bytes) * u128::from(WORK_PER_BYTE);
        if let Some((of_period, period)) = self.period.filter(|(of_period, _)| *of_period > 0) {
            // Whole periods at once. The last one is walked: its end may lie before its last step.
            let periods = work.saturating_sub(1) / of_period;
            let nanos = u64::try_from(periods.saturating_mul(period.as_nanos()));
            let Ok(nanos) = nanos else { return self.never() };
            work -= periods * of_period;
            self.skip(Duration::from_nanos(nanos));
        } else if self.period.is_some() {
            return self.never();
        }
        loop {
            let rate = u128::from(self.rate.at(self.at).bits_per_sec());
            let until = self.rate.until();
            let span = u128::from(until.as_nanos() - self.at.as_nanos());
            let capacity = (span * rate).saturating_sub(u128::from(self.done));
            if rate > 0 && (work <= capacity || until == Instant::FAR_FUTURE) {
                let total = work + u128::from(self.done);
                let Ok(whole) = u64::try_from(total / rate) else { return self.never() };
                self.at += Duration::from_nanos(whole);
                // Less than the rate.
                self.done = (total % rate) as u64;
                return self.reported();
            }
            if until == Instant::FAR_FUTURE {
                return self.never();
            }
            work -= capacity;
            self.at = until;
            self.done = 0;
        }
    }

    /// Moves on by whole periods, at whose end the rate is what it is now.
    fn skip(&mut self, periods: Duration) {
        self.at += periods;
    }

    fn reported(&self) -> Instant {
        self.at + Duration::from_nanos(u64::from(self.done > 0))
    }

    fn never(&mut self) -> Instant {
        self.at = Instant::FAR_FUTURE;
        self.done = 0;
        self.at
    }
}

fn work_of_period(schedule: &super::Schedule<Rate>) -> u128 {
    let work = |(rate, span): (&Rate, Option<Duration>)| {
        u128::from(rate.bits_per_sec()) * span.map_or(0, |span| span.as_nanos())
    };
    schedule.spans().map(work).sum()
}

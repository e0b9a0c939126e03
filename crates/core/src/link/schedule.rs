//! Quantities that change over time: step functions, as traces of rate, delay and loss give them.

use crate::time::{Duration, Instant};
use crate::units::Rate;
use std::sync::Arc;

/// A step function of the time since the run began.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule<T> {
    /// From each moment on this value; the first at zero, the moments increasing.
    steps: Vec<(Duration, T)>,
    after: After,
}

/// What a [`Schedule`] does behind its last step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// Its value lasts for ever.
    Hold,
    /// All begins anew when this time has passed, and again and again.
    Repeat(Duration),
}

/// Why steps make no [`Schedule`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// There is no value for the beginning.
    #[error("the first step of a schedule must be at 0s, so that there is a value from the start")]
    Start,
    /// A step is not later than the one before it.
    #[error("the steps of a schedule must be in order: {0:?} does not follow {1:?}")]
    Order(Duration, Duration),
    /// The period ends before its last step begins.
    #[error("a period of {period:?} ends before its last step, at {last:?}, begins")]
    Period {
        /// The period that was asked for.
        period: Duration,
        /// When the last step begins.
        last: Duration,
    },
}

impl<T> Schedule<T> {
    /// The function that has each value of `steps` from its moment on.
    ///
    /// # Errors
    /// [`ScheduleError`].
    pub fn new(steps: Vec<(Duration, T)>, after: After) -> Result<Schedule<T>, ScheduleError> {
        let last = match (steps.first(), steps.last()) {
            (Some((first, _)), Some((last, _))) if first.is_zero() => *last,
            _ => return Err(ScheduleError::Start),
        };
        if let Some(pair) = steps.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
            return Err(ScheduleError::Order(pair[1].0, pair[0].0));
        }
        match after {
            After::Repeat(period) if period <= last => Err(ScheduleError::Period { period, last }),
            _ => Ok(Schedule { steps, after }),
        }
    }

    /// The steps, each with the moment from which on it holds.
    pub fn steps(&self) -> &[(Duration, T)] {
        &self.steps
    }

    /// What comes behind the last step.
    pub fn after(&self) -> After {
        self.after
    }

    /// Each value and how long it lasts within one period; `None` for the last, if it is held.
    pub(super) fn spans(&self) -> impl Iterator<Item = (&T, Option<Duration>)> {
        let end = match self.after {
            After::Hold => None,
            After::Repeat(period) => Some(period),
        };
        let ends = self.steps[1..].iter().map(|(at, _)| Some(*at)).chain([end]);
        self.steps.iter().zip(ends).map(|((at, value), end)| (value, end.map(|end| end - *at)))
    }

    /// The step that holds at `now`: its number, and when its period began.
    fn find(&self, now: Instant) -> (usize, Instant) {
        let since_zero = now.saturating_since(Instant::ZERO);
        let base = match self.after {
            After::Hold => Duration::ZERO,
            After::Repeat(period) => {
                let periods = since_zero.as_nanos() / period.as_nanos();
                // Not more than `since_zero`, which fits.
                Duration::from_nanos((periods * period.as_nanos()) as u64)
            }
        };
        let within = since_zero - base;
        let later = self.steps.partition_point(|(at, _)| *at <= within);
        (later - 1, Instant::ZERO + base)
    }
}

/// A value that is the same always, or that follows a [`Schedule`].
#[derive(Debug, Clone, PartialEq)]
pub enum Varying<T> {
    /// Always this.
    Constant(T),
    /// As the schedule says.
    Scheduled(Arc<Schedule<T>>),
}

impl<T> From<T> for Varying<T> {
    fn from(value: T) -> Varying<T> {
        Varying::Constant(value)
    }
}

impl<T> From<Schedule<T>> for Varying<T> {
    fn from(schedule: Schedule<T>) -> Varying<T> {
        Varying::Scheduled(Arc::new(schedule))
    }
}

impl<T: Copy> Varying<T> {
    /// The value at `now`.
    pub fn at(&self, now: Instant) -> T {
        match self {
            Varying::Constant(value) => *value,
            Varying::Scheduled(schedule) => schedule.steps[schedule.find(now).0].1,
        }
    }

    /// The greatest value that it ever has.
    pub fn greatest(&self) -> T
    where
        T: PartialOrd,
    {
        match self {
            Varying::Constant(value) => *value,
            Varying::Scheduled(schedule) => {
                let (first, later) = (schedule.steps[0].1, &schedule.steps[1..]);
                later.iter().fold(first, |max, (_, value)| if *value > max { *value } else { max })
            }
        }
    }
}

impl Varying<Rate> {
    /// The bytes that a line of this rate can send between two moments.
    pub fn bytes_between(&self, from: Instant, to: Instant) -> f64 {
        let span = to.saturating_since(from);
        let schedule = match self {
            Varying::Constant(rate) => return rate.bytes_in(span) as f64,
            Varying::Scheduled(schedule) => schedule,
        };
        let walk = |from: Instant, to: Instant| {
            let mut timeline = Timeline::new(self.clone());
            let (mut at, mut work) = (from, 0.0);
            while at < to {
                let rate = timeline.at(at).bits_per_sec() as f64;
                let until = timeline.until().min(to);
                work += rate * until.saturating_since(at).as_secs_f64();
                at = until;
            }
            work / 8.0
        };
        let After::Repeat(period) = schedule.after() else { return walk(from, to) };
        // Whole periods, wherever they begin, are alike.
        let periods = span.as_nanos() / period.as_nanos();
        let rest = span - Duration::from_nanos((periods * period.as_nanos()) as u64);
        let one = if periods > 0 { walk(from, from + period) } else { 0.0 };
        periods as f64 * one + walk(from, from + rest)
    }
}

/// A [`Varying`] that is read forwards in time: as long as the value lasts, reading it is one
/// comparison.
#[derive(Debug, Clone)]
pub(super) struct Timeline<T> {
    varying: Varying<T>,
    value: T,
    until: Instant,
}

impl<T: Copy> Timeline<T> {
    pub(super) fn new(varying: Varying<T>) -> Timeline<T> {
        let mut timeline =
            Timeline { value: varying.at(Instant::ZERO), until: Instant::FAR_FUTURE, varying };
        timeline.seek(Instant::ZERO);
        timeline
    }

    /// The value at `now`, which never goes backwards.
    #[inline]
    pub(super) fn at(&mut self, now: Instant) -> T {
        if now >= self.until {
            self.seek(now);
        }
        self.value
    }

    /// Until when the value last read lasts; [`Instant::FAR_FUTURE`] for ever.
    #[inline]
    pub(super) fn until(&self) -> Instant {
        self.until
    }

    /// The value at `later`, not before the moment last read.
    #[inline]
    pub(super) fn peek(&self, later: Instant) -> T {
        if later < self.until { self.value } else { self.varying.at(later) }
    }

    #[cold]
    fn seek(&mut self, now: Instant) {
        let Varying::Scheduled(schedule) = &self.varying else { return };
        let (index, base) = schedule.find(now);
        self.value = schedule.steps[index].1;
        self.until = match (schedule.steps.get(index + 1), schedule.after) {
            (Some((at, _)), _) => base + *at,
            (None, After::Repeat(period)) => base + period,
            (None, After::Hold) => Instant::FAR_FUTURE,
        };
    }
}

//! The values of a link's direction that change over time.
//!
//! They have least, mean and greatest, and means of columns for a graph.

use crate::DirectionSpec;
use bentpipe_core::link::{After, LossKind, Varying};
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Probability, Rate};

/// A quantity over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// The quantity, as a trace's column names it.
    pub name: &'static str,
    /// Of its values; none of a probability.
    pub unit: &'static str,
    /// Values, and how long each lasts, in seconds.
    ///
    /// The last one lasts for as long as the trace says, which may be no time.
    pub steps: Vec<(f64, f64)>,
}

/// Lists what changes over time in `direction`: of rate, delay, loss and bit errors.
#[must_use]
pub fn timelines(direction: &DirectionSpec) -> Vec<Timeline> {
    let mut timelines = Vec::new();
    let rate = |rate: Rate| rate.bits_per_sec() as f64 / 1e6;
    timelines.extend(direction.rate.as_ref().and_then(|of| read("rate", "Mbit/s", of, rate)));
    timelines
        .extend(read("delay", "ms", &direction.delay, |delay: Duration| delay.as_secs_f64() * 1e3));
    let percent = |loss: Probability| loss.value() * 100.0;
    if let LossKind::Independent(loss) = &direction.loss {
        timelines.extend(read("loss", "%", loss, percent));
    }
    timelines.extend(read("bit-errors", "", &direction.bit_errors, Probability::value));
    timelines
}

/// What changes over time; None of what does not.
fn read<T: Copy>(
    name: &'static str,
    unit: &'static str,
    of: &Varying<T>,
    number: impl Fn(T) -> f64,
) -> Option<Timeline> {
    let Varying::Scheduled(schedule) = of else { return None };
    let steps = schedule.steps();
    let end = match schedule.after() {
        After::Repeat(period) => period,
        After::Hold => steps.last()?.0,
    };
    let until = steps.iter().skip(1).map(|(at, _)| *at).chain([end]);
    let lasts = |(at, until): (Duration, Duration)| until.saturating_sub(at).as_secs_f64();
    let steps =
        steps.iter().zip(until).map(|((at, value), until)| (number(*value), lasts((*at, until))));
    Some(Timeline { name, unit, steps: steps.collect() })
}

impl Timeline {
    /// Its length in seconds, to the nanosecond: sums of floats are a little off.
    #[must_use]
    pub fn duration(&self) -> f64 {
        let sum: f64 = self.steps.iter().map(|(_, lasts)| lasts).sum();
        (sum * 1e9).round() / 1e9
    }

    /// The least value, the mean over time, and the greatest.
    #[must_use]
    pub fn range(&self) -> (f64, f64, f64) {
        let values = || self.steps.iter().map(|(value, _)| *value);
        let (min, max) =
            (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        let sum: f64 = self.steps.iter().map(|(value, lasts)| value * lasts).sum();
        let duration = self.duration();
        // A single value that holds has no length.
        (min, if duration > 0.0 { sum / duration } else { min }, max)
    }

    /// The mean in each of `count` columns of `duration` seconds; `None` behind the end.
    #[must_use]
    pub fn columns(&self, count: u32, duration: f64) -> Vec<Option<f64>> {
        let width = duration / f64::from(count);
        let mut sums = vec![(0.0, 0.0); count as usize];
        let mut at = 0.0;
        for (value, lasts) in &self.steps {
            let end = at + lasts;
            let (first, last) = ((at / width) as usize, (end / width) as usize);
            for (column, sum) in sums.iter_mut().enumerate().take(last + 1).skip(first) {
                let from = (column as f64 * width).max(at);
                let part = ((column + 1) as f64 * width).min(end) - from;
                if part > 0.0 {
                    sum.0 += value * part;
                    sum.1 += part;
                }
            }
            at = end;
        }
        sums.into_iter().map(|(sum, part)| (part > 0.0).then(|| sum / part)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_over_time() {
        let steps = vec![(1.0, 3.0), (5.0, 1.0), (9.0, 0.0)];
        let timeline = Timeline { name: "rate", unit: "Mbit/s", steps };
        assert_eq!(timeline.range(), (1.0, 2.0, 9.0));
        let means = timeline.columns(8, timeline.duration());
        assert_eq!(means, [[Some(1.0); 6].as_slice(), &[Some(5.0); 2]].concat());
        let steps = vec![(1.0, 0.1); 1400];
        assert_eq!(Timeline { name: "delay", unit: "ms", steps }.duration(), 140.0);
        let one = Timeline { name: "delay", unit: "ms", steps: vec![(4.0, 0.0)] };
        assert_eq!(one.range(), (4.0, 4.0, 4.0));
    }
}

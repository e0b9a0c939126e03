//! From values to places on an axis.

use super::ticks::step;

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// Equal distances are equal differences.
    Linear {
        /// The first value.
        from: f64,
        /// The last one, which is greater.
        to: f64,
    },
    /// Equal distances are equal ratios.
    Log {
        /// The first value, which is positive.
        from: f64,
        /// The last one, which is greater.
        to: f64,
    },
    /// So many things side by side, numbered from zero.
    Categories(usize),
}

/// The bounds of the ends of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Limits {
    /// Logarithmic.
    pub log: bool,
    /// Zero is to be on it, if it is linear.
    pub zero: bool,
    /// Ends lie on ticks; otherwise they are a little beyond the data.
    pub nice: bool,
    /// The first value, whatever the data.
    pub from: Option<f64>,
    /// The last value, whatever the data.
    pub to: Option<f64>,
}

impl Scale {
    /// An axis on which all of `values` have a place. On a logarithmic one only positive values do.
    pub fn fit(values: impl IntoIterator<Item = f64>, limits: Limits) -> Scale {
        let sound = |value: &f64| value.is_finite() && (!limits.log || *value > 0.0);
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.into_iter().filter(sound) {
            (min, max) = (min.min(value), max.max(value));
        }
        if min > max {
            (min, max) = if limits.log { (1.0, 10.0) } else { (0.0, 1.0) };
        }
        let scale = if limits.log { log(min, max, limits) } else { linear(min, max, limits) };
        scale.with_ends(limits.from, limits.to)
    }

    /// The place of `value`: 0 at the axis' beginning, 1 at its end. `None` if it has no place on
    /// any part of it.
    pub fn place(self, value: f64) -> Option<f64> {
        let place = match self {
            Scale::Linear { from, to } => (value - from) / (to - from),
            Scale::Log { from, to } if value > 0.0 => (value / from).ln() / (to / from).ln(),
            Scale::Log { .. } => return None,
            Scale::Categories(count) => (value + 0.5) / count.max(1) as f64,
        };
        place.is_finite().then_some(place)
    }

    /// The value at `place`, from 0 to 1.
    pub fn value(self, place: f64) -> f64 {
        match self {
            Scale::Linear { from, to } => from + (to - from) * place,
            Scale::Log { from, to } => from * (to / from).powf(place),
            Scale::Categories(count) => place * count as f64 - 0.5,
        }
    }

    /// The first and the last value.
    pub fn ends(self) -> (f64, f64) {
        match self {
            Scale::Linear { from, to } | Scale::Log { from, to } => (from, to),
            Scale::Categories(count) => (-0.5, count as f64 - 0.5),
        }
    }

    fn with_ends(self, from: Option<f64>, to: Option<f64>) -> Scale {
        let ends = |first: f64, last: f64| {
            let (first, last) = (from.unwrap_or(first), to.unwrap_or(last));
            if first < last { (first, last) } else { (first, first + first.abs().max(1.0)) }
        };
        match self {
            Scale::Linear { from, to } => {
                let (from, to) = ends(from, to);
                Scale::Linear { from, to }
            }
            Scale::Log { from: first, to: last } => match ends(first, last) {
                (from, to) if from > 0.0 => Scale::Log { from, to },
                _ => self,
            },
            Scale::Categories(_) => self,
        }
    }
}

fn linear(mut min: f64, mut max: f64, limits: Limits) -> Scale {
    if limits.zero {
        (min, max) = (min.min(0.0), max.max(0.0));
    }
    if min == max {
        let room = if min == 0.0 { 1.0 } else { min.abs() * 0.1 };
        // What never changes has its line in the middle, but an axis from zero stays one.
        (min, max) = if limits.zero { (min, max + room) } else { (min - room, max + room) };
    }
    if limits.nice {
        let step = step(max - min, 6);
        let (first, last) = ((min / step).floor() * step, (max / step).ceil() * step);
        // Half a step is enough room: an axis that ends at 8 is not to go on to 10 for 8.1.
        let half = step / 2.0;
        let first = if min - first >= half { first + half } else { first };
        let last = if last - max >= half { last - half } else { last };
        return Scale::Linear { from: first, to: last };
    }
    let room = (max - min) * 0.03;
    let from = if min >= 0.0 && min < room { min } else { min - room };
    Scale::Linear { from, to: max + room }
}

fn log(min: f64, max: f64, limits: Limits) -> Scale {
    if limits.nice {
        let at = |value: f64, up: bool| {
            let power = 10.0_f64.powf(value.log10().floor());
            let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
            let near = |step: &&f64| {
                if up { **step >= value * 0.999_999 } else { **step <= value * 1.000_001 }
            };
            if up { steps.iter().find(near) } else { steps.iter().rev().find(near) }.copied()
        };
        let (from, to) = (at(min, false).unwrap_or(min), at(max, true).unwrap_or(max));
        return if from < to {
            Scale::Log { from, to }
        } else {
            Scale::Log { from: from / 2.0, to: to * 2.0 }
        };
    }
    let room = if min < max { (max / min).powf(0.04) } else { 2.0 };
    Scale::Log { from: min / room, to: max * room }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NICE: Limits = Limits { log: false, zero: false, nice: true, from: None, to: None };

    #[test]
    fn ends_are_nice_and_hold_all_data() {
        assert_eq!(Scale::fit([0.3, 7.9], Limits { zero: true, ..NICE }).ends(), (0.0, 8.0));
        assert_eq!(Scale::fit([503.0, 597.0], NICE).ends(), (500.0, 600.0));
        assert_eq!(Scale::fit([3e4, 9e6], Limits { log: true, ..NICE }).ends(), (2e4, 1e7));
        for log in [false, true] {
            for values in [vec![], vec![0.0], vec![5.0, 5.0], vec![-1.0, f64::NAN, 1e-9, 1e12]] {
                for nice in [false, true] {
                    let scale = Scale::fit(values.clone(), Limits { log, nice, ..NICE });
                    let (from, to) = scale.ends();
                    assert!(
                        from < to && from.is_finite() && to.is_finite(),
                        "{values:?} {scale:?}"
                    );
                    for value in values.iter().filter(|value| !log || **value > 0.0) {
                        let place = scale.place(*value);
                        let inside = |place: f64| (-1e-9..=1.0 + 1e-9).contains(&place);
                        assert!(value.is_nan() || place.is_some_and(inside), "{value} {scale:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn places_run_from_zero_to_one() {
        assert_eq!(Scale::Log { from: 1.0, to: 100.0 }.place(10.0), Some(0.5));
        assert_eq!(Scale::Log { from: 1.0, to: 100.0 }.place(0.0), None);
        assert_eq!(Scale::Categories(2).place(1.0), Some(0.75));
    }
}

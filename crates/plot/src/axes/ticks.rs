//! The ticks of an axis: at 1, 2 and 5 times powers of ten.

use super::scale::Scale;

/// The distance of ticks, about `count` of them over `span`.
pub(super) fn step(span: f64, count: usize) -> f64 {
    let rough = span / count.max(1) as f64;
    let power = 10.0_f64.powf(rough.log10().floor());
    let part = rough / power;
    let nice = match part {
        part if part <= 1.000_001 => 1.0,
        part if part <= 2.000_001 => 2.0,
        part if part <= 5.000_001 => 5.0,
        _ => 10.0,
    };
    nice * power
}

/// At most about `count` ticks of `scale`, which are labelled.
pub fn ticks(scale: Scale, count: usize) -> Vec<f64> {
    let count = count.max(2);
    match scale {
        Scale::Linear { from, to } => linear(from, to, count),
        Scale::Log { from, to } => log(from, to, count),
        Scale::Categories(things) => (0..things).map(|thing| thing as f64).collect(),
    }
}

/// Ticks between those, without labels: on a logarithmic axis over few decades.
pub fn minor(scale: Scale) -> Vec<f64> {
    let Scale::Log { from, to } = scale else { return Vec::new() };
    let (first, last) = decades(from, to);
    if last - first > 8 {
        return Vec::new();
    }
    within(
        from,
        to,
        (first..=last).flat_map(|power| (2..10).map(move |n| f64::from(n) * power10(power))),
    )
}

fn linear(from: f64, to: f64, count: usize) -> Vec<f64> {
    let step = step(to - from, count);
    let first = (from / step - 1e-9).ceil();
    let last = (to / step + 1e-9).floor();
    if !first.is_finite() || last - first > 1000.0 {
        return Vec::new();
    }
    // Multiples, and not sums: no error grows.
    (0..=(last - first) as u32).map(|index| (first + f64::from(index)) * step).collect()
}

fn log(from: f64, to: f64, count: usize) -> Vec<f64> {
    let (first, last) = decades(from, to);
    let of = |parts: &'static [f64]| {
        let all =
            (first..=last).flat_map(|power| parts.iter().map(move |part| part * power10(power)));
        within(from, to, all)
    };
    let fine = of(&[1.0, 2.0, 5.0]);
    if fine.len() <= count && fine.len() >= 3 {
        return fine;
    }
    let powers = of(&[1.0]);
    if powers.len() > count {
        let every = powers.len().div_ceil(count);
        return powers.into_iter().step_by(every).collect();
    }
    if powers.len() >= 2 {
        return powers;
    }
    let coarse = of(&[1.0, 3.0]);
    if coarse.len() >= 2 && coarse.len() <= count {
        coarse
    } else if fine.len() >= 2 {
        fine
    } else {
        linear(from, to, count)
    }
}

fn power10(power: i32) -> f64 {
    10.0_f64.powi(power)
}

fn decades(from: f64, to: f64) -> (i32, i32) {
    (from.log10().floor() as i32, to.log10().ceil() as i32)
}

fn within(from: f64, to: f64, values: impl Iterator<Item = f64>) -> Vec<f64> {
    values.filter(|value| (from * 0.999_999..=to * 1.000_001).contains(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_at_one_two_and_five() {
        assert_eq!(ticks(Scale::Linear { from: 0.0, to: 8.0 }, 5), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(ticks(Scale::Linear { from: -0.05, to: 0.2 }, 6).len(), 6);
        assert_eq!(ticks(Scale::Log { from: 1e4, to: 1e7 }, 6), [1e4, 1e5, 1e6, 1e7]);
        assert_eq!(ticks(Scale::Log { from: 1.0, to: 20.0 }, 6), [1.0, 2.0, 5.0, 10.0, 20.0]);
        assert_eq!(ticks(Scale::Log { from: 1.0, to: 1e12 }, 5).len(), 5);
        assert_eq!(ticks(Scale::Categories(3), 9), [0.0, 1.0, 2.0]);
        assert_eq!(
            minor(Scale::Log { from: 1.0, to: 10.0 }),
            [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
        );
        assert!(!ticks(Scale::Log { from: 31.0, to: 38.0 }, 5).is_empty());
    }
}

//! The statistics of samples that are drawn.

use super::{Datum, Quartiles};

/// The share of samples that are no greater than x, for [`Data::Steps`](super::Data::Steps).
pub fn cdf(samples: &[f64]) -> Vec<Datum> {
    let samples = sorted(samples);
    let count = samples.len() as f64;
    let mut points: Vec<Datum> =
        samples.first().map(|first| Datum::new(*first, 0.0)).into_iter().collect();
    for (index, sample) in samples.iter().enumerate() {
        let share = (index + 1) as f64 / count;
        match points.last_mut() {
            Some(last) if last.x == *sample && last.y > 0.0 => last.y = share,
            _ => points.push(Datum::new(*sample, share)),
        }
    }
    points
}

/// The spread of `samples`, at `x`. `None` without any.
pub fn quartiles(x: f64, samples: &[f64]) -> Option<Quartiles> {
    let samples = sorted(samples);
    let (first, median, third) =
        (quantile(&samples, 0.25)?, quantile(&samples, 0.5)?, quantile(&samples, 0.75)?);
    let reach = 1.5 * (third - first);
    let inside = |sample: &&f64| (first - reach..=third + reach).contains(*sample);
    let ends = (samples.iter().find(inside), samples.iter().rev().find(inside));
    let whiskers = (*ends.0.unwrap_or(&first), *ends.1.unwrap_or(&third));
    let outliers = samples.iter().filter(|sample| !inside(sample)).copied().collect();
    Some(Quartiles { x, first, median, third, whiskers, outliers })
}

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut samples: Vec<f64> =
        samples.iter().copied().filter(|sample| sample.is_finite()).collect();
    samples.sort_by(f64::total_cmp);
    samples
}

/// Between the two samples that are nearest (Hyndman and Fan's seventh definition).
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let at = share * sorted.len().checked_sub(1)? as f64;
    let (below, part) = (at.floor() as usize, at.fract());
    let low = *sorted.get(below)?;
    let high = sorted.get(below + 1).copied().unwrap_or(low);
    Some(low + (high - low) * part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_rises_to_one() {
        let points = cdf(&[3.0, 1.0, 3.0, f64::NAN, 2.0]);
        let pairs: Vec<(f64, f64)> = points.iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(pairs, [(1.0, 0.0), (1.0, 0.25), (2.0, 0.5), (3.0, 1.0)]);
        assert!(cdf(&[]).is_empty());
    }

    #[test]
    fn a_box_holds_the_middle_half() {
        let it = quartiles(0.0, &[1.0, 2.0, 3.0, 4.0, 50.0]).unwrap();
        assert_eq!((it.first, it.median, it.third, it.whiskers), (2.0, 3.0, 4.0, (1.0, 4.0)));
        assert_eq!(it.outliers, [50.0]);
        assert_eq!(quartiles(0.0, &[]), None);
    }
}

//! How much slower something is, from paired runs: the ratio of means, and a bound of it.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The mean of `with` over the mean of `without`, and the bound that the true ratio is below with
/// 95 % confidence. Runs are paired: those in the same place have the same seed.
///
/// The bound is by the usual linearisation of a ratio of means (Cochran, *Sampling Techniques*,
/// 6.4): the residuals `with − ratio × without` have the mean zero, and their standard error over
/// the mean of `without` is the ratio's. None if there are no runs, or of a single pair that
/// differs.
pub(super) fn of_means(with: &[f64], without: &[f64]) -> Option<(f64, f64)> {
    let count = with.len().min(without.len());
    let mean = |of: &[f64]| of.iter().take(count).sum::<f64>() / count as f64;
    let below = mean(without);
    if count == 0 || below <= 0.0 {
        return None;
    }
    let ratio = mean(with) / below;
    if count == 1 {
        return Some((ratio, ratio));
    }
    let freedom = (count - 1) as f64;
    let residuals = with.iter().zip(without).map(|(with, without)| with - ratio * without);
    let variance = residuals.map(|residual| residual * residual).sum::<f64>() / freedom;
    let error = (variance / count as f64).sqrt() / below;
    let quantile = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.95);
    Some((ratio, ratio + quantile * error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_that_differ_by_one_factor_have_a_sharp_ratio() {
        let without: Vec<f64> = (1..=50).map(f64::from).collect();
        let with: Vec<f64> = without.iter().map(|x| 0.8 * x).collect();
        let (ratio, bound) = of_means(&with, &without).unwrap();
        assert!((ratio - 0.8).abs() < 1e-12 && (bound - 0.8).abs() < 1e-12);
        assert_eq!(of_means(&[2.0], &[4.0]), Some((0.5, 0.5)));
        assert_eq!(of_means(&[], &[]), None);
    }

    #[test]
    fn the_bound_is_students() {
        // Residuals ±1 around a ratio of 1: a variance of 4/3, a standard error of 0.1 ÷ √3, and
        // the 95 % quantile with three degrees of freedom is 2.353.
        let (with, without) = ([9.0, 11.0, 9.0, 11.0], [10.0; 4]);
        let (ratio, bound) = of_means(&with, &without).unwrap();
        assert!((ratio - 1.0).abs() < 1e-12);
        assert!((bound - (1.0 + 2.3534 * 0.1 / 3f64.sqrt())).abs() < 1e-4, "{bound}");
    }
}

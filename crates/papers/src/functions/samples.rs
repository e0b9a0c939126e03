//! What is made of several runs' numbers: run by run, or by their means.

/// What each run of a point has given.
pub(super) type Samples = Vec<f64>;

/// The arithmetic mean; of nothing it is no number.
pub(super) fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

/// Of nothing it is infinite.
pub(super) fn min(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::INFINITY, f64::min)
}

/// Of nothing it is infinite, below zero.
pub(super) fn max(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::NEG_INFINITY, f64::max)
}

/// The samples with the smallest mean.
pub(super) fn min_by_mean(of: impl IntoIterator<Item = Samples>) -> Result<Samples, String> {
    let min = of.into_iter().min_by(|a, b| mean(a).total_cmp(&mean(b)));
    min.ok_or_else(|| "nothing to compare".to_owned())
}

/// The samples with the largest mean.
pub(super) fn max_by_mean(of: impl IntoIterator<Item = Samples>) -> Result<Samples, String> {
    let max = of.into_iter().max_by(|a, b| mean(a).total_cmp(&mean(b)));
    max.ok_or_else(|| "nothing to compare".to_owned())
}

/// Combines what each run has given; runs belong together by their numbers, as many as all have.
pub(super) fn per_run(columns: &[Samples], of: impl Fn(&[f64]) -> f64) -> Samples {
    let runs = columns.iter().map(Vec::len).min().unwrap_or(0);
    let row = |run: usize| columns.iter().map(|column| column[run]).collect::<Vec<f64>>();
    (0..runs).map(|run| of(&row(run))).collect()
}

/// `a` less `b`, run by run.
pub(super) fn less(a: &[f64], b: &[f64]) -> Samples {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// `a` over `b`, run by run.
pub(super) fn ratio(a: &[f64], b: &[f64]) -> Samples {
    a.iter().zip(b).map(|(a, b)| a / b).collect()
}

/// Each `by` times as large.
pub(super) fn scaled(a: &[f64], by: f64) -> Samples {
    a.iter().map(|a| a * by).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_belong_together_by_their_numbers() {
        let (a, b) = (vec![4.0, 9.0, 16.0], vec![2.0, 3.0]);
        assert_eq!(less(&a, &b), [2.0, 6.0]);
        assert_eq!(ratio(&a, &b), [2.0, 3.0]);
        assert_eq!(per_run(&[a.clone(), b.clone()], mean), [3.0, 6.0]);
        assert_eq!(scaled(&b, 0.5), [1.0, 1.5]);
        assert_eq!(min_by_mean([a.clone(), b.clone()]), Ok(b));
        assert_eq!(max_by_mean([a.clone(), vec![9.0]]), Ok(a));
        assert_eq!((min([2.0, 1.0]), max([2.0, 1.0])), (1.0, 2.0));
    }
}

//! Statistics of several runs' numbers: run by run, or by their means.

/// What each run of a point has given.
pub(crate) type Samples = Vec<f64>;

/// The arithmetic mean; of nothing it is no number.
pub(crate) fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

/// Of nothing it is infinite.
pub(crate) fn min(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::INFINITY, f64::min)
}

/// Of nothing it is infinite, below zero.
pub(crate) fn max(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::NEG_INFINITY, f64::max)
}

/// The samples with the smallest mean.
pub(crate) fn min_by_mean(of: impl IntoIterator<Item = Samples>) -> Result<Samples, String> {
    let min = of.into_iter().min_by(|a, b| mean(a).total_cmp(&mean(b)));
    min.ok_or_else(|| "nothing to compare".to_owned())
}

/// `a` over `b`, run by run.
pub(crate) fn ratio(a: &[f64], b: &[f64]) -> Samples {
    a.iter().zip(b).map(|(a, b)| a / b).collect()
}

/// Each `by` times as large.
pub(crate) fn scaled(a: &[f64], by: f64) -> Samples {
    a.iter().map(|a| a * by).collect()
}

/// A statistic of columns' means, as pseudo-values of the jackknife: their spread gives its
/// interval. Their mean is made the statistic itself, as what the jackknife takes for bias is none
/// where the statistic is the least or the largest of several. Columns of one run, in which nothing
/// is random, are the same in all runs.
pub(crate) fn jackknife(columns: &[Samples], of: impl Fn(&[f64]) -> f64) -> Samples {
    let several = columns.iter().map(Vec::len).filter(|&runs| runs > 1).min();
    let runs = several.unwrap_or(1);
    let means = |without: Option<usize>| -> Vec<f64> {
        let kept = |column: &Samples| match column.len() {
            1 => column[0],
            _ => {
                let kept =
                    column[..runs].iter().enumerate().filter(|(run, _)| Some(*run) != without);
                mean(&kept.map(|(_, value)| *value).collect::<Vec<_>>())
            }
        };
        columns.iter().map(kept).collect()
    };
    jackknife_of(runs, |without| Ok(of(&means(without)))).unwrap_or_default()
}

/// The same of a statistic that gives what all runs make of it, or all but one.
pub(crate) fn jackknife_of(
    runs: usize,
    of: impl Fn(Option<usize>) -> Result<f64, String>,
) -> Result<Samples, String> {
    let all = of(None)?;
    if runs == 1 {
        return Ok(vec![all]);
    }
    let n = runs as f64;
    let without = (0..runs).map(|run| of(Some(run))).collect::<Result<Samples, String>>()?;
    let center = mean(&without);
    Ok(without.iter().map(|without| all - (n - 1.0) * (without - center)).collect())
}

/// The value of this rank, the largest first.
pub(crate) fn ranked(values: impl IntoIterator<Item = f64>, rank: usize) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(|a, b| b.total_cmp(a));
    values.get(rank).copied().unwrap_or(f64::NAN)
}

/// One where it is so, zero elsewhere: the mean is the share of runs.
pub(crate) fn share_of_runs(samples: &[f64], is_so: impl Fn(f64) -> bool) -> Samples {
    samples.iter().map(|sample| f64::from(u8::from(is_so(*sample)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_jackknife_of_means_is_their_samples() {
        let (a, b) = (vec![1.0, 2.0, 6.0], vec![3.0]);
        let near = |found: Samples, expected: [f64; 3]| {
            let off = found.iter().zip(expected).map(|(x, y)| (x - y).abs());
            assert!(off.fold(0.0, f64::max) < 1e-9, "{found:?}");
        };
        near(jackknife(&[a.clone(), b.clone()], |means| means[0] + means[1]), [4.0, 5.0, 9.0]);
        // Of a statistic that is not linear the mean is that of the means: 1 / 3.
        let inverse = jackknife(&[a], |means| 1.0 / means[0]);
        assert!((mean(&inverse) - 1.0 / 3.0).abs() < 1e-9, "{inverse:?}");
        assert_eq!(jackknife(&[b], |means| means[0]), [3.0]);
    }

    #[test]
    fn ranks_count_from_the_largest() {
        assert_eq!((ranked([1.0, 3.0, 2.0], 0), ranked([1.0, 3.0, 2.0], 2)), (3.0, 1.0));
        assert!(ranked([1.0], 1).is_nan());
        assert_eq!(share_of_runs(&[0.0, 2.0], |sample| sample > 1.0), [0.0, 1.0]);
    }

    #[test]
    fn runs_belong_together_by_their_numbers() {
        let (a, b) = (vec![4.0, 9.0, 16.0], vec![2.0, 3.0]);
        assert_eq!(ratio(&a, &b), [2.0, 3.0]);
        assert_eq!(scaled(&b, 0.5), [1.0, 1.5]);
        assert_eq!(min_by_mean([a, b.clone()]), Ok(b));
        assert_eq!((min([2.0, 1.0]), max([2.0, 1.0])), (1.0, 2.0));
    }
}

//! Values of expressions: numbers with a sample for each run, texts, lists.

use crate::samples::{Samples, mean};

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// A number, with a sample for each run.
    Number(Samples),
    /// A text.
    Text(String),
    /// Several.
    List(Vec<Value>),
}

impl Value {
    /// The samples of a number.
    pub(super) fn number(self) -> Result<Samples, String> {
        match self {
            Value::Number(samples) => Ok(samples),
            Value::Text(text) => Err(format!("\"{text}\" is a text, and no number")),
            Value::List(_) => Err("a list stands where a number is needed".to_owned()),
        }
    }

    /// A text, or a number as one.
    pub(super) fn text(self) -> Result<String, String> {
        self.said().ok_or_else(|| "a text is needed".to_owned())
    }

    /// As it stands in a text.
    pub(super) fn said(&self) -> Option<String> {
        match self {
            Value::Text(text) => Some(text.clone()),
            Value::Number(samples) if samples.len() == 1 => Some(samples[0].to_string()),
            _ => None,
        }
    }
}

/// How many runs several columns have together: what has nothing random is the same in every run.
fn runs(columns: &[Samples]) -> usize {
    let several = columns.iter().map(Vec::len).filter(|&runs| runs != 1).min();
    several.unwrap_or(usize::from(!columns.is_empty()))
}

fn of_run(column: &Samples, run: usize) -> f64 {
    if column.len() == 1 { column[0] } else { column[run] }
}

/// `of` what each run has given.
pub(super) fn per_run(columns: &[Samples], of: impl Fn(&[f64]) -> f64) -> Samples {
    if columns.is_empty() {
        return vec![of(&[])];
    }
    let row = |run| columns.iter().map(|column| of_run(column, run)).collect::<Vec<f64>>();
    (0..runs(columns)).map(|run| of(&row(run))).collect()
}

/// `of` two, run by run.
pub(super) fn broadcast(a: &Samples, b: &Samples, of: impl Fn(f64, f64) -> f64) -> Samples {
    let runs = match (a.len(), b.len()) {
        (1, runs) | (runs, 1) => runs,
        (a, b) => a.min(b),
    };
    (0..runs).map(|run| of(of_run(a, run), of_run(b, run))).collect()
}

/// In each run, the value that stands where the key is the largest.
pub(super) fn at_max_of_run(keys: &[Samples], values: &[Samples]) -> Samples {
    let place = |run: usize| {
        let keys = keys.iter().map(|key| of_run(key, run)).enumerate();
        keys.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(place, _)| place)
    };
    (0..runs(keys)).map(|run| of_run(&values[place(run)], run)).collect()
}

/// The sample standard deviation.
pub(super) fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    (square / (values.len() as f64 - 1.0)).sqrt()
}

/// Jain's index.
pub(super) fn jain(values: &[f64]) -> f64 {
    let (sum, squares) = values.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    sum * sum / (squares * values.len() as f64)
}

/// Spearman's correlation of values with their order.
pub(super) fn rank_correlation(values: &[f64]) -> f64 {
    let place = |x: &f64| values.iter().filter(|other| *other < x).count() as f64;
    let squares = values.iter().enumerate().map(|(i, x)| (place(x) - i as f64).powi(2));
    let n = values.len() as f64;
    1.0 - 6.0 * squares.sum::<f64>() / (n * (n * n - 1.0))
}

/// Where heights first fall below a level, on straight lines between places; else no number.
pub(super) fn crossing(places: &[f64], heights: &[f64], level: f64) -> f64 {
    let falls = heights.windows(2).position(|pair| pair[0] >= level && pair[1] < level);
    let Some((at, to)) = falls.and_then(|at| Some((at, *places.get(at + 1)?))) else {
        return f64::NAN;
    };
    let part = (heights[at] - level) / (heights[at] - heights[at + 1]);
    places[at] + part * (to - places[at])
}

/// The ratio of the means of both, of which the first is not random: as pseudo-values of the
/// jackknife, whose mean and spread are those of the ratio.
pub(super) fn mean_ratio(over: &[f64], under: &[f64]) -> Samples {
    let runs = under.len() as f64;
    let all = mean(over) * runs / under.iter().sum::<f64>();
    if under.len() < 2 {
        return vec![all];
    }
    let without = |one: &f64| mean(over) * (runs - 1.0) / (under.iter().sum::<f64>() - one);
    under.iter().map(|one| runs * all - (runs - 1.0) * without(one)).collect()
}

/// The number that a text begins with.
pub(super) fn leading(text: &str) -> Result<f64, String> {
    let is_part = |c: char| c.is_ascii_digit() || ".-+e".contains(c);
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    text[..end].parse().map_err(|_| format!("{text} does not begin with a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_random_is_the_same_in_every_run() {
        let (fixed, random) = (vec![2.0], vec![1.0, 3.0]);
        assert_eq!(broadcast(&fixed, &random, |a, b| a * b), [2.0, 6.0]);
        assert_eq!(per_run(&[fixed.clone(), random.clone()], mean), [1.5, 2.5]);
        assert_eq!(at_max_of_run(&[fixed, random], &[vec![7.0], vec![8.0]]), [7.0, 8.0]);
    }

    #[test]
    fn statistics_of_several() {
        assert_eq!(jain(&[1.0, 1.0]), 1.0);
        assert_eq!(jain(&[1.0, 0.0]), 0.5);
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0]), 1.0);
        assert_eq!(rank_correlation(&[3.0, 2.0, 1.0]), -1.0);
        assert_eq!(deviation(&[1.0, 3.0]), 2f64.sqrt());
        assert_eq!(leading("50packets"), Ok(50.0));
        assert_eq!(leading("1e-7"), Ok(1e-7));
        assert!(leading("off").is_err());
    }

    /// G01-D-23: a size by the mean of times is not the mean of sizes by times.
    #[test]
    fn throughput_is_the_size_by_the_mean_time() {
        let times = [1.0, 2.0, 6.0];
        let ratio = mean_ratio(&[1.0], &times);
        let plain = mean(&times.map(|time| 1.0 / time));
        assert_eq!(ratio.len(), 3);
        assert!((mean_ratio(&[1.0], &[3.0])[0] - 1.0 / 3.0).abs() < 1e-12);
        assert!((plain - 0.556).abs() < 1e-3, "{plain}");
        assert!(mean(&ratio) < 0.34, "{}", mean(&ratio));
        let same = mean_ratio(&[2.0], &[4.0, 4.0, 4.0]);
        assert!(same.iter().all(|kept| (kept - 0.5).abs() < 1e-12), "{same:?}");
    }
}

//! The row of several flows together.

use crate::FlowRow;
use bentpipe_scenario::Scenario;

/// A group of flows.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupRow {
    /// Its name in the scenario.
    pub name: String,
    /// The number of flows.
    pub flows: u64,
    /// Their goodputs, in bit/s.
    pub goodput: Spread,
    /// Their mean completion times in seconds, of those that completed a transfer.
    pub completion: Spread,
}

/// A figure of several flows.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spread {
    /// Of all.
    pub sum: f64,
    /// Of how many.
    count: u64,
    /// Sum of the squared differences from the mean.
    squares: f64,
}

impl Spread {
    /// Of these values.
    pub fn of(values: &[f64]) -> Spread {
        let (sum, count) = (values.iter().sum::<f64>(), values.len() as u64);
        let mean = sum / count.max(1) as f64;
        Spread { sum, count, squares: values.iter().map(|value| (value - mean).powi(2)).sum() }
    }

    /// The mean; `None` of none.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// The coefficient of variation: sample standard deviation as a share of the mean.
    ///
    /// `None` of one, or around zero.
    pub fn variation(&self) -> Option<f64> {
        let mean = self.mean().filter(|mean| *mean != 0.0)?;
        (self.count > 1).then(|| (self.squares / (self.count - 1) as f64).sqrt() / mean)
    }

    /// Jain's index, from 1/n to 1; `None` of none, or if all are zero.
    pub fn jain(&self) -> Option<f64> {
        let mean = self.mean().filter(|mean| *mean != 0.0)?;
        Some(mean * mean / (mean * mean + self.squares / self.count as f64))
    }
}

impl GroupRow {
    /// The groups of `scenario`, whose flows have done this.
    pub fn all(scenario: &Scenario, flows: &[FlowRow]) -> Vec<GroupRow> {
        // Which of the scenario's flows each is one of.
        let kinds: Vec<usize> = (scenario.flows.iter().enumerate())
            .flat_map(|(kind, flow)| flow.instances().map(move |_| kind))
            .collect();
        let groups = scenario.groups.iter().map(|group| {
            let mine = || {
                let all = flows.iter().zip(&kinds);
                all.filter(|(_, kind)| group.flows.contains(kind)).map(|(flow, _)| flow)
            };
            let goodputs: Vec<f64> = mine().map(|flow| flow.goodput).collect();
            let times = mine().filter_map(|flow| flow.mean_completion);
            let times: Vec<f64> = times.map(|time| time.as_nanos() as f64 / 1e9).collect();
            GroupRow {
                name: group.name.clone(),
                flows: goodputs.len() as u64,
                goodput: Spread::of(&goodputs),
                completion: Spread::of(&times),
            }
        });
        groups.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variation_is_the_sample_deviation_over_the_mean() {
        // Around 6: squares 4 + 0 + 4 = 8, over n - 1 = 2.
        let spread = Spread::of(&[4.0, 6.0, 8.0]);
        assert_eq!((spread.sum, spread.mean()), (18.0, Some(6.0)));
        assert_eq!(spread.variation(), Some(2.0 / 6.0));
        assert_eq!(Spread::of(&[5.0]).variation(), None);
        assert_eq!(Spread::of(&[0.0, 0.0]).variation(), None);
        assert_eq!((Spread::of(&[]).mean(), Spread::of(&[]).variation()), (None, None));
    }

    #[test]
    fn jains_index_is_one_for_equal_shares_and_an_nth_if_one_has_all() {
        assert_eq!(Spread::of(&[3.0, 3.0]).jain(), Some(1.0));
        assert!((Spread::of(&[9.0, 0.0, 0.0]).jain().unwrap() - 1.0 / 3.0).abs() < 1e-12);
        // 18² ÷ (3 · 116)
        let index = Spread::of(&[4.0, 6.0, 8.0]).jain().unwrap();
        assert!((index - 324.0 / 348.0).abs() < 1e-12, "{index}");
        assert_eq!((Spread::of(&[]).jain(), Spread::of(&[0.0]).jain()), (None, None));
    }
}

//! How often a point is run: a number of runs, or until its figures are sure enough.
//!
//! Two rules of the papers: henderson, 4.1.4, repeats until the *sample standard deviation* of
//! each connection's throughput is within 5 % of its mean; its figures carry 95 % and 99 %
//! *confidence intervals* of the mean, whose half-width is t(1 − α/2, n − 1) · s / √n (Student's t
//! from `statrs`, a kept library of exact distribution functions). The first says how much single
//! runs differ and does not shrink with their number; the second says how well the mean is known.
//! Both are reported whatever the rule.

use bentpipe_config::reader::{Reader, Result, Section, field};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// How often a point is run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Repeat {
    /// So often.
    Runs(u32),
    /// Until every flow's figure is within a share of its mean.
    Until {
        /// Which measure.
        measure: Measure,
        /// The share, such as 0.05.
        within: f64,
        /// At least so often.
        min: u32,
        /// At most so often.
        max: u32,
    },
}

/// How sure a figure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// The sample standard deviation.
    StandardDeviation,
    /// The half-width of the mean's 95 % confidence interval.
    Interval95,
    /// The half-width of the mean's 99 % confidence interval.
    Interval99,
}

impl Measure {
    /// Each with its name in the file.
    pub const ALL: [(&'static str, Measure); 3] = [
        ("sd", Measure::StandardDeviation),
        ("ci95", Measure::Interval95),
        ("ci99", Measure::Interval99),
    ];
}

/// What samples of one figure, a run each, say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampleSummary {
    /// How many samples.
    pub samples: usize,
    /// Their mean.
    pub mean: f64,
    /// Their sample standard deviation; `None` of one sample.
    pub standard_deviation: Option<f64>,
    /// Half-width of the mean's 95 % confidence interval; `None` of one sample.
    pub half_width_95: Option<f64>,
    /// Half-width of the mean's 99 % confidence interval; `None` of one sample.
    pub half_width_99: Option<f64>,
}

impl SampleSummary {
    /// Of `samples`; `None` of none, or if one is not a number.
    pub fn of(samples: &[f64]) -> Option<SampleSummary> {
        let mut first = FirstPass::default();
        samples.iter().for_each(|sample| first.add(*sample));
        let mut second = first.mean()?;
        samples.iter().for_each(|sample| second.add(*sample));
        Some(second.summary())
    }

    /// Half-width of the mean's interval of this confidence; `None` of one sample.
    pub fn half_width(&self, confidence: f64) -> Option<f64> {
        half_width(confidence, self.samples, self.standard_deviation?)
    }

    /// A measure as a share of the mean: zero where there is no spread at all; `None` of one
    /// sample.
    pub fn relative(&self, measure: Measure) -> Option<f64> {
        let spread = match measure {
            Measure::StandardDeviation => self.standard_deviation,
            Measure::Interval95 => self.half_width_95,
            Measure::Interval99 => self.half_width_99,
        }?;
        Some(if spread == 0.0 { 0.0 } else { spread / self.mean.abs() })
    }
}

/// Samples that need not all be in memory, the first time they come: what their mean is made of.
#[derive(Debug, Clone, Copy)]
pub struct FirstPass {
    samples: usize,
    sum: f64,
    finite: bool,
}

/// The same samples in the same order, the second time: how far they are from their mean.
#[derive(Debug, Clone, Copy)]
pub struct SecondPass {
    samples: usize,
    mean: f64,
    squares: f64,
}

impl Default for FirstPass {
    fn default() -> FirstPass {
        // Adding to it changes nothing, not even the sign of a zero.
        FirstPass { samples: 0, sum: -0.0, finite: true }
    }
}

impl FirstPass {
    /// A sample.
    pub fn add(&mut self, sample: f64) {
        self.samples += 1;
        self.sum += sample;
        self.finite &= sample.is_finite();
    }

    /// All have come once; `None` if there were none, or one is not a number.
    pub fn mean(self) -> Option<SecondPass> {
        let FirstPass { samples, sum, finite } = self;
        let mean = sum / samples as f64;
        (samples > 0 && finite).then_some(SecondPass { samples, mean, squares: -0.0 })
    }
}

impl SecondPass {
    /// A sample, once more.
    pub fn add(&mut self, sample: f64) {
        self.squares += (sample - self.mean).powi(2);
    }

    /// All have come twice.
    pub fn summary(self) -> SampleSummary {
        let SecondPass { samples, mean, squares } = self;
        let n = samples as f64;
        let standard_deviation = (samples > 1).then(|| (squares / (n - 1.0)).sqrt());
        let half_width = |share| half_width(share, samples, standard_deviation?);
        SampleSummary {
            samples,
            mean,
            standard_deviation,
            half_width_95: half_width(0.95),
            half_width_99: half_width(0.99),
        }
    }
}

fn half_width(confidence: f64, samples: usize, standard_deviation: f64) -> Option<f64> {
    let n = samples as f64;
    Some(student_t(confidence, n - 1.0)? * standard_deviation / n.sqrt())
}

/// Student's t: a share `confidence` of the distribution lies within ± this.
fn student_t(confidence: f64, freedom: f64) -> Option<f64> {
    let distribution = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(distribution.inverse_cdf(0.5 + confidence / 2.0))
}

/// Whether to run once more.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Yes.
    Continue,
    /// No.
    Enough {
        /// Why.
        because: Enough,
        /// What each flow's samples say, in their order; `None` where there are none.
        flows: Vec<Option<SampleSummary>>,
    },
}

/// Why no more runs are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enough {
    /// So many were asked for.
    Runs,
    /// The rule is met.
    Met,
    /// The greatest number is reached, and the rule not met.
    Limit,
    /// Chance has no part in the scenario: the first run is all of them.
    Certain,
}

impl Repeat {
    /// Decides from the samples of each flow's figure, a run each. Flows without any sample do not
    /// count.
    pub fn decide(&self, flows: &[Vec<f64>]) -> Decision {
        let runs = flows.iter().map(Vec::len).max().unwrap_or(0);
        self.decide_after(u32::try_from(runs).unwrap_or(u32::MAX), flows)
    }

    /// As [`decide`](Repeat::decide), where `runs` have been made and not each gave every sample.
    pub fn decide_after(&self, runs: u32, flows: &[Vec<f64>]) -> Decision {
        let summaries = || -> Vec<Option<SampleSummary>> {
            flows.iter().map(|flow| SampleSummary::of(flow)).collect()
        };
        let because = match *self {
            Repeat::Runs(wanted) if runs >= wanted => Enough::Runs,
            Repeat::Runs(_) => return Decision::Continue,
            Repeat::Until { min, .. } if runs < min.max(2) => return Decision::Continue,
            Repeat::Until { measure, within, max, .. } => {
                let sure = |summary: &SampleSummary| {
                    summary.relative(measure).is_some_and(|relative| relative <= within)
                };
                if summaries().iter().flatten().all(sure) {
                    Enough::Met
                } else if runs >= max {
                    Enough::Limit
                } else {
                    return Decision::Continue;
                }
            }
        };
        Decision::Enough { because, flows: summaries() }
    }

    /// The most runs that there can be.
    pub fn max(&self) -> u32 {
        match *self {
            Repeat::Runs(runs) => runs,
            Repeat::Until { max, .. } => max,
        }
    }
}

pub(crate) const REPEAT: Section = Section {
    path: "repeat",
    about: "How often every point of the sweep is run, with a random seed of its own for each \
            run. Without this table: once. Where nothing is random, all runs are the same: it is run \
            once, and said so.",
    fields: &[
        field("runs", "1 to 100000", "1", "so often"),
        field(
            "until",
            "`sd 5%`, `ci95 5%`, `ci99 2%`",
            "",
            "until each flow's throughput (background apart) is that sure: its sample standard deviation, or the half-width of its mean's 95 % or 99 % confidence interval (Student's t), is at most that share of its mean",
        ),
        field("min", "2 to 100000", "5", "with `until`: at least so often"),
        field("max", "up to 100000", "100", "with `until`: at most so often"),
    ],
    example: "[repeat]\nuntil = \"ci95 5%\"\nmin = 5\nmax = 60",
};

impl Repeat {
    pub(crate) fn read(reader: &Reader<'_>) -> Result<Repeat> {
        const MAX: u32 = 100_000;
        let Some(node) = reader.node("until") else {
            for key in ["min", "max"] {
                if reader.node(key).is_some() {
                    return Err(reader.bad(key, format!("`{key}` has no meaning without `until`")));
                }
            }
            return Ok(Repeat::Runs(reader.within("runs", 1, 1..=MAX)?));
        };
        if reader.node("runs").is_some() {
            return Err(reader.bad("runs", "`runs` and `until` exclude each other"));
        }
        let text: String = reader.need("until")?;
        let (name, share) = text.split_once(' ').unwrap_or((&text, ""));
        let measure = Measure::ALL.iter().find(|(known, _)| *known == name);
        let share: Option<f64> =
            share.trim().strip_suffix('%').and_then(|share| share.trim().parse().ok());
        let sound = share.filter(|share| *share > 0.0 && *share <= 1000.0);
        let (Some((_, measure)), Some(share)) = (measure, sound) else {
            let expected = "`sd 5%`, `ci95 5%` or `ci99 2%`";
            let why = format!("`{text}` is no stopping rule (expected {expected})");
            return Err(reader.context.value_error(node, why));
        };
        let min = reader.within("min", 5, 2..=MAX)?;
        let max = reader.within("max", 100.max(min), 2..=MAX)?;
        if max < min {
            return Err(reader.bad("max", format!("max ({max}) is below min ({min})")));
        }
        Ok(Repeat::Until { measure: *measure, within: share / 100.0, min, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_t_is_that_of_the_tables() {
        let rows = [
            (1.0, 12.706, 63.657),
            (4.0, 2.776, 4.604),
            (9.0, 2.262, 3.250),
            (19.0, 2.093, 2.861),
            (99.0, 1.984, 2.626),
        ];
        for (freedom, t95, t99) in rows {
            assert!((student_t(0.95, freedom).unwrap() - t95).abs() < 6e-4, "{freedom}");
            assert!((student_t(0.99, freedom).unwrap() - t99).abs() < 6e-4, "{freedom}");
        }
    }

    /// Figures in published tables are not to change by how the sums are made.
    #[test]
    fn a_summary_is_that_of_the_textbook_to_the_bit() {
        let drawn = (1..200_u64).map(|i| (i.wrapping_mul(2_862_933_555_777_941_757) >> 40) as f64);
        let samples: Vec<f64> = drawn.map(|sample| sample / 7.0).collect();
        for count in [1, 2, 3, 50, samples.len()] {
            let (samples, n) = (&samples[..count], count as f64);
            let mean = samples.iter().sum::<f64>() / n;
            let squares = samples.iter().map(|sample| (sample - mean).powi(2)).sum::<f64>();
            let summary = SampleSummary::of(samples).unwrap();
            assert_eq!(summary.mean.to_bits(), mean.to_bits());
            let deviation = (squares / (n - 1.0)).sqrt();
            let expected = (count > 1).then_some(deviation.to_bits());
            assert_eq!(summary.standard_deviation.map(f64::to_bits), expected);
        }
        assert_eq!(SampleSummary::of(&[-0.0]).unwrap().mean.to_bits(), (-0.0_f64).to_bits());
        for none in [&[][..], &[1.0, f64::NAN], &[f64::INFINITY]] {
            assert_eq!(SampleSummary::of(none), None);
        }
    }

    #[test]
    fn both_figures_come_with_the_decision() {
        let rule =
            Repeat::Until { measure: Measure::StandardDeviation, within: 0.05, min: 2, max: 10 };
        let Decision::Enough { because, flows } = rule.decide(&[vec![98.0, 100.0, 102.0]]) else {
            panic!("2 % is within 5 %");
        };
        assert_eq!(because, Enough::Met);
        let summary = flows[0].unwrap();
        assert_eq!((summary.mean, summary.standard_deviation), (100.0, Some(2.0)));
        assert!((summary.half_width_95.unwrap() - 4.303 * 2.0 / 3f64.sqrt()).abs() < 2e-3);
    }

    #[test]
    fn a_spread_flow_is_run_on_up_to_the_limit() {
        let rule = Repeat::Until { measure: Measure::Interval99, within: 0.01, min: 3, max: 4 };
        let wild = vec![1.0, 9.0, 3.0];
        let calm = vec![5.0, 5.0, 5.0];
        assert_eq!(rule.decide(&[calm.clone(), wild.clone()]), Decision::Continue);
        assert_eq!(rule.decide(&[vec![5.0, 5.0]]), Decision::Continue);
        let more = [wild, vec![2.0]].concat();
        let met = |decision| match decision {
            Decision::Enough { because, .. } => Some(because),
            Decision::Continue => None,
        };
        assert_eq!(met(rule.decide(&[more])), Some(Enough::Limit));
        assert_eq!(met(rule.decide(&[calm])), Some(Enough::Met));
        assert_eq!(met(Repeat::Runs(3).decide(&[vec![1.0, 2.0]])), None);
        assert_eq!(met(Repeat::Runs(2).decide(&[vec![1.0, 2.0]])), Some(Enough::Runs));
    }
}

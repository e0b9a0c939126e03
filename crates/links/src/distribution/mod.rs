//! Random times and sizes: constant, uniform, exponential, Pareto, log-normal, or measured.
//!
//! Every value comes from *one* uniform number by inversion of the distribution function. So two
//! settings of a parameter see the same sequence of events (common random numbers), and no
//! library's choice of method can change results.

mod reading;

use reading::{RANDOM, RANDOM_SIZE};

use bentpipe_config::reader::Section;
use bentpipe_core::time::Duration;
use bentpipe_core::units::Bytes;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use statrs::distribution::{ContinuousCDF, Normal};

/// Random times and sizes with their keys.
pub const RANDOM_SECTIONS: &[&Section] = &[&RANDOM, &RANDOM_SIZE];

/// A distribution of positive numbers: seconds in a [`RandomTime`], bytes in a [`RandomSize`].
#[derive(Debug, Clone, PartialEq)]
pub enum Distribution {
    /// Always this.
    Constant(f64),
    /// Anything between the two, equally likely.
    Uniform(f64, f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Pareto: P(X > x) = (scale / x)^shape from `scale` on, cut at `max` (drawn again beyond it).
    Pareto {
        /// The least value.
        scale: f64,
        /// The exponent; a mean exists above 1, or where there is a `max`.
        shape: f64,
        /// The greatest value.
        max: Option<f64>,
    },
    /// Log-normal: ln X is normal around ln(median) with standard deviation sigma.
    LogNormal {
        /// Half of the values are less.
        median: f64,
        /// Of ln X.
        sigma: f64,
    },
    /// Points (value, cumulative probability) with straight lines between them.
    Measured(Vec<(f64, f64)>),
}

impl Distribution {
    /// A Pareto distribution with this mean, whose scale follows from it. With a `max`, the mean
    /// is that of the cut distribution. `None` if there is no such distribution.
    pub fn pareto_of_mean(mean: f64, shape: f64, max: Option<f64>) -> Option<Distribution> {
        let Some(max) = max else {
            let scale = mean * (shape - 1.0) / shape;
            return (shape > 1.0 && scale > 0.0).then_some(Distribution::Pareto {
                scale,
                shape,
                max: None,
            });
        };
        if !(mean < max && mean > 0.0 && shape > 0.0) {
            return None;
        }
        // The mean grows with the scale: bisect.
        let (mut low, mut high) = (0.0, mean);
        for _ in 0..200 {
            let scale = f64::midpoint(low, high);
            if (Distribution::Pareto { scale, shape, max: Some(max) }).mean() < mean {
                low = scale;
            } else {
                high = scale;
            }
        }
        let scale = f64::midpoint(low, high);
        (scale > 0.0).then_some(Distribution::Pareto { scale, shape, max: Some(max) })
    }

    /// The value below which a share `u`, 0 to 1, of all values lies.
    pub fn quantile(&self, u: f64) -> f64 {
        match self {
            Distribution::Constant(value) => *value,
            Distribution::Uniform(from, to) => from + u * (to - from),
            Distribution::Exponential(mean) => -mean * f64::ln_1p(-u),
            Distribution::Pareto { scale, shape, max } => {
                let beyond = max.map_or(0.0, |max| (scale / max).powf(*shape));
                scale / (1.0 - u * (1.0 - beyond)).powf(1.0 / shape)
            }
            Distribution::LogNormal { median, sigma } => {
                // Away from the infinite ends: 2^-54 is less than a draw can resolve.
                let u = u.clamp(f64::EPSILON / 4.0, 1.0 - f64::EPSILON / 2.0);
                median * (sigma * Normal::standard().inverse_cdf(u)).exp()
            }
            Distribution::Measured(points) => {
                let after = points.partition_point(|(_, cumulative)| *cumulative < u);
                let Some(&(value, cumulative)) = points.get(after) else {
                    return points.last().map_or(0.0, |(value, _)| *value);
                };
                let Some(&(below, share)) = after.checked_sub(1).and_then(|at| points.get(at))
                else {
                    return value;
                };
                below + (value - below) * (u - share) / (cumulative - share)
            }
        }
    }

    /// The mean; infinite for a Pareto distribution that has none.
    pub fn mean(&self) -> f64 {
        match self {
            Distribution::Constant(value) => *value,
            Distribution::Uniform(from, to) => f64::midpoint(*from, *to),
            Distribution::Exponential(mean) => *mean,
            Distribution::Pareto { scale, shape, max: None } if *shape > 1.0 => {
                scale * shape / (shape - 1.0)
            }
            Distribution::Pareto { max: None, .. } => f64::INFINITY,
            Distribution::Pareto { scale, shape, max: Some(max) } => {
                // ∫ x f(x) dx from scale to max, over the share that is kept.
                let kept = 1.0 - (scale / max).powf(*shape);
                let integral = if (shape - 1.0).abs() < 1e-9 {
                    scale * (max / scale).ln()
                } else {
                    let rest = (scale / max).powf(shape - 1.0);
                    scale * shape / (shape - 1.0) * (1.0 - rest)
                };
                if kept > 0.0 { integral / kept } else { *max }
            }
            Distribution::LogNormal { median, sigma } => median * (sigma * sigma / 2.0).exp(),
            Distribution::Measured(points) => {
                let first = points.first().map_or(0.0, |(value, share)| value * share);
                let steps = points.windows(2);
                let steps = steps.map(|w| f64::midpoint(w[0].0, w[1].0) * (w[1].1 - w[0].1));
                first + steps.sum::<f64>()
            }
        }
    }

    /// The next value.
    pub fn sample(&self, rng: &mut Pcg64Mcg) -> f64 {
        // A constant draws as well: whether it is one does not shift the numbers that follow.
        self.quantile(rng.random::<f64>())
    }
}

/// A random span of time.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomTime(
    /// In seconds.
    pub Distribution,
);

impl RandomTime {
    /// Always no time at all.
    pub const ZERO: RandomTime = RandomTime(Distribution::Constant(0.0));

    /// Always this.
    pub fn constant(time: Duration) -> RandomTime {
        RandomTime(Distribution::Constant(time.as_secs_f64()))
    }

    /// The next span, at most a century.
    pub fn sample(&self, rng: &mut Pcg64Mcg) -> Duration {
        Duration::from_nanos((self.0.sample(rng) * 1e9).round().clamp(0.0, 3.2e18) as u64)
    }

    /// The mean in seconds.
    pub fn mean_seconds(&self) -> f64 {
        self.0.mean()
    }
}

/// A random number of bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomSize {
    /// In bytes.
    pub distribution: Distribution,
    /// Sizes are rounded up to a multiple of this; one byte at least.
    pub multiple_of: u64,
}

impl RandomSize {
    /// Always this.
    pub fn constant(size: Bytes) -> RandomSize {
        RandomSize { distribution: Distribution::Constant(size.count() as f64), multiple_of: 1 }
    }

    /// The next size, one byte at least.
    pub fn sample(&self, rng: &mut Pcg64Mcg) -> Bytes {
        Bytes::new(self.round(self.distribution.sample(rng)))
    }

    /// The mean in bytes, of sizes as they are drawn: rounded up.
    pub fn mean_bytes(&self) -> f64 {
        // What rounding adds is less than a unit, however long the tail is: ten thousand equally
        // likely slices are exact to a unit's ten-thousandth.
        let slices = 10_000;
        let added = |slice: u32| {
            let value = self.distribution.quantile((f64::from(slice) + 0.5) / f64::from(slices));
            self.round(value) as f64 - value
        };
        self.distribution.mean() + (0..slices).map(added).sum::<f64>() / f64::from(slices)
    }

    fn round(&self, bytes: f64) -> u64 {
        let bytes = bytes.ceil().clamp(1.0, 1e18) as u64;
        bytes.div_ceil(self.multiple_of) * self.multiple_of
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean by the quantile function must be the stated mean.
    fn mean_by_quantiles(distribution: &Distribution) -> f64 {
        let slices = 1_000_000;
        let value =
            |slice: u32| distribution.quantile((f64::from(slice) + 0.5) / f64::from(slices));
        (0..slices).map(value).sum::<f64>() / f64::from(slices)
    }

    #[test]
    fn means_and_quantiles_agree() {
        let all = [
            Distribution::Constant(3.0),
            Distribution::Uniform(1.0, 5.0),
            Distribution::Exponential(2.0),
            Distribution::Pareto { scale: 1.0, shape: 2.5, max: None },
            Distribution::Pareto { scale: 1.0, shape: 1.0, max: Some(50.0) },
            Distribution::pareto_of_mean(10.0, 1.5, Some(100.0)).unwrap(),
            Distribution::LogNormal { median: 2.0, sigma: 0.5 },
            Distribution::Measured(vec![(1.0, 0.2), (2.0, 0.5), (10.0, 1.0)]),
        ];
        for distribution in all {
            let (stated, found) = (distribution.mean(), mean_by_quantiles(&distribution));
            assert!((found / stated - 1.0).abs() < 2e-3, "{distribution:?}: {stated} {found}");
        }
    }

    #[test]
    fn a_cut_pareto_has_its_mean_and_its_end() {
        let cut = Distribution::pareto_of_mean(10_000.0, 1.5, Some(100_000.0)).unwrap();
        assert!((cut.mean() - 10_000.0).abs() < 1e-6);
        assert!((cut.quantile(1.0) - 100_000.0).abs() < 1e-6);
        assert!(Distribution::pareto_of_mean(10.0, 0.9, None).is_none());
        assert!(Distribution::pareto_of_mean(10.0, 1.5, Some(9.0)).is_none());
    }

    #[test]
    fn sizes_are_whole_and_rounded_up() {
        let mut rng = crate::Seeds::of_run(1, 0).rng("sizes");
        let distribution = Distribution::Uniform(0.0, 2500.0);
        let size = RandomSize { distribution, multiple_of: 1000 };
        let sizes: Vec<u64> = (0..1000).map(|_| size.sample(&mut rng).count()).collect();
        assert!(sizes.iter().all(|size| [1000, 2000, 3000].contains(size)));
        // 0.4 × 1000 + 0.4 × 2000 + 0.2 × 3000
        assert!((size.mean_bytes() - 1800.0).abs() < 1.0, "{}", size.mean_bytes());
        // Whole bytes are half a byte more on the average, and a tail without end counts.
        let distribution = Distribution::pareto_of_mean(10_000.0, 1.5, None).unwrap();
        let size = RandomSize { distribution, multiple_of: 1 };
        assert!((size.mean_bytes() - 10_000.5).abs() < 0.01, "{}", size.mean_bytes());
        let size = RandomSize::constant(Bytes::new(1500));
        assert!((size.mean_bytes() - 1500.0).abs() < 1e-9, "{}", size.mean_bytes());
    }
}

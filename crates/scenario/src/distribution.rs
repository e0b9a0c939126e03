//! Random times and sizes: constant, uniform, exponential, Pareto, log-normal, or measured.
//!
//! Every value comes from *one* uniform number by inversion of the distribution function, so that
//! two settings of a parameter see the same sequence of events (common random numbers) and no
//! library's choice of method can change results.

use crate::document::{Node, Value};
use crate::error::Problem;
use crate::reader::{Context, Field, FromNode, Reader, Result, Section, field};
use crate::web;
use bentpipe_core::time::Duration;
use bentpipe_core::units::Bytes;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use statrs::distribution::{ContinuousCDF, Normal};

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
            return (scale > 0.0).then_some(Distribution::Pareto { scale, shape, max: None });
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
        let bytes = self.distribution.sample(rng).ceil().clamp(1.0, 1e18) as u64;
        Bytes::new(bytes.div_ceil(self.multiple_of) * self.multiple_of)
    }

    /// The mean in bytes, of sizes as they are rounded.
    pub fn mean_bytes(&self) -> f64 {
        if self.multiple_of == 1 {
            return self.distribution.mean();
        }
        // Ten thousand equally likely slices are exact enough for an offered load.
        let slices = 10_000;
        let unit = self.multiple_of as f64;
        let rounded = |slice: u32| {
            let value = self.distribution.quantile((f64::from(slice) + 0.5) / f64::from(slices));
            (value / unit).ceil().max(1.0) * unit
        };
        (0..slices).map(rounded).sum::<f64>() / f64::from(slices)
    }
}

const ABOUT: &str = "Wherever a random time or size is taken. A text alone is a constant. The unit \
                     is that of the values: `\"5s\"` for times, `\"10KB\"` for sizes. Each value \
                     comes from one uniform random number by inversion.";

const FIELDS: &[Field] = &[
    field("uniform", "two values `[least, most]`", "", "anything between the two"),
    field("exponential", "the mean", "", "exponential"),
    field("pareto", "the mean", "", "Pareto with this mean (of the cut distribution, with `max`)"),
    field("shape", "above 0; above 1 without `max`", "1.5", "the exponent of `pareto`"),
    field("max", "a value", "none", "`pareto` is cut here: values beyond are drawn again"),
    field("lognormal", "the median", "", "log-normal with this median"),
    field("sigma", "a number", "1", "the standard deviation of ln X of `lognormal`"),
    field(
        "measured",
        "a list of `[value, cumulative probability]`",
        "",
        "straight lines between the points",
    ),
    field(
        "like",
        "`mah-reply`, `mah-request`, `mah-think`, `tcplib-telnet`",
        "",
        "a published measurement: Mah's Web requests, replies and think times (INFOCOM 1997), keystrokes like tcplib's (Paxson and Floyd 1995)",
    ),
];

/// The reference of distributions.
pub(crate) const RANDOM: Section = Section {
    path: "a random time or size",
    about: ABOUT,
    fields: FIELDS,
    example: "start = { uniform = [\"0s\", \"5s\"] }\nreply = { pareto = \"10KB\", shape = 1.5, max = \"100KB\" }",
};

/// Sizes may also be rounded.
pub(crate) const RANDOM_SIZE: Section = Section {
    path: "a random size, also",
    about: "Sizes only.",
    fields: &[field(
        "multiple-of",
        "bytes",
        "1B",
        "sizes are rounded up to a multiple of this (a packet's payload, say)",
    )],
    example: "",
};

/// How a value with its unit becomes a number.
type Unit = fn(&Context<'_>, &Node) -> Result<f64>;

fn seconds(context: &Context<'_>, node: &Node) -> Result<f64> {
    Duration::from_node(context, node).map(|time| time.as_secs_f64())
}

fn bytes(context: &Context<'_>, node: &Node) -> Result<f64> {
    Bytes::from_node(context, node).map(|bytes| bytes.count() as f64)
}

impl FromNode for RandomTime {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<RandomTime> {
        if let Value::Table(_) = node.value {
            let reader = Reader::open(context, node, "a random time", &[&RANDOM])?;
            return Ok(RandomTime(distribution(&reader, seconds)?));
        }
        Ok(RandomTime(Distribution::Constant(seconds(context, node)?)))
    }
}

impl FromNode for RandomSize {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<RandomSize> {
        if let Value::Table(_) = node.value {
            let reader = Reader::open(context, node, "a random size", &[&RANDOM, &RANDOM_SIZE])?;
            let multiple_of = reader.or("multiple-of", Bytes::new(1))?.count();
            if !(1..=1_000_000_000).contains(&multiple_of) {
                return Err(reader.bad("multiple-of", "multiple-of must be 1B to 1GB"));
            }
            return Ok(RandomSize { distribution: distribution(&reader, bytes)?, multiple_of });
        }
        Ok(RandomSize {
            distribution: Distribution::Constant(bytes(context, node)?),
            multiple_of: 1,
        })
    }
}

fn distribution(reader: &Reader<'_>, unit: Unit) -> Result<Distribution> {
    const KINDS: [&str; 6] = ["uniform", "exponential", "pareto", "lognormal", "measured", "like"];
    let context = reader.context;
    let mut given = KINDS.into_iter().filter_map(|kind| Some((kind, reader.node(kind)?)));
    let Some((kind, node)) = given.next() else {
        let expected = format!("one of {}", KINDS.join(", "));
        let problem =
            Problem::Missing { key: "uniform".into(), table: reader.name.clone(), expected };
        return Err(context.error(reader.at, problem));
    };
    if let Some((second, node)) = given.next() {
        let why = format!("`{kind}` and `{second}` exclude each other");
        return Err(context.value_error(node, why));
    }
    match kind {
        "uniform" => {
            let Value::List(ends) = &node.value else {
                return Err(context.type_error(node, "a list of two values"));
            };
            let [from, to] = ends.as_slice() else {
                return Err(context.type_error(node, "a list of two values"));
            };
            let (from, to) = (unit(context, from)?, unit(context, to)?);
            if from > to {
                return Err(context.value_error(node, "the first of the two values is the least"));
            }
            Ok(Distribution::Uniform(from, to))
        }
        "exponential" => Ok(Distribution::Exponential(unit(context, node)?)),
        "pareto" => {
            let mean = unit(context, node)?;
            let shape = reader.or("shape", 1.5)?;
            let max = reader.node("max").map(|max| unit(context, max)).transpose()?;
            Distribution::pareto_of_mean(mean, shape, max).ok_or_else(|| {
                let why = "no Pareto distribution has this mean \
                           (expected shape above 1, or a max above the mean)";
                context.value_error(node, why)
            })
        }
        "lognormal" => {
            let sigma = reader.within("sigma", 1.0, 0.0..=20.0)?;
            Ok(Distribution::LogNormal { median: unit(context, node)?, sigma })
        }
        "measured" => measured(context, node, unit),
        _ => {
            let names = web::MEASURED.map(|(name, _)| name);
            let found = context.one_of(node, "measurement", &names)?;
            Ok(Distribution::Measured(web::MEASURED[found].1.to_vec()))
        }
    }
}

fn measured(context: &Context<'_>, node: &Node, unit: Unit) -> Result<Distribution> {
    let expected = "a list of [value, cumulative probability] that rises to probability 1";
    let Value::List(list) = &node.value else { return Err(context.type_error(node, expected)) };
    let mut points: Vec<(f64, f64)> = Vec::new();
    for item in list {
        let Value::List(pair) = &item.value else { return Err(context.type_error(item, expected)) };
        let [value, share] = pair.as_slice() else {
            return Err(context.type_error(item, expected));
        };
        let point = (unit(context, value)?, f64::from_node(context, share)?);
        let rises = points.last().is_none_or(|last| last.0 <= point.0 && last.1 < point.1);
        if !rises || !(0.0..=1.0).contains(&point.1) {
            return Err(context.value_error(item, format!("expected {expected}")));
        }
        points.push(point);
    }
    if points.last().is_none_or(|last| last.1 < 1.0) {
        return Err(context.value_error(node, format!("expected {expected}")));
    }
    Ok(Distribution::Measured(points))
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
    }
}

//! Random times and sizes as they are read.

use super::{Distribution, RandomSize, RandomTime};
use crate::measured;
use bentpipe_config::Problem;
use bentpipe_config::document::{Node, Value};
use bentpipe_config::reader::{Context, Field, FromNode, Reader, Result, Section, field};
use bentpipe_core::text::Choice;
use bentpipe_core::time::Duration;
use bentpipe_core::units::Bytes;
use strum::VariantArray;

const ABOUT: &str = "Wherever a random time or size is taken. A text alone is a constant. The unit \
                     is that of the values: `\"5s\"` for times, `\"10KB\"` for sizes. Each value \
                     comes from one uniform random number by inversion.";

const FIELDS: &[Field] = &[
    field("uniform", "two values `[min, max]`", "", "anything between the two"),
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
pub(super) const RANDOM: Section = Section {
    path: "a random time or size",
    about: ABOUT,
    fields: FIELDS,
    example: "start = { uniform = [\"0s\", \"5s\"] }\nreply = { pareto = \"10KB\", shape = 1.5, max = \"100KB\" }",
};

/// Sizes may also be rounded.
pub(super) const RANDOM_SIZE: Section = Section {
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

/// What kind of distribution a table describes: the key that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::VariantArray, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
enum Kind {
    Uniform,
    Exponential,
    Pareto,
    Lognormal,
    Measured,
    Like,
}

fn distribution(reader: &Reader<'_>, unit: Unit) -> Result<Distribution> {
    let context = reader.context;
    let kinds = Kind::VARIANTS.iter();
    let mut given = kinds.filter_map(|kind| Some((*kind, reader.node(kind.name())?)));
    let Some((kind, node)) = given.next() else {
        let expected = format!("one of {}", Kind::names());
        let problem =
            Problem::Missing { key: "uniform".into(), table: reader.name.clone(), expected };
        return Err(context.error(reader.at, problem));
    };
    if let Some((second, node)) = given.next() {
        let why = format!("`{}` and `{}` exclude each other", kind.name(), second.name());
        return Err(context.value_error(node, why));
    }
    match kind {
        Kind::Uniform => {
            let Value::List(ends) = &node.value else {
                return Err(context.type_error(node, "a list of two values"));
            };
            let [from, to] = ends.as_slice() else {
                return Err(context.type_error(node, "a list of two values"));
            };
            let (from, to) = (unit(context, from)?, unit(context, to)?);
            if from > to {
                return Err(context.value_error(node, "the first of the two values is the minimum"));
            }
            Ok(Distribution::Uniform(from, to))
        }
        Kind::Exponential => Ok(Distribution::Exponential(unit(context, node)?)),
        Kind::Pareto => {
            let mean = unit(context, node)?;
            let shape = reader.or("shape", 1.5)?;
            let max = reader.node("max").map(|max| unit(context, max)).transpose()?;
            Distribution::pareto_of_mean(mean, shape, max).ok_or_else(|| {
                let why = "no Pareto distribution has this mean \
                           (expected shape above 1, or a max above the mean)";
                context.value_error(node, why)
            })
        }
        Kind::Lognormal => {
            let sigma = reader.within("sigma", 1.0, 0.0..=20.0)?;
            Ok(Distribution::LogNormal { median: unit(context, node)?, sigma })
        }
        Kind::Measured => measured(context, node, unit),
        Kind::Like => {
            let names = measured::MEASURED.map(|(name, _)| name);
            let found = context.one_of(node, "measurement", &names)?;
            Ok(Distribution::Measured(measured::MEASURED[found].1.to_vec()))
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

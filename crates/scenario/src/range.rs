//! Ranges: so many values from one to another.

use bentpipe_config::document::{Node, Value};
use bentpipe_config::reader::{Context, Reader, Result, Section, field, one_of};
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Rate, parse_duration};

pub(crate) const RANGE: Section = Section {
    path: "sweep, a range",
    about: "Evenly spaced values, both ends included: numbers, times, rates, sizes, or any number \
            with the same unit at both ends.",
    fields: &[
        field("from", "a value", "", "the first"),
        field("to", "a value", "", "the last"),
        field("steps", "2 to 100000", "", "how many values"),
        one_of::<Scale>("scale", "`linear`", "`log`: the same factor between two"),
    ],
    example: "\"link.sat.loss\" = { from = 1e-6, to = 1e-2, steps = 5, scale = \"log\" }",
};

/// The most points of an experiment.
/// How the values of a range are spread.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Scale {
    #[default]
    Linear,
    Log,
}

/// The values of `{ from, to, steps, scale }`.
pub(crate) fn range(context: &Context<'_>, node: &Node) -> Result<Vec<Node>> {
    let reader = Reader::open(context, node, "a range", &[&RANGE])?;
    reader.need_node("steps")?;
    let mut values = spaced(&reader, node, reader.within("steps", 2, 2..=100_000_usize)?)?;
    // Whole numbers may fall together.
    values.dedup_by(|a, b| a.value == b.value);
    Ok(values)
}

/// So many values of `{ from, to, scale }`.
pub(crate) fn spread(context: &Context<'_>, node: &Node, many: usize) -> Result<Vec<Node>> {
    let reader = Reader::open(context, node, "a range", &[&RANGE])?;
    if reader.node("steps").is_some() {
        return Err(reader.bad("steps", format!("there are {many} copies: `steps` is not needed")));
    }
    spaced(&reader, node, many)
}

fn spaced(reader: &Reader<'_>, node: &Node, steps: usize) -> Result<Vec<Node>> {
    let context = reader.context;
    let (from, to) = (reader.need_node("from")?, reader.need_node("to")?);
    let log = reader.choice::<Scale>("scale")? == Scale::Log;
    let quantity = |node: &Node| {
        Quantity::of(node).ok_or_else(|| {
            context.type_error(node, "a number, alone or with a unit, such as \"10ms\"")
        })
    };
    let (first, last) = (quantity(from)?, quantity(to)?);
    if first.unit != last.unit {
        let why = format!("{} and {} are not of one kind", from.label(), to.label());
        return Err(context.value_error(to, why));
    }
    if log && (first.number <= 0.0 || last.number <= 0.0) {
        return Err(context.value_error(node, "a log scale goes from and to numbers above 0"));
    }
    let value = |step: usize| {
        let share = step as f64 / (steps - 1) as f64;
        let number = if step == 0 {
            first.number
        } else if step == steps - 1 {
            last.number
        } else if log {
            first.number * (last.number / first.number).powf(share)
        } else {
            first.number + (last.number - first.number) * share
        };
        Node { value: Quantity { number, ..first.clone() }.value(), at: node.at }
    };
    Ok((0..steps).map(value).collect())
}

/// A number with its unit, in the unit's base.
#[derive(Debug, Clone, PartialEq)]
struct Quantity {
    number: f64,
    unit: Unit,
}

#[derive(Debug, Clone, PartialEq)]
enum Unit {
    /// A number in TOML: whole, or not.
    Number { whole: bool },
    /// A time, in nanoseconds.
    Time,
    /// A rate, in bit/s.
    Rate,
    /// Bytes.
    Bytes,
    /// Any other text behind a number.
    Other { unit: String, whole: bool },
}

impl Quantity {
    fn of(node: &Node) -> Option<Quantity> {
        let text = match &node.value {
            Value::Integer(number) => {
                return Some(Quantity {
                    number: *number as f64,
                    unit: Unit::Number { whole: true },
                });
            }
            Value::Float(number) => {
                return Some(Quantity { number: *number, unit: Unit::Number { whole: false } });
            }
            Value::Text(text) => text,
            _ => return None,
        };
        if let Ok(time) = parse_duration(text) {
            return Some(Quantity { number: time.as_nanos() as f64, unit: Unit::Time });
        }
        if let Ok(rate) = text.parse::<Rate>() {
            return Some(Quantity { number: rate.bits_per_sec() as f64, unit: Unit::Rate });
        }
        if let Ok(bytes) = text.parse::<Bytes>() {
            return Some(Quantity { number: bytes.count() as f64, unit: Unit::Bytes });
        }
        let end = text.find(|char: char| char.is_alphabetic() || char == '%')?;
        let (number, unit) = text.split_at(end);
        let whole = !number.contains('.');
        let unit = Unit::Other { unit: unit.trim().to_owned(), whole };
        Some(Quantity { number: number.trim().parse().ok()?, unit })
    }

    fn value(&self) -> Value {
        let number = self.number;
        match &self.unit {
            Unit::Number { whole: true } => Value::Integer(number.round() as i64),
            Unit::Number { whole: false } => Value::Float(number),
            Unit::Time => Value::Text(time(Duration::from_nanos(number.round() as u64))),
            Unit::Rate => Value::Text(Rate::from_bits_per_sec(number.round() as u64).to_string()),
            Unit::Bytes => Value::Text(Bytes::new(number.round() as u64).to_string()),
            Unit::Other { unit, whole: true } => Value::Text(format!("{}{unit}", number.round())),
            Unit::Other { unit, whole: false } => Value::Text(format!("{number}{unit}")),
        }
    }
}

/// Exactly, in the largest unit that needs no more than a few digits.
fn time(time: Duration) -> String {
    let nanos = time.as_nanos();
    match nanos {
        n if n % 1_000_000_000 == 0 => format!("{}s", n / 1_000_000_000),
        n if n >= 1_000_000 => format!("{}ms", n as f64 / 1e6),
        n if n >= 1000 => format!("{}us", n as f64 / 1e3),
        n => format!("{n}ns"),
    }
}

//! Numbers that are printed elsewhere, next to a figure's own.

use super::{Word, reading::word};
use bentpipe_config::document::{Node, Value};
use bentpipe_config::reader::{Context, FromNode, Reader, Result, Section, field};

/// A number of a paper or of a data sheet. Values are in the axes' base units.
#[derive(Debug, Clone, PartialEq)]
pub struct PrintedValue {
    /// Its place from left to right; `None` for the whole axis.
    pub x: Option<PrintedPlace>,
    /// The number.
    pub y: PrintedRange,
    /// The curve that it belongs to, by its name in the legend.
    pub curve: Option<Word>,
    /// The panel that it belongs to, by its title; all without it.
    pub panel: Option<Word>,
    /// Its name in the legend.
    pub label: String,
}

/// A place on the axis below.
#[derive(Debug, Clone, PartialEq)]
pub enum PrintedPlace {
    /// On an axis of numbers.
    At(f64),
    /// On an axis of names: one of them, as it is shown.
    Named(Word),
}

/// A printed number, and how sure its authors are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PrintedRange {
    /// A number, with half of its interval if that is printed.
    Value {
        /// The number.
        y: f64,
        /// Half of the interval.
        interval: Option<f64>,
    },
    /// Two ends, and nothing of what is between them.
    Between(f64, f64),
}

/// Without a label.
const LABEL: &str = "printed in the paper";

pub(crate) const PRINTED: Section = Section {
    path: "figure.NAME.printed",
    about: "A number that is printed elsewhere, as a hollow mark over the data. Values are in s, bit/s, bytes or 1. \
            It changes no run, and is not in the figure's CSV.",
    fields: &[
        field(
            "x",
            "a number, or a name on the axis",
            "the whole axis",
            "where; without it, a line from left to right",
        ),
        field(
            "y",
            "a number, or a list of two",
            "",
            "the number; of two, the ends of what is said to be between them",
        ),
        field("interval", "a number", "none", "half of its interval"),
        field(
            "curve",
            "a curve's name",
            "none",
            "the curve of the legend whose color, and place among bars, it has",
        ),
        field("panel", "a panel's title", "all panels", "where it stands"),
        field("label", "a text", "`printed in the paper`", "in the legend"),
    ],
    example: "[sweep]\n\"link.sat.delay\" = [\"20ms\", \"250ms\"]\n[figure.goodput]\ny = \"goodput_bps\"\nprinted = [{ x = 0.25, y = 1.2e6, interval = 5e4 }, { y = [2.4e4, 6.4e4], label = \"printed: 24 to 64 kbit/s\" }]",
};

impl PrintedValue {
    pub(super) fn read(context: &Context<'_>, node: &Node) -> Result<PrintedValue> {
        let reader = Reader::open(context, node, "a value of printed", &[&PRINTED])?;
        let place = |node: &Node| match &node.value {
            Value::Text(_) => word(context, node).map(PrintedPlace::Named),
            _ => f64::from_node(context, node).map(PrintedPlace::At),
        };
        let at = reader.need_node("y")?;
        let interval: Option<f64> = reader.maybe("interval")?;
        let y = match (&at.value, interval) {
            (Value::List(_), Some(_)) => {
                return Err(context.value_error(at, "two ends have no `interval`"));
            }
            (Value::List(_), None) => {
                let (from, to) = super::reading::ends(context, at)?;
                PrintedRange::Between(from, to)
            }
            (_, Some(interval)) if interval < 0.0 => {
                return Err(
                    context.value_error(node, "`interval` is half of one, and not negative")
                );
            }
            (_, interval) => PrintedRange::Value { y: f64::from_node(context, at)?, interval },
        };
        let maybe = |key: &str| reader.node(key).map(|node| word(context, node)).transpose();
        Ok(PrintedValue {
            x: reader.node("x").map(place).transpose()?,
            y,
            curve: maybe("curve")?,
            panel: maybe("panel")?,
            label: reader.or("label", LABEL.to_owned())?,
        })
    }
}

impl PrintedRange {
    /// Its middle.
    pub fn middle(self) -> f64 {
        match self {
            PrintedRange::Value { y, .. } => y,
            PrintedRange::Between(from, to) => f64::midpoint(from, to),
        }
    }

    /// Half of what it spans, if it spans anything.
    pub fn half(self) -> Option<f64> {
        match self {
            PrintedRange::Value { interval, .. } => interval,
            PrintedRange::Between(from, to) => Some((to - from) / 2.0),
        }
    }
}

//! Figures of an experiment's results: what they show, in the words of its file.
//!
//! Which columns there are is not known here, so that names stay texts with their positions. A
//! figure is no part of a run: changing one makes no run anew.

mod printed;
mod reading;

pub(crate) use printed::PRINTED;
pub use printed::{PrintedPlace, PrintedRange, PrintedValue};
pub(crate) use reading::read;

use bentpipe_config::SourcePosition;
use bentpipe_config::reader::{Section, field, one_of, some_of};

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its name in the file, and that of its own files.
    pub name: String,
    /// Where it stands.
    pub position: SourcePosition,
    /// What runs from left to right.
    pub x: Option<Word>,
    /// What runs from bottom to top.
    pub y: Word,
    /// The table that has `y`.
    pub table: Option<Word>,
    /// What makes a curve of its own.
    pub curves: Option<Vec<Word>>,
    /// What makes a panel of its own.
    pub panels: Vec<Word>,
    /// How it is drawn.
    pub kind: Option<FigureKind>,
    /// What error bars say.
    pub errors: Errors,
    /// Which axes are logarithmic.
    pub log: Vec<AxisName>,
    /// Columns and which of their values are shown.
    pub only: Vec<(Word, Vec<String>)>,
    /// Columns and what their values are called, in the order of the sweep.
    pub names: Vec<(Word, Vec<String>)>,
    /// Of which run series are.
    pub run: u32,
    /// `y` as a share of its sum in the run.
    pub share: bool,
    /// `y` is divided by this, and has no unit.
    pub per: Option<f64>,
    /// `y` is shown modulo this, after the division.
    pub modulo: Option<f64>,
    /// What is said of the axis below.
    pub x_axis: AxisText,
    /// What is said of the axis on the left.
    pub y_axis: AxisText,
    /// Lines to compare with.
    pub references: Vec<ReferenceLine>,
    /// Numbers that are printed elsewhere, to compare with.
    pub printed: Vec<PrintedValue>,
    /// Over it.
    pub title: String,
    /// Below it.
    pub caption: String,
}

/// A name in the file, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The name.
    pub text: String,
    /// Where it stands.
    pub position: SourcePosition,
}

/// What is said of an axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AxisText {
    /// Its name, if it is not the column's.
    pub label: Option<String>,
    /// The unit that is shown, if it is not the one that makes numbers short.
    pub unit: Option<String>,
    /// Its ends, in the base unit, if they are not the data's.
    pub range: Option<(f64, f64)>,
}

/// A line that is no data. Values are in the axes' base units.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceLine {
    /// Which.
    pub line: Line,
    /// What it is, in the legend.
    pub label: String,
}

/// The form of a [`ReferenceLine`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Line {
    /// At this y.
    Horizontal(f64),
    /// At this x.
    Vertical(f64),
    /// y = factor · x ^ exponent.
    Power {
        /// The factor.
        factor: f64,
        /// The exponent.
        exponent: f64,
    },
}

/// How a figure is drawn.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum FigureKind {
    /// Means, joined by lines.
    Lines,
    /// Means, or a mark for each thing if `x` is one of its figures.
    Points,
    /// Means as bars.
    Bars,
    /// The distribution of all values.
    Cdf,
    /// Quartiles of all values.
    Box,
    /// Values over time.
    Series,
    /// Segments and acknowledgments over time.
    Sequence,
}

/// What error bars say.
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
pub enum Errors {
    /// There are none.
    None,
    /// The sample standard deviation over the runs.
    Sd,
    /// The mean's 95 % confidence interval.
    #[default]
    Ci95,
    /// The mean's 99 % confidence interval.
    Ci99,
}

/// One of the two axes.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum AxisName {
    /// Below.
    X,
    /// On the left.
    Y,
}

pub(crate) const FIGURE: Section = Section {
    path: "figure.NAME",
    about: "A figure of the results ([figures.md](figures.md)): `NAME.svg`, `.png` and `.csv` in the folder's `figures`. It is \
            no part of the runs: after a change of it nothing is run again. A file without any gets what follows from its sweep and \
            its `[record]`. A column is a swept path, or a column of a table of results ([metrics.md](metrics.md)).",
    fields: &[
        field(
            "x",
            "a column, or `time`",
            "the first swept number",
            "what runs from left to right; a number that is not swept gives a point for each flow, link, group or transfer",
        ),
        field("y", "a column, or a recorded series", "", "what runs from bottom to top"),
        field(
            "table",
            "a table's name",
            "the first with that column",
            "where `y` is from: `results`, `links` …",
        ),
        field(
            "curves",
            "a column, or a list",
            "what is swept and not in `x` or `panels`, and flows if there are several",
            "what makes a curve of its own; `flows` is `flow` without the numbers of copies",
        ),
        field("panels", "a column, or a list", "`[]`", "what makes a panel of its own"),
        one_of::<FigureKind>(
            "kind",
            "`lines` over numbers, `bars` over names, `series` over time",
            "`cdf` and `box` are of all values, the others of the runs' means",
        ),
        one_of::<Errors>(
            "errors",
            "`ci95`",
            "error bars: the standard deviation over the runs, or a confidence interval of their mean",
        ),
        some_of::<AxisName>("log", "which axes are logarithmic"),
        field(
            "where",
            "a table: a column and its values",
            "`{}`",
            "only these; `flow = \"main\"` is all copies of it, `link = \"sat\"` both directions",
        ),
        field(
            "names",
            "a table: a column and a list of texts",
            "`{}`",
            "what its values are called, in the order of the sweep or the table",
        ),
        field("run", "a whole number", "0", "of which run time series are"),
        field(
            "share",
            "true or false",
            "false",
            "`y` as a share of its sum over what is shown of the same run",
        ),
        field(
            "y-per",
            "a number",
            "1",
            "`y` is divided by it and has no unit: offsets in segments, with a segment's bytes",
        ),
        field(
            "y-modulo",
            "a number",
            "none",
            "`y` begins again at zero whenever it comes to this; curves over time are interrupted there",
        ),
        field("x-label", "a text", "by the column's name", "the axis' name"),
        field("y-label", "a text", "by the column's name", "the axis' name"),
        field(
            "x-unit",
            "a unit such as `\"ms\"`",
            "by the size of the numbers",
            "in which numbers are shown",
        ),
        field(
            "y-unit",
            "a unit such as `\"Mbit/s\"`",
            "by the size of the numbers",
            "in which numbers are shown",
        ),
        field(
            "x-range",
            "a list of two numbers",
            "the data's",
            "the axis' ends, in s, bit/s, bytes or 1",
        ),
        field(
            "y-range",
            "a list of two numbers",
            "the data's",
            "the axis' ends, in s, bit/s, bytes or 1",
        ),
        field("references", "a list of tables", "`[]`", "lines to compare with"),
        field(
            "printed",
            "a list of tables",
            "`[]`",
            "numbers that are printed elsewhere, such as a paper's, as hollow marks over the data",
        ),
        field("title", "a text", "the file's, and what is shown", "over it"),
        field("caption", "a text", "", "below it; what error bars are is added"),
    ],
    example: "[sweep]\n\"link.sat.delay\" = [\"20ms\", \"250ms\"]\n[figure.goodput]\nx = \"link.sat.delay\"\ny = \"goodput_bps\"\ncaption = \"What the delay costs.\"",
};

pub(crate) const REFERENCE: Section = Section {
    path: "figure.NAME.references",
    about: "A line to compare with: `x`, `y`, or `y = factor · x ^ exponent`. Values are in s, bit/s, bytes or 1.",
    fields: &[
        field("x", "a number", "", "a line from bottom to top"),
        field("y", "a number", "", "a line from left to right"),
        field("factor", "a number", "", "of a power"),
        field("exponent", "a number", "1", "of a power"),
        field("label", "a text", "none", "in the legend"),
    ],
    example: "[sweep]\n\"link.sat.delay\" = [\"20ms\", \"250ms\"]\n[figure.goodput]\ny = \"goodput_bps\"\nreferences = [{ y = 1e6, label = \"the link\" }, { factor = 2e4, exponent = -1 }]",
};

impl Figure {
    /// A figure of `y` of which nothing else is said.
    pub fn new(name: impl Into<String>, y: impl Into<String>) -> Figure {
        let position =
            SourcePosition { file: "a figure".to_owned(), line: 0, column: 0, path: String::new() };
        Figure {
            name: name.into(),
            y: Word { text: y.into(), position: position.clone() },
            position,
            x: None,
            table: None,
            curves: None,
            panels: Vec::new(),
            kind: None,
            errors: Errors::default(),
            log: Vec::new(),
            only: Vec::new(),
            names: Vec::new(),
            run: 0,
            share: false,
            per: None,
            modulo: None,
            x_axis: AxisText::default(),
            y_axis: AxisText::default(),
            references: Vec::new(),
            printed: Vec::new(),
            title: String::new(),
            caption: String::new(),
        }
    }
}

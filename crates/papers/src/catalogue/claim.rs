//! A claim of a paper: its words, its numbers, and the ranges that are accepted.

use super::{Accepted, Definitions, Entry, Expression};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Value;

/// A claim of the paper.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Its id.
    pub id: String,
    /// Its kind and weight.
    pub entry: Entry,
    /// The statement, in our words.
    pub says: String,
    /// Why it does not hold, or cannot be decided.
    pub explanation: Option<String>,
    /// The explanation's figures that its runs do not give. They are the paper's, another source's,
    /// or of experiments of their own.
    pub stated: Vec<String>,
    /// The cause, where it is not reproduced.
    pub cause: Option<Cause>,
    /// The accepted ranges, by its numbers' names.
    pub accepted: BTreeMap<String, Accepted>,
    /// The ranges that the paper's own words bear, where `accepted` asks for more.
    pub words: BTreeMap<String, Accepted>,
    /// The parameter that was fitted until it held, and how: it confirms nothing then.
    pub calibrated: Option<String>,
    /// The id of a claim with the same number or cause. Both count once.
    pub counted_with: Option<String>,
    /// Its measurements, by the numbers' names. Without any, the function of its id does it.
    pub checks: Vec<Check>,
}

/// The cause why a claim is not reproduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The paper is wrong, contradicts itself, or does not state a parameter.
    Paper,
    /// The number that was asked for is ours, and more than the paper's words say.
    Threshold,
    /// A value that was free for us to choose.
    Choice,
    /// A fault or a simplification of ours.
    Ours,
    /// Too few runs for what chance does.
    Chance,
    /// Not known.
    Unknown,
}

impl Cause {
    /// All, in the report's order.
    pub const ALL: [Cause; 6] =
        [Cause::Paper, Cause::Threshold, Cause::Choice, Cause::Ours, Cause::Chance, Cause::Unknown];

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Cause::Paper => "The paper is wrong, contradicts itself, or does not state a parameter",
            Cause::Threshold => "The number is ours, and asks for more than the paper's words",
            Cause::Choice => "A value was free for us to choose",
            Cause::Ours => "Ours: a fault or a simplification",
            Cause::Chance => "Too few runs for what chance does",
            Cause::Unknown => "Not known",
        }
    }
}

/// A number that a claim is about.
#[derive(Debug, Clone)]
pub struct Check {
    /// Its name; what is accepted has the same.
    pub name: String,
    /// What it is.
    pub form: Form,
}

/// How a number comes about. With several runs there is one for each, and figures of the same run
/// belong together: they have the same random numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// What an expression reduces to.
    Expression(Expression),
    /// The measured one.
    Value(Measure),
    /// The first divided by the second.
    Ratio(Box<[Measure; 2]>),
    /// The first less the second.
    Difference(Box<[Measure; 2]>),
    /// The smallest of the differences between each and the one before it: above zero, they are in
    /// order.
    Order(Vec<Measure>),
    /// How many points the sweep of this experiment has: it was run, and can be drawn.
    Points(String),
    /// How many points of this experiment were measured on real hosts.
    LivePoints(String),
    /// What was read off the packets of an experiment's only point on real hosts: a column of
    /// [`crate::live::bottleneck`], and its divisor, if there is one.
    LivePackets {
        /// The experiment.
        scenario: String,
        /// The column.
        column: String,
        /// Divided by this one.
        over: Option<String>,
    },
    /// What real hosts have given divided by what the simulator has, at the point where that is
    /// smallest.
    LiveLeast(Measure),
    /// The same where it is most.
    LiveMost(Measure),
}

/// A cell of a table of results.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Measure {
    /// Of which experiment; none needed if there is one.
    pub scenario: Option<String>,
    /// Of this flow: table `results`.
    pub flow: Option<String>,
    /// Of this link: table `links`.
    pub link: Option<String>,
    /// The link's direction: the node that it leads away from.
    pub from: Option<String>,
    /// Of this group of flows: table `groups`.
    pub group: Option<String>,
    /// Of the run as a whole: table `runs`.
    #[serde(default)]
    pub run: bool,
    /// Which column.
    pub column: Option<String>,
    /// The value is multiplied by this.
    pub scale: Option<f64>,
    /// At which point of the sweep: its fields' values.
    #[serde(default)]
    pub at: BTreeMap<String, Value>,
}

impl Measure {
    /// What it does not say, as `default` does.
    fn or(self, default: &Measure) -> Measure {
        let named = self.run || self.flow.is_some() || self.link.is_some() || self.group.is_some();
        let other = |own: Option<String>, theirs: &Option<String>| {
            own.or_else(|| theirs.clone().filter(|_| !named))
        };
        let mut at = default.at.clone();
        at.extend(self.at);
        Measure {
            scenario: self.scenario.or_else(|| default.scenario.clone()),
            flow: other(self.flow, &default.flow),
            link: other(self.link, &default.link),
            from: self.from.or_else(|| default.from.clone()),
            group: other(self.group, &default.group),
            run: self.run || (!named && default.run),
            column: self.column.or_else(|| default.column.clone()),
            scale: self.scale.or(default.scale),
            at,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct ClaimFile {
    entry: Entry,
    says: String,
    explanation: Option<String>,
    #[serde(default)]
    stated: Vec<String>,
    cause: Option<Cause>,
    accepted: BTreeMap<String, Accepted>,
    #[serde(default)]
    words: BTreeMap<String, Accepted>,
    calibrated: Option<String>,
    counted_with: Option<String>,
    /// What its checks do not say.
    #[serde(default)]
    measure: Measure,
    #[serde(default)]
    check: BTreeMap<String, CheckFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
enum CheckFile {
    Is(String),
    Value(Measure),
    Ratio([Measure; 2]),
    Difference([Measure; 2]),
    Order(Vec<Measure>),
    Points(String),
    LivePoints(String),
    LivePackets { scenario: String, column: String, over: Option<String> },
    LiveLeast(Measure),
    LiveMost(Measure),
}

impl ClaimFile {
    /// The claim `id`; `default` has what its measures do not say, `definitions` what its
    /// expressions may use.
    ///
    /// # Errors
    /// An expression is wrong.
    pub(crate) fn read(
        self,
        id: String,
        default: &Measure,
        definitions: &Definitions,
    ) -> Result<Claim, String> {
        let default = self.measure.or(default);
        let checks = self.check.into_iter().map(|(name, check)| {
            let form = form(check, &default, definitions);
            let form = form.map_err(|why| format!("{id}, {name}: {why}"))?;
            Ok(Check { name, form })
        });
        let checks = checks.collect::<Result<Vec<Check>, String>>()?;
        Ok(Claim {
            id,
            entry: self.entry,
            says: self.says,
            explanation: self.explanation,
            stated: self.stated,
            cause: self.cause,
            accepted: self.accepted,
            words: self.words,
            calibrated: self.calibrated,
            counted_with: self.counted_with,
            checks,
        })
    }
}

fn form(check: CheckFile, default: &Measure, definitions: &Definitions) -> Result<Form, String> {
    let pair = |measures: [Measure; 2]| Box::new(measures.map(|measure| measure.or(default)));
    Ok(match check {
        CheckFile::Is(text) => Form::Expression(Expression::read(&text, definitions)?),
        CheckFile::Value(measure) => Form::Value(measure.or(default)),
        CheckFile::Ratio(measures) => Form::Ratio(pair(measures)),
        CheckFile::Difference(measures) => Form::Difference(pair(measures)),
        CheckFile::Points(scenario) => Form::Points(scenario),
        CheckFile::LivePoints(scenario) => Form::LivePoints(scenario),
        CheckFile::LivePackets { scenario, column, over } => {
            Form::LivePackets { scenario, column, over }
        }
        CheckFile::LiveLeast(measure) => Form::LiveLeast(measure.or(default)),
        CheckFile::LiveMost(measure) => Form::LiveMost(measure.or(default)),
        CheckFile::Order(measures) => {
            Form::Order(measures.into_iter().map(|measure| measure.or(default)).collect())
        }
    })
}

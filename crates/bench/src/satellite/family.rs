//! Cases from a file: scenarios with sweeps, and what is wanted of their points.

use super::case::{Case, Column, Figures, Seeds};
use super::limit::Limit;
use super::measure::LINK;
use super::target::{Target, TargetError};
use crate::BenchError;
use crate::files::Files;
use bentpipe_lab::ExperimentPart;
use bentpipe_scenario::{Change, Experiment, RunEnd, VARIANT};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::slice;
use std::sync::Arc;
use toml::{Table, Value};

/// A file of cases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FamilyFile {
    /// What the cases have in common, for readers.
    #[expect(dead_code, reason = "for readers of the file")]
    about: String,
    /// By names that say nothing outside of the file.
    cases: Table,
}

/// Cases that share an experiment: its points are theirs, and its variants are their columns.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Family {
    /// What a case is called. `{link.sat.loss}` is that field's value at its points.
    name: String,
    #[serde(default)]
    seeds: Seeds,
    /// Whether they take minutes each.
    #[serde(default)]
    long: bool,
    /// Whether their times stand next to an ideal sender's.
    #[serde(default)]
    limit: bool,
    /// Columns that are variants of other names.
    #[serde(default)]
    columns: BTreeMap<Column, String>,
    /// The figures that are no times, and of which column they are.
    figures: Option<Figures>,
    /// The column with a gateway, and the one without, whose ratio is shown.
    ratio: Option<(Column, Column)>,
    #[serde(default)]
    target: Vec<Wanted>,
    #[serde(flatten)]
    experiment: ExperimentPart,
}

/// A target, of all cases or of those at some points.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Value")]
struct Wanted {
    target: Target,
    /// The values of swept fields: one each, or several.
    at: BTreeMap<String, Value>,
}

impl TryFrom<Value> for Wanted {
    type Error = String;

    fn try_from(value: Value) -> Result<Wanted, String> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct AtPoints {
            wants: Target,
            at: BTreeMap<String, Value>,
        }
        match value {
            Value::String(text) => {
                let target = text.parse().map_err(|error: TargetError| error.to_string())?;
                Ok(Wanted { target, at: BTreeMap::new() })
            }
            other => {
                let AtPoints { wants, at } = other
                    .try_into()
                    .map_err(|error: toml::de::Error| error.message().to_owned())?;
                Ok(Wanted { target: wants, at })
            }
        }
    }
}

/// What is different from a file's scenarios.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reading<'a> {
    /// The longest time of runs that end with their flows.
    pub(crate) patience: Option<&'a str>,
    /// Cases that take minutes are there, too.
    pub(crate) long: bool,
}

/// Reads the cases of `text`, which messages call `file`. Files that it names are in `files`.
pub(crate) fn read(
    text: &str,
    file: &str,
    files: &Files,
    reading: Reading<'_>,
) -> Result<Vec<Case>, BenchError> {
    let wrong = |why: String| BenchError::File { file: file.to_owned(), why };
    let FamilyFile { cases: families, .. } =
        toml::from_str(text).map_err(|error| wrong(found(&error, text)))?;
    // In the file's order.
    let mut families: Vec<(String, Value)> = families.into_iter().collect();
    families.sort_by_key(|(name, _)| text.find(&format!("[cases.{name}]")));
    let mut cases: Vec<Case> = Vec::new();
    for (name, family) in families {
        let wrong = |why: String| wrong(format!("cases.{name}: {why}"));
        let family: Family = family
            .try_into()
            .map_err(|error: toml::de::Error| wrong(error.message().to_owned()))?;
        if family.long && !reading.long {
            continue;
        }
        let experiment = family.experiment(&name, files, reading.patience).map_err(wrong)?;
        for case in family.cases(&Arc::new(experiment)).map_err(wrong)? {
            if cases.iter().any(|other| other.name == case.name) {
                return Err(wrong(format!("there is another case called `{}`", case.name)));
            }
            cases.push(case);
        }
    }
    Ok(cases)
}

impl Family {
    fn experiment(
        &self,
        name: &str,
        files: &Files,
        patience: Option<&str>,
    ) -> Result<Experiment, String> {
        let place = format!("{} + cases.{name}", self.experiment.base());
        let read = |path: &str| files.text(path);
        let with = |changes: &[Change]| {
            let experiment = self.experiment.experiment(&place, changes, &read);
            experiment.map_err(|error| error.to_string())
        };
        let experiment = with(&[])?;
        match patience {
            Some(patience) if experiment.point(0).scenario.run.end == RunEnd::FlowsDone => {
                with(&[Change::new("run.duration", patience)])
            }
            _ => Ok(experiment),
        }
    }

    fn cases(self, experiment: &Arc<Experiment>) -> Result<Vec<Case>, String> {
        let mut cases: Vec<Case> = Vec::new();
        for index in 0..experiment.len() {
            let values = experiment.values(index);
            let (variants, fields): (Vec<_>, Vec<_>) =
                values.into_iter().partition(|(path, _)| path == VARIANT);
            let [(_, variant)] = &variants[..] else {
                return Err("there are no variants: a case's columns are variants".to_owned());
            };
            let column = self.column(variant)?;
            let name = named(&self.name, &fields)?;
            let at = cases.iter().position(|case| case.name == name);
            let at = match at {
                Some(at) => at,
                None => {
                    cases.push(self.case(name, &fields, experiment, index)?);
                    cases.len() - 1
                }
            };
            if let Some(other) = cases[at].columns.insert(column, index) {
                return Err(format!(
                    "points {other} and {index} are both column `{}` of `{}`: name the fields that \
                     differ in `name`",
                    column.name(),
                    cases[at].name
                ));
            }
        }
        self.check(&cases, experiment)?;
        Ok(cases)
    }

    /// Checks that all figures that are wanted are there, and all points that are named.
    fn check(&self, cases: &[Case], experiment: &Experiment) -> Result<(), String> {
        let figures = self.figures.map(Figures::column);
        let ratio = self.ratio.into_iter().flat_map(|(with, without)| [with, without]);
        let mut needed = figures.into_iter().chain(ratio);
        let missing = |column: &Column| cases.iter().any(|it| !it.columns.contains_key(column));
        if let Some(column) = needed.find(missing) {
            return Err(format!("there is no column `{}`", column.name()));
        }
        let scenario = experiment.point(0).scenario;
        if self.figures.is_some() && !scenario.links.iter().any(|link| link.name == LINK) {
            return Err(format!("`figures` are of the link `{LINK}`, and there is none"));
        }
        let recorded = !scenario.record.link.is_empty();
        for case in cases {
            for target in &case.targets {
                if let Some(figure) = target.figures().find(|it| !it.is_had_by(case, recorded)) {
                    let (case, figure) = (&case.name, figure.name());
                    return Err(format!("`{target}`: `{case}` has no figure `{figure}`"));
                }
            }
        }
        let points: Vec<_> = (0..experiment.len()).map(|index| experiment.values(index)).collect();
        for Wanted { target, at } in &self.target {
            for (path, values) in at {
                for value in values.as_array().map_or(slice::from_ref(values), Vec::as_slice) {
                    let here = BTreeMap::from([(path.clone(), value.clone())]);
                    if !points.iter().any(|fields| is_at(fields, &here)) {
                        return Err(format!(
                            "`{target}`: no case has {path} = {value}, written so"
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    fn column(&self, variant: &str) -> Result<Column, String> {
        let named = self.columns.iter().find(|(_, own)| *own == variant);
        match named {
            Some((column, _)) => Ok(*column),
            None => variant.parse().map_err(|_| {
                format!(
                    "variant `{variant}` is no column (name those that are meant: \
                     sweep.variant = [\"known\", …])"
                )
            }),
        }
    }

    /// The case whose first column is the point `index`.
    fn case(
        &self,
        name: String,
        fields: &[(String, String)],
        experiment: &Arc<Experiment>,
        index: usize,
    ) -> Result<Case, String> {
        let scenario = experiment.point(index).scenario;
        let limit = match self.limit {
            true => {
                Some(Limit::of(&scenario).map_err(|why| format!("`{name}` has no limit: {why}"))?)
            }
            false => None,
        };
        let targets = self.target.iter().filter(|wanted| is_at(fields, &wanted.at));
        let targets = targets.map(|wanted| wanted.target.clone());
        Ok(Case {
            name,
            seeds: self.seeds,
            limit,
            experiment: Arc::clone(experiment),
            columns: BTreeMap::new(),
            figures: self.figures,
            ratio: self.ratio,
            targets: targets.collect(),
        })
    }
}

/// What a reader of TOML found in `text`, and on which line.
fn found(error: &toml::de::Error, text: &str) -> String {
    let message = error.message();
    match error.span().and_then(|span| text.get(..span.start)) {
        Some(before) => format!("line {}: {message}", before.matches('\n').count() + 1),
        None => message.to_owned(),
    }
}

/// Whether `fields` have the values of `at`.
fn is_at(fields: &[(String, String)], at: &BTreeMap<String, Value>) -> bool {
    at.iter().all(|(path, wanted)| {
        let has = |wanted: &Value| {
            let text = wanted.as_str().map_or_else(|| wanted.to_string(), str::to_owned);
            fields.iter().any(|(own, value)| own == path && *value == text)
        };
        match wanted {
            Value::Array(several) => several.iter().any(has),
            one => has(one),
        }
    })
}

/// `template` with the values of fields in the place of their paths.
fn named(template: &str, fields: &[(String, String)]) -> Result<String, String> {
    let mut name = String::new();
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once('{') {
        let (path, behind) =
            behind.split_once('}').ok_or_else(|| format!("`{template}`: a `}}` is missing"))?;
        let value = fields.iter().find(|(own, _)| own == path);
        let (_, value) = value.ok_or_else(|| {
            let swept: Vec<&str> = fields.iter().map(|(path, _)| path.as_str()).collect();
            let swept = if swept.is_empty() { "nothing".to_owned() } else { swept.join(", ") };
            format!("`{template}`: `{path}` is not swept, but {swept}")
        })?;
        name.push_str(before);
        name.push_str(&spaced(value));
        rest = behind;
    }
    Ok(name + rest)
}

/// `10 MB` of `10MB`; other texts as they are.
pub(crate) fn spaced(value: &str) -> String {
    let number = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
    let (number, unit) = value.split_at(number);
    match unit.starts_with(|c: char| c.is_ascii_alphabetic() && c != 'e') && !number.is_empty() {
        true => format!("{number} {unit}"),
        false => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_values_of_its_point() {
        let fields = [("a.bytes", "10MB"), ("a.loss", "1%"), ("b", "1e-7")];
        let fields = fields.map(|(path, value)| (path.to_owned(), value.to_owned()));
        assert_eq!(named("{a.bytes}, loss {a.loss}", &fields).unwrap(), "10 MB, loss 1%");
        assert_eq!(named("errors {b}", &fields).unwrap(), "errors 1e-7");
        assert_eq!(
            named("{c}", &fields).unwrap_err(),
            "`{c}`: `c` is not swept, but a.bytes, a.loss, b"
        );
    }

    #[test]
    fn a_target_is_wanted_where_it_says() {
        let fields = [("a".to_owned(), "10MB".to_owned()), ("b".to_owned(), "2".to_owned())];
        let at = |text: &str| toml::from_str::<BTreeMap<String, Value>>(text).unwrap();
        assert!(is_at(&fields, &at("a = \"10MB\"\nb = [1, 2]")));
        assert!(!is_at(&fields, &at("a = \"10MB\"\nb = 1")));
        assert!(!is_at(&fields, &at("c = 1")));
    }

    #[test]
    fn a_third_party_is_compared_by_goodput_and_has_no_times() {
        let read = |target: &str| {
            let text = format!(
                r#"
                about = "One."
                [cases.one]
                base = "networks/beside.toml"
                name = "one"
                figures = {{ third-party = "known" }}
                target = ["{target}"]
                sweep.variant = ["end to end BBR", "known"]
                "#
            );
            super::read(&text, "one.toml", &Files::BuiltIn, Reading { patience: None, long: false })
        };
        assert!(read("goodput ≥ 0.9 × goodput next to BBR").is_ok());
        let error = read("goodput ≥ 0.9 × end to end BBR").unwrap_err().to_string();
        assert!(error.ends_with("has no figure `end to end BBR`"), "{error}");
    }
}

//! Cases from a file: scenarios with sweeps, and what is wanted of their points.

use super::case::{Case, Column, Figures, Seeds};
use super::limit::Limit;
use super::target::Target;
use crate::BenchError;
use crate::files::Files;
use bentpipe_lab::ExperimentPart;
use bentpipe_scenario::{Change, Experiment, VARIANT};
use serde::Deserialize;
use std::collections::BTreeMap;
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
struct CasesFile {
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
#[serde(untagged)]
enum Wanted {
    Everywhere(Target),
    At {
        wants: Target,
        /// The values of swept fields: one each, or several.
        at: BTreeMap<String, Value>,
    },
}

/// Reads the cases of a file of `files`, with `changes` of their scenarios. `long`: those, too,
/// that take minutes.
pub(crate) fn read(
    files: &Files,
    file: &str,
    changes: &[Change],
    long: bool,
) -> Result<Vec<Case>, BenchError> {
    let wrong = |why: String| BenchError::File { file: file.to_owned(), why };
    let text = files.text(file).map_err(wrong)?;
    let FamilyFile { cases: families, .. } =
        toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let mut cases = Vec::new();
    for (name, family) in families {
        let wrong = |why: String| wrong(format!("cases.{name}: {why}"));
        let family: CasesFile = family.try_into().map_err(|error| wrong(error.to_string()))?;
        if family.long && !long {
            continue;
        }
        let read = |path: &str| files.text(path);
        let experiment = family.experiment.experiment(file, changes, &read);
        let experiment = experiment.map_err(|error| wrong(error.to_string()))?;
        cases.extend(family.cases(&Arc::new(experiment)).map_err(wrong)?);
    }
    Ok(cases)
}

impl CasesFile {
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
            cases[at].columns.insert(column, index);
        }
        Ok(cases)
    }

    fn column(&self, variant: &str) -> Result<Column, String> {
        let named = self.columns.iter().find(|(_, own)| *own == variant);
        match named {
            Some((column, _)) => Ok(*column),
            None => variant.parse().map_err(|_| {
                format!("variant `{variant}` is no column, and `columns` does not name it")
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
        let limit =
            match self.limit {
                true => Some(Limit::of(&scenario).ok_or(
                    "there is no limit: no transfer of so many bytes over links with rates",
                )?),
                false => None,
            };
        let targets = self.target.iter().filter_map(|wanted| match wanted {
            Wanted::Everywhere(target) => Some(target.clone()),
            Wanted::At { wants, at } => is_at(fields, at).then(|| wants.clone()),
        });
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
            format!("`{template}`: `{path}` is not swept (there are {})", swept.join(", "))
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
            "`{c}`: `c` is not swept (there are a.bytes, a.loss, b)"
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
}

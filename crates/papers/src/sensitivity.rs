//! Verdicts at other values of what a paper leaves free.
//!
//! One parameter is changed at a time. The numbers are kept in `papers/NAME/fig-….free.toml`, and
//! the verdict of a claim goes by the whole range.

use crate::catalogue::{CatalogueError, Figure, Files, figure_digest, parse_if_there};
use crate::numbers;
use crate::run::{Options, Ran, RunError};
use crate::verdict::{Judged, OtherNumber, Verdict};
use bentpipe_lab::Event;
use serde::{Deserialize, Serialize};

/// The first lines of a file.
const HEAD: &str = "# Numbers at other values of free parameters, written by `bentpipe papers --sensitivity --keep`.\n\n";

/// The numbers of a figure at other values than the chosen ones.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sensitivity {
    /// The digest of the figure of which they are.
    pub figure: String,
    /// A number of a claim each, in the order of the values.
    #[serde(default, rename = "number")]
    pub numbers: Vec<OtherNumber>,
}

/// The file of the figure with this id, from the papers' folder on.
pub fn path(figure: &str) -> String {
    format!("{figure}.free.toml")
}

impl Sensitivity {
    /// Runs a figure at every other value of its free parameters.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn run(
        figure: &Figure,
        files: &Files,
        options: &Options<'_>,
        watch: &(dyn Fn(Event<'_>) + Sync),
    ) -> Result<Sensitivity, RunError> {
        let mut numbers = Vec::new();
        for parameter in &figure.free {
            for value in &parameter.values {
                let changed = figure.with(parameter, value);
                let ran = Ran::new(&changed, files, options, watch)?;
                let claims =
                    figure.claims.iter().filter(|claim| parameter.claims.contains(&claim.id));
                for claim in claims {
                    let failed = |why| RunError::Failed { figure: figure.id.clone(), why };
                    let measured = numbers::of_claim(&ran, claim).map_err(failed)?;
                    let judged = Judged::new(claim, &measured).map_err(failed)?;
                    numbers.extend(judged.findings.iter().map(|finding| OtherNumber {
                        parameter: parameter.name.clone(),
                        value: value.name.clone(),
                        claim: claim.id.clone(),
                        name: finding.name.clone(),
                        found: Some(finding.found).filter(|found| found.is_finite()),
                        half_width: finding.half_width,
                        runs: finding.runs,
                        stated: parameter.stated,
                        verdict: finding.verdict,
                    }));
                }
            }
        }
        Ok(Sensitivity { figure: figure_digest(figure, files, &[])?, numbers })
    }

    /// The kept numbers of a figure; none if it has changed since.
    ///
    /// # Errors
    /// [`CatalogueError`].
    pub fn read(files: &Files, figure: &Figure) -> Result<Sensitivity, CatalogueError> {
        let kept: Sensitivity = parse_if_there(files, &path(&figure.id))?;
        let same = kept.figure == figure_digest(figure, files, &[])?;
        Ok(if same { kept } else { Sensitivity::default() })
    }

    /// The file's text.
    ///
    /// # Errors
    /// A number cannot be written.
    pub fn text(&self) -> Result<String, toml::ser::Error> {
        Ok(format!("{HEAD}{}", toml::to_string(self)?))
    }

    /// The numbers of a claim.
    pub fn of<'a>(&'a self, claim: &'a str) -> impl Iterator<Item = &'a OtherNumber> {
        self.numbers.iter().filter(move |number| number.claim == claim)
    }

    /// The verdict of a claim by the whole range. It is the one at the chosen values, if all others
    /// are the same.
    pub fn verdict(&self, judged: &Judged) -> Verdict {
        // What is undecided at another value, with fewer runs, says nothing against the chosen one.
        let is_so = |verdict: Verdict| match verdict {
            Verdict::Reproduced | Verdict::InWords => Some(true),
            Verdict::Different => Some(false),
            Verdict::FreeParameter | Verdict::Undecided => None,
        };
        let mut values: Vec<(&str, &str, Verdict)> = Vec::new();
        for number in self.of(&judged.claim.id).filter(|number| !number.stated) {
            match values.last_mut() {
                Some((parameter, value, worst))
                    if (*parameter, *value) == (&number.parameter, &number.value) =>
                {
                    *worst = (*worst).max(number.verdict);
                }
                _ => values.push((&number.parameter, &number.value, number.verdict)),
            }
        }
        let differs = |(_, _, verdict): &(&str, &str, Verdict)| {
            let (there, here) = (is_so(*verdict), is_so(judged.verdict));
            there.zip(here).is_some_and(|(there, here)| there != here)
        };
        match values.iter().any(differs) {
            true => Verdict::FreeParameter,
            false => judged.verdict,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Catalogue, ClaimFile};
    use crate::run::Number;

    fn number(value: &str, name: &str, verdict: Verdict) -> OtherNumber {
        OtherNumber {
            parameter: "queue".to_owned(),
            value: value.to_owned(),
            claim: "A-1".to_owned(),
            name: name.to_owned(),
            found: Some(1.0),
            half_width: 0.0,
            runs: 1,
            stated: false,
            verdict,
        }
    }

    #[test]
    fn the_whole_range_decides() {
        let text = "entry = { kind = \"result\", priority = 1, how = \"sim\" }\nsays = \"\"\naccepted.x = \">= 1\"\n";
        let claim: ClaimFile = toml::from_str(text).unwrap();
        let claim = claim.read("A-1".to_owned(), &Default::default(), &Default::default()).unwrap();
        let judged = |found| Judged::new(&claim, &[Number::new("x", found)]).unwrap();
        let range = |verdicts: &[(&str, Verdict)]| Sensitivity {
            figure: String::new(),
            numbers: verdicts.iter().map(|(value, verdict)| number(value, "x", *verdict)).collect(),
        };
        let (good, bad) = (Verdict::Reproduced, Verdict::Different);
        assert_eq!(range(&[]).verdict(&judged(1.0)), good);
        assert_eq!(range(&[("20", good), ("50", Verdict::InWords)]).verdict(&judged(1.0)), good);
        assert_eq!(
            range(&[("20", good), ("50", bad)]).verdict(&judged(1.0)),
            Verdict::FreeParameter
        );
        assert_eq!(range(&[("20", Verdict::Undecided)]).verdict(&judged(1.0)), good);
        // What is different at the chosen value may be so at another.
        assert_eq!(range(&[("20", good)]).verdict(&judged(0.0)), Verdict::FreeParameter);
        assert_eq!(range(&[("20", bad)]).verdict(&judged(0.0)), bad);
        let mut stated = number("off", "x", bad);
        stated.stated = true;
        let stated = Sensitivity { figure: String::new(), numbers: vec![stated] };
        assert_eq!(stated.verdict(&judged(1.0)), good);
        // The worst of a value's numbers is the value's.
        let both = [number("20", "x", good), number("20", "y", bad)];
        let both = Sensitivity { figure: String::new(), numbers: both.to_vec() };
        assert_eq!(both.verdict(&judged(0.0)), bad);
    }

    #[test]
    fn every_free_parameter_can_be_set() {
        let catalogue = Catalogue::read(Files::built_in()).unwrap();
        for figure in catalogue.papers.iter().flat_map(|paper| &paper.figures) {
            for parameter in &figure.free {
                for value in &parameter.values {
                    let changed = figure.with(parameter, value);
                    for name in &parameter.scenarios {
                        let of = |figure: &Figure| {
                            let experiment = figure.experiment(catalogue.files(), name);
                            experiment.unwrap_or_else(|error| panic!("{}: {error}", figure.id))
                        };
                        assert_ne!(of(&changed).source(), of(figure).source(), "{}", figure.id);
                    }
                }
                for claim in &parameter.claims {
                    assert!(figure.claims.iter().any(|it| it.id == *claim), "{claim}");
                }
            }
        }
    }

    #[test]
    fn what_is_kept_is_read_as_it_was_written() {
        let kept = Sensitivity {
            figure: "0".to_owned(),
            numbers: vec![number("20", "x", Verdict::InWords)],
        };
        assert_eq!(toml::from_str::<Sensitivity>(&kept.text().unwrap()).unwrap(), kept);
    }
}

//! Verdicts. They go by where the interval of each of a claim's numbers lies: inside what is
//! accepted, outside, or across its end.
//!
//! The intervals of a claim's numbers hold together with 95 %: each is wider the more there are
//! (Bonferroni). How many runs are made is a scenario's own, and no verdict changes it.

use crate::catalogue::{Accepted, Claim};
use crate::run::Number;
use bentpipe_scenario::repeat::SampleSummary;
use serde::{Deserialize, Serialize};

/// The probability that all intervals of a claim hold.
const CONFIDENCE: f64 = 0.95;

/// What became of a claim, or of one of its numbers; the better first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole interval is within what is accepted.
    Reproduced,
    /// It is within what the paper's own words bear, and not within what was asked for.
    InWords,
    /// It is so at the value that was chosen of a free parameter, and otherwise at another.
    FreeParameter,
    /// The interval lies across an end of what is accepted.
    Undecided,
    /// The whole interval is outside.
    Different,
}

impl Verdict {
    /// All, the best first.
    pub const ALL: [Verdict; 5] = [
        Verdict::Reproduced,
        Verdict::InWords,
        Verdict::FreeParameter,
        Verdict::Undecided,
        Verdict::Different,
    ];

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::InWords => "reproduced in words",
            Verdict::FreeParameter => "depends on a free parameter",
            Verdict::Undecided => "undecided",
            Verdict::Different => "different",
        }
    }
}

/// A number that was measured, beside what the claim allows.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Its name.
    pub name: String,
    /// What was found.
    pub found: f64,
    /// Half the width of its interval; 0 where nothing is random.
    pub half_width: f64,
    /// How many runs say so.
    pub runs: usize,
    /// What is allowed.
    pub accepted: Accepted,
    /// Whether it is.
    pub verdict: Verdict,
}

impl Finding {
    /// Compares what was found with what is allowed, and with what the paper's `words` bear. The
    /// interval has this confidence.
    pub fn new(
        number: &Number,
        confidence: f64,
        accepted: &Accepted,
        words: Option<&Accepted>,
    ) -> Finding {
        let summary = SampleSummary::of(&number.samples);
        let found = summary.map_or(f64::NAN, |summary| summary.mean);
        let half_width = summary.and_then(|summary| summary.half_width(confidence)).unwrap_or(0.0);
        let (low, high) = (found - half_width, found + half_width);
        let inside = |range: &Accepted| range.has_all(low, high);
        let outside = |range: &Accepted| range.has_none(low, high) || !found.is_finite();
        let verdict = if inside(accepted) {
            Verdict::Reproduced
        } else if words.is_some_and(inside) {
            Verdict::InWords
        } else if outside(words.unwrap_or(accepted)) {
            Verdict::Different
        } else {
            Verdict::Undecided
        };
        let (name, runs) = (number.name.clone(), number.samples.len());
        Finding { name, found, half_width, runs, accepted: accepted.clone(), verdict }
    }
}

/// A number of a claim at another value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OtherNumber {
    /// The parameter.
    pub parameter: String,
    /// Its value, in our words.
    pub value: String,
    /// The claim.
    pub claim: String,
    /// The number's name.
    pub name: String,
    /// The mean over the runs; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<f64>,
    /// Half of its interval.
    pub half_width: f64,
    /// The number of runs.
    pub runs: usize,
    /// True if the paper states the chosen value, so that this one decides nothing.
    #[serde(default)]
    pub stated: bool,
    /// The verdict of this number.
    pub verdict: Verdict,
}

/// A claim with what was found.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The claim.
    pub claim: Claim,
    /// Its numbers.
    pub findings: Vec<Finding>,
    /// The worst of their verdicts, or the one by the range of a free parameter.
    pub verdict: Verdict,
    /// Its numbers at other values of free parameters.
    pub others: Vec<OtherNumber>,
}

impl Judged {
    /// Judges the numbers of a claim.
    ///
    /// # Errors
    /// The accepted and the measured numbers are not the same.
    pub fn new(claim: &Claim, numbers: &[Number]) -> Result<Judged, String> {
        let random = numbers.iter().filter(|number| number.samples.len() > 1).count();
        let confidence = 1.0 - (1.0 - CONFIDENCE) / random.max(1) as f64;
        let finding = |number: &Number| {
            let name = &number.name;
            let accepted = claim.accepted.get(name);
            let accepted = accepted
                .ok_or_else(|| format!("{}: nothing says what of {name} is accepted", claim.id))?;
            Ok(Finding::new(number, confidence, accepted, claim.words.get(name)))
        };
        let findings = numbers.iter().map(finding).collect::<Result<Vec<_>, String>>()?;
        let (said, measured) = (claim.accepted.len(), findings.len());
        if said != measured {
            return Err(format!("{}: {said} numbers are accepted, {measured} measured", claim.id));
        }
        let verdict = findings.iter().map(|finding| finding.verdict).max();
        let verdict = verdict.ok_or_else(|| format!("{}: nothing is measured", claim.id))?;
        Ok(Judged { claim: claim.clone(), findings, verdict, others: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(samples: &[f64]) -> Number {
        Number { name: "x".to_owned(), samples: samples.to_vec() }
    }

    fn verdict(samples: &[f64], accepted: &str) -> Verdict {
        Finding::new(&number(samples), 0.95, &accepted.parse().unwrap(), None).verdict
    }

    #[test]
    fn the_whole_interval_decides() {
        assert_eq!(verdict(&[1.0], ">= 1"), Verdict::Reproduced);
        assert_eq!(verdict(&[0.9], ">= 1"), Verdict::Different);
        assert_eq!(verdict(&[0.9, 1.0, 1.1], "1 ± 0.5"), Verdict::Reproduced);
        assert_eq!(verdict(&[0.9, 1.0, 1.1], "1 ± 0.1"), Verdict::Undecided);
        assert_eq!(verdict(&[0.9, 1.0, 1.1], ">= 2"), Verdict::Different);
    }

    #[test]
    fn what_is_no_number_fails() {
        assert_eq!(verdict(&[f64::NAN], ">= 1"), Verdict::Different);
        assert_eq!(verdict(&[], ">= 1"), Verdict::Different);
    }

    #[test]
    fn words_that_bear_more_are_said_apart() {
        let of = |samples: &[f64]| {
            let (accepted, words) = (">= 1.5".parse().unwrap(), "> 1".parse().unwrap());
            Finding::new(&number(samples), 0.95, &accepted, Some(&words)).verdict
        };
        assert_eq!(of(&[1.6]), Verdict::Reproduced);
        assert_eq!(of(&[1.2]), Verdict::InWords);
        assert_eq!(of(&[0.9]), Verdict::Different);
        // Between the words' end and ours.
        assert_eq!(of(&[0.9, 1.0, 1.2]), Verdict::Undecided);
    }

    #[test]
    fn intervals_of_several_numbers_are_wider() {
        let claim = |names: &[&str]| {
            let accepted = names.iter().map(|name| format!("accepted.{name} = \"1 ± 0.3\"\n"));
            let text = format!(
                "entry = {{ kind = \"result\", priority = 1, how = \"sim\" }}\nsays = \"\"\n{}",
                accepted.collect::<String>()
            );
            let claim: crate::catalogue::ClaimFile = toml::from_str(&text).unwrap();
            let claim =
                claim.read("A-1".to_owned(), &Default::default(), &Default::default()).unwrap();
            let number =
                |name: &&str| Number { name: (*name).to_owned(), samples: vec![0.9, 1.0, 1.1] };
            let numbers: Vec<Number> = names.iter().map(number).collect();
            Judged::new(&claim, &numbers).unwrap()
        };
        // Student's t of two degrees of freedom: 4.303 at 95 %, 6.205 at 97.5 %.
        let (one, two) = (claim(&["a"]), claim(&["a", "b"]));
        assert!((two.findings[0].half_width / one.findings[0].half_width - 1.4420).abs() < 1e-3);
        assert_eq!((one.verdict, two.verdict), (Verdict::Reproduced, Verdict::Undecided));
    }
}

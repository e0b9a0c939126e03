//! Verdicts. A claim holds if the whole 95 % interval of each of its numbers lies within the
//! tolerance, fails if one lies wholly outside; otherwise it is not decided, which counts against
//! us.

use crate::catalogue::{Accepted, Catalogue, Claim, ClaimMethod, Figure};
use crate::numbers;
use crate::run::{Number, Options, Ran, RunError};
use bentpipe_lab::Event;
use bentpipe_scenario::repeat::SampleSummary;
use serde::Serialize;

/// What became of a claim, or of one of its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is as claimed.
    Holds,
    /// More runs than are allowed would decide it.
    Undecidable,
    /// It is not as claimed.
    Fails,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Undecidable => "not decidable",
            Verdict::Fails => "does not hold",
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
    /// Half the width of its 95 % interval; 0 where nothing is random.
    pub half_width: f64,
    /// How many runs say so.
    pub runs: usize,
    /// What is allowed.
    pub accepted: Accepted,
    /// Whether it is.
    pub verdict: Verdict,
}

impl Finding {
    /// Compares what was found with what is allowed.
    pub fn new(number: &Number, accepted: &Accepted) -> Finding {
        let summary = SampleSummary::of(&number.samples);
        let found = summary.map_or(f64::NAN, |summary| summary.mean);
        let half_width = summary.and_then(|summary| summary.half_width_95).unwrap_or(0.0);
        let (low, high) = (found - half_width, found + half_width);
        let verdict = if accepted.has_all(low, high) {
            Verdict::Holds
        } else if accepted.has_none(low, high) || !found.is_finite() {
            Verdict::Fails
        } else {
            Verdict::Undecidable
        };
        let (name, runs) = (number.name.clone(), number.samples.len());
        Finding { name, found, half_width, runs, accepted: accepted.clone(), verdict }
    }
}

/// A claim with what was found.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The claim.
    pub claim: Claim,
    /// Its numbers.
    pub findings: Vec<Finding>,
    /// The worst of their verdicts.
    pub verdict: Verdict,
}

/// Runs a figure and judges its claims; what is not decided gets more runs, up to the figure's
/// most.
///
/// # Errors
/// [`RunError`].
pub fn judge(
    catalogue: &Catalogue,
    figure: &Figure,
    options: &Options<'_>,
    watch: &(dyn Fn(Event<'_>) + Sync),
) -> Result<(Ran, Vec<Judged>), RunError> {
    let mut asked = None;
    loop {
        let ran = Ran::new(figure, catalogue.files(), asked, options, watch)?;
        // What real hosts decide waits until all of it was measured.
        let measured = ran.is_measured(figure);
        let judged = claims(figure, &ran, |claim| measured || !is_live(claim))
            .map_err(|why| RunError::Failed { figure: figure.id.clone(), why })?;
        let runs = ran.runs();
        let open = judged.iter().any(|judged| judged.verdict == Verdict::Undecidable);
        // Once more only if it makes a difference: where nothing is random, once is all there is.
        let stuck = runs <= 1 || asked.is_some_and(|asked| runs < asked);
        if !open || stuck || runs >= figure.most_runs {
            return Ok((ran, judged));
        }
        asked = Some((runs * 2).min(figure.most_runs));
    }
}

/// Judges the claims of a figure that real hosts decide; none if not all was measured.
///
/// # Errors
/// What is missing, in a sentence.
pub fn live_claims(figure: &Figure, ran: &Ran) -> Result<Vec<Judged>, String> {
    let measured = ran.is_measured(figure);
    claims(figure, ran, |claim| measured && is_live(claim))
}

/// Whether real hosts decide a claim.
fn is_live(claim: &Claim) -> bool {
    claim.entry.how == ClaimMethod::Emulator
}

fn claims(
    figure: &Figure,
    ran: &Ran,
    wanted: impl Fn(&Claim) -> bool,
) -> Result<Vec<Judged>, String> {
    let judged = figure.claims.iter().filter(|claim| wanted(claim)).map(|claim| {
        let numbers = numbers::of_claim(ran, claim)?;
        let finding = |number: &Number| {
            let accepted = claim.accepted.get(&number.name).ok_or_else(|| {
                format!("{}: nothing says what of {} is accepted", claim.id, number.name)
            })?;
            Ok(Finding::new(number, accepted))
        };
        let findings = numbers.iter().map(finding).collect::<Result<Vec<_>, String>>()?;
        let (said, measured) = (claim.accepted.len(), findings.len());
        if said != measured {
            return Err(format!("{}: {said} numbers are accepted, {measured} measured", claim.id));
        }
        let verdict = findings.iter().map(|finding| finding.verdict).max();
        let verdict = verdict.ok_or_else(|| format!("{}: nothing is measured", claim.id))?;
        Ok(Judged { claim: claim.clone(), findings, verdict })
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(samples: &[f64], accepted: &str) -> Verdict {
        let number = Number { name: "x".to_owned(), samples: samples.to_vec() };
        Finding::new(&number, &accepted.parse().unwrap()).verdict
    }

    #[test]
    fn the_whole_interval_decides() {
        assert_eq!(verdict(&[1.0], ">= 1"), Verdict::Holds);
        assert_eq!(verdict(&[0.9], ">= 1"), Verdict::Fails);
        assert_eq!(verdict(&[0.9, 1.0, 1.1], "1 ± 0.5"), Verdict::Holds);
        assert_eq!(verdict(&[0.9, 1.0, 1.1], "1 ± 0.1"), Verdict::Undecidable);
        assert_eq!(verdict(&[0.9, 1.0, 1.1], ">= 2"), Verdict::Fails);
    }

    #[test]
    fn what_is_no_number_fails() {
        assert_eq!(verdict(&[f64::NAN], ">= 1"), Verdict::Fails);
        assert_eq!(verdict(&[], ">= 1"), Verdict::Fails);
    }
}

//! Counts of claims, by the kind of their decision.
//!
//! Measurements can come out otherwise. They are counted apart from arithmetic, from sweeps that
//! are drawn, and from requirements that tests hold.
//!
//! Claims of priority 1 and 2 count: what the papers show, require and compute. One that a
//! parameter was fitted to does not, and those that share a number or a cause count once.

use super::Report;
use crate::catalogue::{
    Catalogue, ClaimKind, ClaimMethod, ClaimPlace, LocatedClaim, Paper, Witness,
};
use crate::tested::Outcome;
use crate::verdict::Verdict;
use serde_json::{Map, Value, json};

/// The way in which a claim is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClaimClass {
    /// Its numbers were measured in simulation or on real hosts.
    Measured,
    /// Its numbers were measured, and a parameter was fitted until it held.
    Calibrated,
    /// Its numbers are computed.
    Arithmetic,
    /// It says that something can be drawn: its numbers count points.
    Drawn,
    /// It requires something, and tests hold it.
    Tested,
    /// A page of the documents answers it.
    Read,
    /// Nothing decides it.
    Open,
}

/// The state of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// Decided by its numbers.
    Judged(Verdict),
    /// Decided by its tests.
    Tested(Outcome),
    /// Answered by a page.
    Read,
    /// Refuted by a test or a page.
    Refuted,
    /// Its figure was not run, or real hosts were not measured.
    NotRun,
    /// Nothing decides it.
    Open,
}

impl LocatedClaim<'_> {
    /// The way in which it is decided.
    pub fn class(&self) -> ClaimClass {
        match self.place {
            ClaimPlace::Elsewhere(elsewhere) => match elsewhere.by {
                Witness::Test | Witness::Live => ClaimClass::Tested,
                Witness::Page => ClaimClass::Read,
                Witness::Nothing => ClaimClass::Open,
            },
            ClaimPlace::Figure(_, claim) => {
                let counts = || self.accepted().all(|(_, accepted)| accepted.is_count());
                match self.entry.kind {
                    ClaimKind::Experiment if counts() => ClaimClass::Drawn,
                    _ if self.entry.how == ClaimMethod::Analytic => ClaimClass::Arithmetic,
                    _ if claim.calibrated.is_some() => ClaimClass::Calibrated,
                    _ => ClaimClass::Measured,
                }
            }
        }
    }
}

/// The state of a claim, wherever it is decided.
pub(super) fn standing(report: &Report, claim: &LocatedClaim<'_>) -> Standing {
    match claim.place {
        ClaimPlace::Elsewhere(elsewhere) => match (elsewhere.by, &elsewhere.fails) {
            (Witness::Nothing, _) => Standing::Open,
            (_, Some(_)) => Standing::Refuted,
            (Witness::Page, None) => Standing::Read,
            (_, None) => Standing::Tested(report.tested.of(elsewhere.places())),
        },
        ClaimPlace::Figure(figure, _) => {
            let claims = report.figure(&figure.id).into_iter().flat_map(|figure| &figure.claims);
            let judged = claims.into_iter().find(|judged| judged.claim.id == claim.id);
            judged.map_or(Standing::NotRun, |judged| Standing::Judged(judged.verdict))
        }
    }
}

/// Counts of claims.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Score {
    /// Measured ones by their verdicts, in the order of [`Verdict::ALL`].
    pub measured: [usize; Verdict::ALL.len()],
    /// Measured ones whose figures were not run.
    pub not_run: usize,
    /// Measured ones with numbers at other values of a free parameter.
    pub tried_elsewhere: usize,
    /// Measured ones that count with another.
    pub counted_with: usize,
    /// Those that a parameter was fitted to, and how many of them hold.
    pub calibrated: Share,
    /// Arithmetic that comes to the paper's.
    pub arithmetic: Share,
    /// Those that were drawn.
    pub drawn: Share,
    /// Requirements whose tests passed.
    pub tested: Share,
    /// Requirements whose tests were not run.
    pub not_tested: usize,
    /// Those that a page answers.
    pub read: usize,
}

/// So many of so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Share {
    /// As claimed.
    pub holds: usize,
    /// All of the kind.
    pub of: usize,
}

impl Share {
    fn add(&mut self, holds: bool) {
        self.of += 1;
        self.holds += usize::from(holds);
    }

    fn json(self) -> Value {
        json!({ "hold": self.holds, "of": self.of })
    }
}

impl Score {
    /// Of the claims of priority 1 and 2 of the papers that `of` takes.
    pub fn of(catalogue: &Catalogue, report: &Report, of: impl Fn(&Paper) -> bool) -> Score {
        let mut score = Score::default();
        for paper in catalogue.papers.iter().filter(|paper| of(paper)) {
            for claim in paper.claims().filter(LocatedClaim::counts) {
                score.add(&claim, standing(report, &claim));
                let judged = report.judged(claim.id);
                let mut others = judged.into_iter().flat_map(|judged| &judged.others);
                let counts =
                    claim.class() == ClaimClass::Measured && claim.counted_with().is_none();
                score.tried_elsewhere += usize::from(counts && others.any(|other| !other.stated));
            }
        }
        score
    }

    fn add(&mut self, claim: &LocatedClaim<'_>, standing: Standing) {
        let holds = standing == Standing::Judged(Verdict::Reproduced);
        match (claim.class(), standing) {
            (ClaimClass::Measured, _) if claim.counted_with().is_some() => self.counted_with += 1,
            (ClaimClass::Measured, Standing::Judged(verdict)) => {
                self.measured[verdict as usize] += 1;
            }
            (ClaimClass::Measured, _) => self.not_run += 1,
            (ClaimClass::Calibrated, _) => self.calibrated.add(holds),
            (ClaimClass::Arithmetic, _) => self.arithmetic.add(holds),
            (ClaimClass::Drawn, _) => self.drawn.add(holds),
            (ClaimClass::Tested, standing) => {
                self.tested.add(standing == Standing::Tested(Outcome::Passed));
                self.not_tested += usize::from(standing == Standing::Tested(Outcome::NotRun));
            }
            (ClaimClass::Read, _) => self.read += 1,
            (ClaimClass::Open, _) => {}
        }
    }

    /// All measured claims, each cluster once.
    pub fn all_measured(&self) -> usize {
        self.measured.iter().sum::<usize>() + self.not_run
    }

    /// Measured ones with this verdict.
    pub fn with(&self, verdict: Verdict) -> usize {
        self.measured[verdict as usize]
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let name = |verdict| serde_json::to_value(verdict).ok()?.as_str().map(str::to_owned);
        let verdicts = Verdict::ALL.into_iter();
        let mut measured: Map<String, Value> = verdicts
            .filter_map(|verdict| Some((name(verdict)?, json!(self.with(verdict)))))
            .collect();
        measured.insert("not-run".to_owned(), json!(self.not_run));
        measured.insert("of".to_owned(), json!(self.all_measured()));
        json!({
            "measured": measured,
            "tried-elsewhere": self.tried_elsewhere,
            "counted-with-another": self.counted_with,
            "calibrated": self.calibrated.json(),
            "arithmetic": self.arithmetic.json(),
            "drawn": self.drawn.json(),
            "tested": self.tested.json(),
            "not-tested": self.not_tested,
            "answered-by-a-page": self.read,
        })
    }
}

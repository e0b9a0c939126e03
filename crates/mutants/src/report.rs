//! What becomes of mutants: a line each, and how many there are of each kind.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What becomes of a mutant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// It could be tried.
    Applies,
    /// It could be run.
    Compiles,
    /// A test fails.
    Found,
    /// None does.
    Survived,
    /// None fails, and one run was ended: a slow machine, or a loop without end. That is no find.
    TimedOut,
    /// What it changes is not there any more.
    Stale,
    /// It does not compile, or a test run ends in another way than by a test that fails.
    Broken,
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Verdict::Applies => "applies",
            Verdict::Compiles => "compiles",
            Verdict::Found => "found",
            Verdict::Survived => "survived",
            Verdict::TimedOut => "timed out",
            Verdict::Stale => "stale",
            Verdict::Broken => "broken",
        })
    }
}

/// A verdict, and why.
pub(crate) struct Outcome {
    pub(crate) verdict: Verdict,
    /// Nothing if that says all.
    pub(crate) detail: String,
}

impl Outcome {
    /// One that says all.
    pub(crate) fn of(verdict: Verdict) -> Outcome {
        Outcome { verdict, detail: String::new() }
    }
}

/// What all are to come to, and what they do.
pub(crate) struct Report {
    began: Instant,
    good: Verdict,
    counts: Mutex<BTreeMap<Verdict, usize>>,
}

impl Report {
    /// A report of mutants of which each is to be `good`.
    pub(crate) fn new(good: Verdict) -> Report {
        Report { began: Instant::now(), good, counts: Mutex::default() }
    }

    /// Says what has become of the mutant `name` in so long a time. That one applies is not worth a
    /// line.
    pub(crate) fn add(&self, name: &str, took: Duration, outcome: &Outcome) {
        let Outcome { verdict, detail } = outcome;
        *self.counts.lock().unwrap().entry(*verdict).or_default() += 1;
        if *verdict != Verdict::Applies {
            let colon = if detail.is_empty() { "" } else { ": " };
            println!("mutants: {name:<42} {:>3} s  {verdict}{colon}{detail}", took.as_secs());
        }
    }

    /// Says how many there are of each kind, and whether all are good.
    pub(crate) fn end(&self) -> bool {
        use Verdict::{Broken, Found, Stale, Survived, TimedOut};
        let counts = self.counts.lock().unwrap();
        let kinds = match self.good {
            Found => vec![Found, Survived, TimedOut, Stale, Broken],
            good => vec![good, Stale, Broken],
        };
        let count = |kind: &Verdict| counts.get(kind).copied().unwrap_or(0);
        let all: usize = counts.values().sum();
        let summary: Vec<String> =
            kinds.iter().map(|kind| format!("{} {kind}", count(kind))).collect();
        let seconds = self.began.elapsed().as_secs();
        println!("mutants: {all} in {seconds} s: {}", summary.join(", "));
        count(&self.good) == all
    }
}

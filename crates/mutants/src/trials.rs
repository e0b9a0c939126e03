//! Mutants are tried: the tests run with each of them, until one fails. The one that is named in
//! the mutant's file is the first, alone. Then those of its crate begin, the gateway's follow, and
//! the fault tests come last: in this order it takes half the time of the opposite one.

use crate::children::Children;
use crate::failure::Failure;
use crate::mutant::Mutant;
use crate::report::{Outcome, Verdict};
use crate::suite::{End, Selection, Suite};
use crate::workshop::{TestProgram, Workshop};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long tests may take without any mutant.
const LIMIT: Duration = Duration::from_secs(600);

/// What they may take with one: a mutant may make them slower, and another program the machine.
fn limit(usual: Duration) -> Duration {
    Duration::from_secs(60) + 5 * usual
}

/// The crate whose tests are asked of each mutant.
pub(crate) const GATEWAY: &str = "crates/gateway";

/// Whose fault tests are.
pub(crate) const SIMULATOR: &str = "crates/sim";

/// The tests, and how long each may take.
pub(crate) struct Trials<'a> {
    children: &'a Children,
    tree: &'a Path,
    logs: &'a Path,
    suites: Vec<(Suite, Duration)>,
}

impl<'a> Trials<'a> {
    /// Sees how long `tests` take without any mutant.
    ///
    /// # Errors
    /// They do not pass.
    pub(crate) fn new(
        children: &'a Children,
        workshop: &'a Workshop,
        tests: Vec<TestProgram>,
    ) -> Result<Trials<'a>, Failure> {
        let Workshop { tree, logs, .. } = workshop;
        let mut suites: Vec<Suite> = tests.into_iter().map(Suite::new).collect();
        suites.sort_by_key(|suite| (suite.plays_faults(), suite.is_of(GATEWAY)));
        let mut trials = Trials { children, tree, logs, suites: Vec::new() };
        for suite in suites {
            let began = Instant::now();
            let log = logs.join("without-mutants");
            let (end, said) = suite.run(children, tree, (None, Selection::All), LIMIT, &log)?;
            if end != End::Passed {
                return Err(Failure::Tests { said, tests: suite.name });
            }
            let took = began.elapsed();
            println!("mutants: {} take {:.1} s without any mutant", suite.name, took.as_secs_f64());
            trials.suites.push((suite, limit(took)));
        }
        Ok(trials)
    }

    /// Tries the mutant of this number, of the crates in `folders`.
    ///
    /// # Errors
    /// Somebody interrupts.
    pub(crate) fn run(
        &self,
        number: usize,
        mutant: &Mutant,
        folders: &BTreeSet<&str>,
    ) -> io::Result<Outcome> {
        let log = self.logs.join(&mutant.name);
        let run = |suite: &Suite, selection, limit| {
            suite.run(self.children, self.tree, (Some(number), selection), limit, &log)
        };
        let outcome = |verdict, detail| Ok(Outcome { verdict, detail });
        if let Some(finder) = &mutant.finder
            && let Some((suite, limit)) = self.suites.iter().find(|(suite, _)| suite.found(finder))
            && let (End::Failed, said) = run(suite, Selection::Only(finder), *limit)?
        {
            return outcome(Verdict::Found, suite.finding(&said));
        }
        let mut late = None;
        for (suite, limit) in &self.suites {
            let concerned = suite.plays_faults()
                || suite.is_of(GATEWAY)
                || folders.iter().any(|folder| suite.is_of(folder));
            if !concerned {
                continue;
            }
            let (end, said) = run(suite, Selection::All, *limit)?;
            match end {
                End::Passed => {}
                End::Failed => return outcome(Verdict::Found, suite.finding(&said)),
                End::TimedOut => {
                    late = Some(format!("{}, after {} s", suite.name, limit.as_secs()));
                }
                End::Otherwise => {
                    return outcome(Verdict::Broken, format!("{} ended otherwise", suite.name));
                }
            }
        }
        match late {
            Some(detail) => outcome(Verdict::TimedOut, detail),
            None => Ok(Outcome::of(Verdict::Survived)),
        }
    }
}

//! A crate's tests as a program that is run for each mutant.

use crate::children::{Children, Ended};
use crate::workshop::TestProgram;
use crate::woven::VARIABLE;
use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// What libtest ends with if a test fails.
const FAILED: i32 = 101;

/// The seeds of the fault tests, unless `BENTPIPE_SEEDS` says otherwise.
const SEEDS: &str = "0..400";

/// The fault tests that are run: the seeds, and those that once violated something.
const FAULT_TESTS: [&str; 2] = ["seeds_keep_every_invariant", "seeds_that_once_violated"];

/// How tests have ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// All passed.
    Passed,
    /// One failed.
    Failed,
    /// They were ended: they took too long.
    TimedOut,
    /// In another way: by a signal, for one.
    Otherwise,
}

/// The tests.
pub(crate) struct Suite {
    program: TestProgram,
    /// How messages call them.
    pub(crate) name: String,
}

/// Which of the tests are run.
#[derive(Clone, Copy)]
pub(crate) enum Selection<'a> {
    /// All.
    All,
    /// The one that this finding names.
    Only(&'a str),
}

impl Suite {
    /// The tests in `program`.
    pub(crate) fn new(program: TestProgram) -> Suite {
        let name = match program.name {
            Some(_) => "the fault tests".to_owned(),
            None => format!("the {}'s tests", program.folder.trim_start_matches("crates/")),
        };
        Suite { program, name }
    }

    /// Whether they are of the crate in `folder`, and among its sources.
    pub(crate) fn is_of(&self, folder: &str) -> bool {
        self.program.name.is_none() && self.program.folder == folder
    }

    /// Whether they are the fault tests.
    pub(crate) fn plays_faults(&self) -> bool {
        self.program.name.is_some()
    }

    /// Whether one of them gave the finding.
    pub(crate) fn found(&self, finding: &str) -> bool {
        match self.plays_faults() {
            true => seed(finding).is_some(),
            false => self.test(finding).is_some(),
        }
    }

    /// The test, of these, that a finding names.
    fn test<'a>(&self, finding: &'a str) -> Option<&'a str> {
        finding.strip_prefix(self.crate_name())?.strip_prefix("::")
    }

    /// The crate's name.
    fn crate_name(&self) -> &str {
        self.program.folder.trim_start_matches("crates/")
    }

    /// Runs those of them that are selected in the copy at `tree` with `mutant`, or without any,
    /// until one fails. How they have ended, and what they have said, which is in `log` as well.
    ///
    /// # Errors
    /// They do not start, or somebody interrupts.
    pub(crate) fn run(
        &self,
        children: &Children,
        tree: &Path,
        (mutant, selection): (Option<usize>, Selection<'_>),
        limit: Duration,
        log: &Path,
    ) -> io::Result<(End, String)> {
        let (to, mut from) = (File::create(log)?, File::open(log)?);
        let mut command = Command::new(&self.program.executable);
        command.current_dir(tree.join(&self.program.folder)).env_remove(VARIABLE);
        command.stdout(to.try_clone()?).stderr(to);
        if let Some(mutant) = mutant {
            command.env(VARIABLE, mutant.to_string());
        }
        if self.plays_faults() {
            let seeds = match selection {
                Selection::Only(finding) => {
                    seed(finding).map(|seed| format!("{seed}..{}", seed + 1))
                }
                Selection::All => env::var("BENTPIPE_SEEDS").ok(),
            };
            command.env("BENTPIPE_SEEDS", seeds.as_deref().unwrap_or(SEEDS));
            command.env("BENTPIPE_ENOUGH", "1").args(FAULT_TESTS);
        } else if let Selection::Only(finding) = selection {
            command.arg("--exact").args(self.test(finding));
        }
        let mut said = Vec::new();
        let ended = children.run(&mut command, limit, || {
            let more = from.read_to_end(&mut said)? > 0;
            // The fault tests end by themselves, and say then which seed it was.
            Ok(more
                && !self.plays_faults()
                && failed_test(&String::from_utf8_lossy(&said)).is_some())
        })?;
        from.read_to_end(&mut said)?;
        let end = match ended {
            Ended::Enough => End::Failed,
            Ended::Late => End::TimedOut,
            Ended::Itself(status) => match status.code() {
                Some(0) => End::Passed,
                Some(FAILED) => End::Failed,
                _ => End::Otherwise,
            },
        };
        Ok((end, String::from_utf8_lossy(&said).into_owned()))
    }

    /// What they have found, by what they said: `seed 4711: whole`, or a test such as
    /// `gateway::tests::past::it_ends`.
    pub(crate) fn finding(&self, said: &str) -> String {
        match self.plays_faults() {
            true => said.lines().find_map(violation).unwrap_or("a fault test").to_owned(),
            false => format!("{}::{}", self.crate_name(), failed_test(said).unwrap_or("a test")),
        }
    }
}

/// The seed and the invariant that it violates: `seed 4711: whole`.
fn violation(line: &str) -> Option<&str> {
    let from = line.find("seed ")?;
    let (seed, what) = line[from + 5..].split_once(": ")?;
    let is_invariant = |letter: char| letter.is_ascii_lowercase() || letter == '-';
    let what = what.len() - what.trim_start_matches(is_invariant).len();
    let is_one = seed.parse::<u64>().is_ok() && what > 0;
    is_one.then(|| &line[from..from + 5 + seed.len() + 2 + what])
}

/// The seed of a finding: of `seed 4711: whole`, 4711.
fn seed(finding: &str) -> Option<u64> {
    finding.strip_prefix("seed ")?.split_once(':')?.0.parse().ok()
}

/// The first test that libtest says has failed: `test leg::it_ends ... FAILED`.
fn failed_test(said: &str) -> Option<&str> {
    let line = said.lines().find(|line| line.ends_with(" ... FAILED"))?;
    line.strip_prefix("test ")?.split(' ').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tests_say_is_understood() {
        assert_eq!(violation("Err: seed 4711: byte-order at 3 s"), Some("seed 4711: byte-order"));
        assert_eq!(violation("seed 4711 was drawn: once"), None);
        assert_eq!(seed("seed 4711: byte-order"), Some(4711));
        assert_eq!(seed("core::tests::seed 4711: byte-order"), None);
        let said = "test leg::ends ... ok\ntest leg::resets - should panic ... FAILED\n";
        assert_eq!(failed_test(said), Some("leg::resets"));
        assert_eq!(failed_test("test leg::ends ... ok"), None);
    }
}

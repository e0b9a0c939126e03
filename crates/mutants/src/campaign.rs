//! From mutants to verdicts: they apply, they compile, they are found.

use crate::children::Children;
use crate::failure::Failure;
use crate::mutant::{FOLDER, Mutant};
use crate::program::Program;
use crate::report::{Outcome, Report, Verdict};
use crate::trials::{GATEWAY, SIMULATOR, Trials};
use crate::workshop::{Built, Goal, Workshop};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// What is asked of each mutant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// What it changes is there.
    Applies,
    /// And the compiler takes it.
    Compiles,
    /// And a test fails.
    Found,
}

/// Mutants of which something is asked.
pub(crate) struct Campaign<'a> {
    root: &'a Path,
    mutants: &'a [Mutant],
    program: Program<'a>,
    /// The numbers of those that are asked for.
    asked: Vec<usize>,
    /// Whether what has found them is written into their files.
    keeps: bool,
}

impl<'a> Campaign<'a> {
    /// Those of `names` among the `mutants` of the tree at `root`, or all of them. With `keeps`
    /// their files will name what has found them.
    ///
    /// # Errors
    /// There is none of a name.
    pub(crate) fn new(
        root: &'a Path,
        mutants: &'a [Mutant],
        names: &[String],
        keeps: bool,
    ) -> Result<Campaign<'a>, Failure> {
        let number = |name: &String| {
            let number = mutants.iter().position(|mutant| mutant.name == *name);
            number.ok_or_else(|| Failure::Unknown(name.clone()))
        };
        let mut asked = names.iter().map(number).collect::<Result<Vec<_>, _>>()?;
        if names.is_empty() {
            asked.extend(0..mutants.len());
        }
        Ok(Campaign { root, mutants, program: Program::new(root, mutants), asked, keeps })
    }

    /// Says what becomes of each, and whether all are as they should be.
    ///
    /// # Errors
    /// They cannot be built or tried.
    pub(crate) fn run(&self, depth: Depth) -> Result<bool, Failure> {
        let good = match depth {
            Depth::Applies => Verdict::Applies,
            Depth::Compiles => Verdict::Compiles,
            Depth::Found => Verdict::Found,
        };
        let report = Report::new(good);
        let mut sound = self.asked.clone();
        sound.retain(|&mutant| !self.has_flaw(mutant, &report));
        if depth != Depth::Applies {
            let children = Children::new()?;
            let workshop = Workshop::new(&children, self.root)?;
            let Built { tests, broken } = self.build(&workshop, depth)?;
            sound.retain(|mutant| !self.is_broken(*mutant, &broken, &report));
            if depth == Depth::Found {
                let trials = Trials::new(&children, &workshop, tests)?;
                self.try_each(&trials, sound, &report)?;
                return Ok(report.end());
            }
        }
        for mutant in sound {
            report.add(self.name(mutant), Duration::ZERO, &Outcome::of(good));
        }
        Ok(report.end())
    }

    fn name(&self, mutant: usize) -> &str {
        &self.mutants[mutant].name
    }

    /// Whether it cannot be tried.
    fn has_flaw(&self, mutant: usize, report: &Report) -> bool {
        let flaw = self.program.flaw(mutant);
        if let Some(flaw) = flaw {
            let verdict = if flaw.is_stale() { Verdict::Stale } else { Verdict::Broken };
            let outcome = Outcome { verdict, detail: flaw.to_string() };
            report.add(self.name(mutant), Duration::ZERO, &outcome);
        }
        flaw.is_some()
    }

    /// Builds all mutants, those that nobody asks for too: so a build serves until the tree
    /// changes.
    fn build(&self, workshop: &Workshop, depth: Depth) -> Result<Built, Failure> {
        let began = Instant::now();
        let mut folders = self.program.crates();
        let goal = if depth == Depth::Found { Goal::Tests } else { Goal::Check };
        if goal == Goal::Tests {
            folders.extend([GATEWAY, SIMULATOR]);
        }
        let built = workshop.build(&self.program, &folders, goal)?;
        println!("mutants: one build for all, {} s", began.elapsed().as_secs());
        Ok(built)
    }

    /// Whether the compiler does not take it.
    fn is_broken(&self, mutant: usize, broken: &BTreeMap<usize, String>, report: &Report) -> bool {
        let error = broken.get(&mutant);
        if let Some(error) = error {
            print!("{error}");
            let detail = "it does not compile".to_owned();
            let outcome = Outcome { verdict: Verdict::Broken, detail };
            report.add(self.name(mutant), Duration::ZERO, &outcome);
        }
        error.is_some()
    }

    /// Lets the tests run with each of `mutants`: with as many at a time as there are processors,
    /// as tests of one crate often wait for their slowest.
    fn try_each(&self, trials: &Trials, mutants: Vec<usize>, report: &Report) -> io::Result<()> {
        let queue = Mutex::new(mutants.into_iter());
        let work = || {
            loop {
                let next = queue.lock().unwrap().next();
                let Some(mutant) = next else { return Ok(()) };
                let began = Instant::now();
                let (number, mutant) = (mutant, &self.mutants[mutant]);
                let outcome = trials.run(number, mutant, &self.program.crates_of(number))?;
                report.add(&mutant.name, began.elapsed(), &outcome);
                let another = mutant.finder.as_ref() != Some(&outcome.detail);
                if self.keeps && another && outcome.verdict == Verdict::Found {
                    mutant.keep(&self.root.join(FOLDER), &outcome.detail)?;
                }
            }
        };
        let workers = thread::available_parallelism()?.get();
        thread::scope(|scope| {
            let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("it does not panic"))
        })
    }
}

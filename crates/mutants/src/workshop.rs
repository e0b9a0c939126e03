//! The copy of the tree, as Cargo builds it: with all mutants at once, but for those that do not
//! compile.

use crate::children::{Children, Ended};
use crate::failure::Failure;
use crate::program::Program;
use crate::tree;
use crate::woven::Woven;
use cargo_metadata::diagnostic::{Diagnostic, DiagnosticLevel, DiagnosticSpan};
use cargo_metadata::{Artifact, Message};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A build takes as long as it takes.
const UNLIMITED: Duration = Duration::from_secs(1 << 20);

/// What Cargo does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    /// It looks whether all compiles.
    Check,
    /// It builds the crates' own tests and the fault tests.
    Tests,
}

/// What has come of it.
pub(crate) struct Built {
    /// The tests, in the order of their crates.
    pub(crate) tests: Vec<TestProgram>,
    /// What the compiler says of the mutants that it does not take.
    pub(crate) broken: BTreeMap<usize, String>,
}

/// Tests that are built.
pub(crate) struct TestProgram {
    /// The folder of their crate, from the tree's top.
    pub(crate) folder: String,
    /// The file in the crate's `tests`; none if they are among its sources.
    pub(crate) name: Option<String>,
    pub(crate) executable: PathBuf,
}

/// Where mutants are built.
pub(crate) struct Workshop<'a> {
    children: &'a Children,
    /// The tree that is copied.
    root: &'a Path,
    /// The copy.
    pub(crate) tree: PathBuf,
    /// What is built.
    target: PathBuf,
    /// What programs say.
    pub(crate) logs: PathBuf,
}

impl Workshop<'_> {
    /// One in Cargo's target folder, for the tree at `root`.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub(crate) fn new<'a>(children: &'a Children, root: &'a Path) -> io::Result<Workshop<'a>> {
        let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        let folder = root.join(target).join("mutants");
        let made = |name: &str| {
            fs::create_dir_all(folder.join(name))?;
            folder.join(name).canonicalize()
        };
        let (tree, target, logs) = (made("tree")?, made("build")?, made("logs")?);
        Ok(Workshop { children, root, tree, target, logs })
    }

    /// Builds the crates in `folders` with all mutants of `program` that compile.
    ///
    /// # Errors
    /// They do not compile without any mutant.
    pub(crate) fn build(
        &self,
        program: &Program,
        folders: &BTreeSet<&str>,
        goal: Goal,
    ) -> Result<Built, Failure> {
        let mut broken = BTreeMap::new();
        loop {
            let woven = program.weave(&broken)?;
            tree::copy(self.root, &self.tree, &woven)?;
            let Messages { succeeded, mut tests, errors } = self.cargo(folders, goal)?;
            if succeeded {
                tests.sort_by(|one, other| one.folder.cmp(&other.folder));
                return Ok(Built { tests, broken });
            }
            let before = broken.len();
            for error in &errors {
                if let Some(mutant) = spans(error).find_map(|span| mutant_at(&woven, span)) {
                    broken.entry(mutant).or_insert_with(|| text(error));
                }
            }
            if broken.len() == before {
                let said = fs::read_to_string(self.logs.join("cargo"))?;
                return Err(Failure::Build(errors.iter().map(text).chain([said]).collect()));
            }
        }
    }

    fn cargo(&self, folders: &BTreeSet<&str>, goal: Goal) -> io::Result<Messages> {
        let mut cargo = Command::new("cargo");
        match goal {
            Goal::Check => cargo.args(["check", "--lib"]),
            Goal::Tests => cargo.args(["test", "--no-run", "--profile", "mutants"]).args([
                "--lib",
                "--test",
                "fault_testing",
            ]),
        };
        for folder in folders {
            cargo.args(["--package", &package_in(&self.tree.join(folder))?]);
        }
        let json = self.logs.join("cargo.json");
        cargo
            .args(["--quiet", "--locked", "--message-format", "json"])
            .env("CARGO_TARGET_DIR", &self.target)
            .current_dir(&self.tree)
            .stdout(File::create(&json)?)
            .stderr(File::create(self.logs.join("cargo"))?);
        let ended = self.children.run(&mut cargo, UNLIMITED, || Ok(false))?;
        let succeeded = matches!(ended, Ended::Itself(status) if status.success());
        let mut messages = Messages { succeeded, tests: Vec::new(), errors: Vec::new() };
        for message in Message::parse_stream(BufReader::new(File::open(&json)?)) {
            messages.add(&self.tree, message?);
        }
        Ok(messages)
    }
}

/// The name of the package in `folder`.
fn package_in(folder: &Path) -> io::Result<String> {
    #[derive(Deserialize)]
    struct Manifest {
        package: Package,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
    }
    let text = fs::read_to_string(folder.join("Cargo.toml"))?;
    let manifest: Manifest = toml::from_str(&text).map_err(io::Error::other)?;
    Ok(manifest.package.name)
}

/// What Cargo says.
struct Messages {
    succeeded: bool,
    tests: Vec<TestProgram>,
    errors: Vec<Diagnostic>,
}

impl Messages {
    fn add(&mut self, tree: &Path, message: Message) {
        match message {
            Message::CompilerMessage(message)
                if message.message.level == DiagnosticLevel::Error =>
            {
                self.errors.push(message.message);
            }
            Message::CompilerArtifact(artifact) => self.tests.extend(test_program(tree, artifact)),
            _ => {}
        }
    }
}

fn test_program(tree: &Path, artifact: Artifact) -> Option<TestProgram> {
    let folder = artifact.manifest_path.parent()?.strip_prefix(tree).ok()?.to_string();
    let name = artifact.target.is_test().then_some(artifact.target.name);
    Some(TestProgram { folder, name, executable: artifact.executable?.into() })
}

/// Where the compiler sees an error: at first where it is.
fn spans(error: &Diagnostic) -> impl Iterator<Item = &DiagnosticSpan> {
    let primary = error.spans.iter().filter(|span| span.is_primary);
    primary.chain(error.spans.iter().filter(|span| !span.is_primary))
}

fn mutant_at(woven: &BTreeMap<String, Woven>, span: &DiagnosticSpan) -> Option<usize> {
    woven.get(&span.file_name)?.mutant_at(span.line_start)
}

fn text(error: &Diagnostic) -> String {
    error.rendered.clone().unwrap_or_else(|| error.message.clone())
}

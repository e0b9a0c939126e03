//! Deliberate defects, each of which the tests must find.
//!
//! `tests/mutants` has a file for each. All of them are put into a copy of the tree, which is built
//! once: a function that mutants change has a body for each, and chooses one when it runs. Then the
//! tests run with each mutant.

#![forbid(unsafe_code)]

mod campaign;
mod children;
mod failure;
mod functions;
mod mutant;
mod program;
mod report;
mod source;
mod suite;
mod tokens;
mod tree;
mod trials;
mod workshop;
mod woven;

use campaign::{Campaign, Depth};
use clap::Parser;
use failure::Failure;
use std::path::Path;
use std::process::ExitCode;

/// Puts deliberate defects into a copy of the tree, builds it once, and lets the tests find each
#[derive(Parser)]
struct Arguments {
    /// Only say which do not apply, in a second
    #[arg(long, conflicts_with = "compile")]
    applies: bool,
    /// Only say which do not apply or do not compile
    #[arg(long)]
    compile: bool,
    /// Also name in each one's file the test that has found it: the next time that runs first
    #[arg(long, conflicts_with_all = ["applies", "compile"])]
    keep: bool,
    /// Mutants, without .toml: all if none is given
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("mutants: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all is well with the mutants of the tree in which this runs.
fn run(arguments: &Arguments) -> Result<bool, Failure> {
    let depth = match arguments {
        Arguments { applies: true, .. } => Depth::Applies,
        Arguments { compile: true, .. } => Depth::Compiles,
        _ => Depth::Found,
    };
    let root = Path::new(".");
    let mutants = mutant::read_all(&root.join(mutant::FOLDER))?;
    Campaign::new(root, &mutants, &arguments.names, arguments.keep)?.run(depth)
}

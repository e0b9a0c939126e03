//! Wraps comments, and counts what CONTRIBUTING.md rules out of sentences.

#![forbid(unsafe_code)]

use bentpipe_prose::ratchet::{self, Counts, RatchetError};
use bentpipe_prose::{tree, wrap};
use clap::{Parser, Subcommand};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Holds comments and documents to CONTRIBUTING.md's rules
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Wrap comments at 100 columns
    Wrap {
        /// Change nothing: list the files that differ, and exit with 1 if there are any
        #[arg(long)]
        check: bool,
        /// Sources, or folders of sources
        #[arg(value_name = "PATH", default_value = "crates")]
        paths: Vec<PathBuf>,
    },
    /// List the exceptions of crates (core) and documents (docs/gateway.md): all if none is given
    List {
        /// Crates' folders or documents' paths
        #[arg(value_name = "SCOPE")]
        scopes: Vec<String>,
    },
    /// Write fewer exceptions to crates/prose/ratchet.toml; never more
    Ratchet,
}

fn main() -> ExitCode {
    let root = Path::new(".");
    let done = match Arguments::parse().command {
        Command::Wrap { check, paths } => wrap_all(root, &paths, check).map_err(RatchetError::Io),
        Command::List { scopes } => list(root, &scopes).map_err(RatchetError::Io),
        Command::Ratchet => lower(root),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("prose: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Wraps the comments of all sources, or says which would change.
fn wrap_all(root: &Path, paths: &[PathBuf], check: bool) -> io::Result<bool> {
    let mut same = true;
    for path in paths {
        for text in tree::below(root, path, "rs")? {
            let wrapped = wrap::wrap(&text.content, wrap::WIDTH);
            if wrapped == text.content {
                continue;
            }
            if check {
                println!("{}", text.path);
                same = false;
            } else {
                fs::write(root.join(&text.path), wrapped)?;
            }
        }
    }
    Ok(same)
}

/// Prints exceptions.
fn list(root: &Path, scopes: &[String]) -> io::Result<bool> {
    for (scope, finding) in ratchet::in_tree(root)? {
        if scopes.is_empty() || scopes.contains(&scope) {
            println!("{finding}");
        }
    }
    Ok(true)
}

/// Lowers the counts to those of the tree. If there is no file yet, writes the first one.
fn lower(root: &Path) -> Result<bool, RatchetError> {
    let all = ratchet::in_tree(root)?;
    let found = Counts::of(all.iter().map(|(scope, finding)| (scope.as_str(), finding.rule)));
    let file = root.join(ratchet::FILE);
    let accepted = match fs::read_to_string(&file) {
        Ok(text) => Counts::parse(&text)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => found.clone(),
        Err(error) => return Err(error.into()),
    };
    fs::write(&file, accepted.lowered_to(&found).text())?;
    let complaints = ratchet::complaints(root)?;
    for complaint in &complaints {
        println!("{complaint}");
    }
    Ok(complaints.is_empty())
}

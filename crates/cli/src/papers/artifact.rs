//! Artifacts of the papers: written after a run, and compared with what they give again.

use super::{Arguments, Error, commit, list};
use bentpipe_papers::artifact::{Artifact, Origin, PAGES, TESTS};
use bentpipe_papers::catalogue::Catalogue;
use bentpipe_papers::report::{self, Report};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const README: &str = include_str!("artifact.md");

/// Writes all that the verdicts of a report rest on, its pages and the checksums into `folder`.
pub(super) fn write(
    catalogue: &Catalogue,
    report: &Report,
    runs: &BTreeSet<PathBuf>,
    output: &Path,
    folder: &Path,
) -> Result<(), Error> {
    let origin = Origin {
        version: bentpipe_lab::version(),
        commit: report.commit.clone(),
        compiler: commit::compiler(),
        figures: report.figures.iter().map(|judged| judged.figure.clone()).collect(),
    };
    let unknown = || "unknown".to_owned();
    let readme = README
        .replace("{commit}", &origin.commit.clone().unwrap_or_else(unknown))
        .replace("{compiler}", &origin.compiler.clone().unwrap_or_else(unknown))
        .replace("{version}", &origin.version)
        .replace("{oldest}", env!("CARGO_PKG_RUST_VERSION"));
    let artifact = Artifact::begin(folder, origin, catalogue.files(), runs)?;
    match fs::read_to_string(output.join(TESTS)) {
        Ok(tests) => artifact.write(TESTS, tests)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    artifact.write("README.md", readme)?;
    report::write_docs(catalogue, report, output, &artifact.path(PAGES))?;
    artifact.seal()?;
    Ok(())
}

/// Compares the pages that an artifact's data gave now with those in it.
pub(super) fn compare(
    artifact: &Artifact,
    catalogue: &Catalogue,
    report: &Report,
    arguments: &Arguments,
    out: &mut impl Write,
) -> Result<ExitCode, Error> {
    let pages = match &arguments.docs {
        Some(pages) => pages.clone(),
        None => {
            let pages = arguments.output.join(PAGES);
            match fs::remove_dir_all(&pages) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                _ => report::write_docs(catalogue, report, &arguments.output, &pages)?,
            }
            pages
        }
    };
    let differing = artifact.differing(&pages)?;
    if arguments.json {
        writeln!(out, "{:#}", report.json(catalogue))?;
    } else {
        list::results(catalogue, report, out)?;
    }
    for name in &differing.names {
        eprintln!("bentpipe papers: {} is not as in the artifact", pages.join(name).display());
    }
    if !differing.names.is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    if !arguments.json {
        writeln!(
            out,
            "all checksums are right, and all {} pages and pictures in {} are as in the artifact",
            differing.same,
            pages.display()
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

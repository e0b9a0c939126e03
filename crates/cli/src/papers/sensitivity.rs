//! Figures at other values of free parameters, as a table or as JSON.

use super::progress::FigureProgress;
use super::{Arguments, Error};
use bentpipe_papers::catalogue::{Catalogue, Figure};
use bentpipe_papers::run::{Options, RunError};
use bentpipe_papers::sensitivity::{Sensitivity, path};
use bentpipe_terminal::interrupt::interrupted;
use serde_json::json;
use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;

/// Runs the figures, prints their numbers, and keeps them if asked to.
pub(super) fn run(
    catalogue: &Catalogue,
    figures: &[&Figure],
    arguments: &Arguments,
    options: &Options<'_>,
) -> Result<ExitCode, Error> {
    let mut progress = FigureProgress::new(figures.len(), arguments.quiet);
    let mut found = Vec::new();
    for figure in figures {
        progress.begin(&figure.id);
        match Sensitivity::run(figure, catalogue.files(), options, &|_| {}) {
            Ok(numbers) => found.push((&figure.id, numbers)),
            Err(RunError::Stopped) => {
                progress.end();
                return Ok(interrupted());
            }
            Err(error) => return Err(error.into()),
        }
        progress.done();
    }
    progress.end();
    if let Some(folder) = &arguments.keep {
        for (figure, numbers) in &found {
            let text = numbers.text().map_err(io::Error::other)?;
            fs::write(folder.join(path(figure)), text)?;
        }
    }
    let mut out = io::stdout().lock();
    if arguments.json {
        let all =
            found.iter().map(|(figure, it)| json!({ "figure": figure, "numbers": it.numbers }));
        writeln!(out, "{:#}", json!(all.collect::<Vec<_>>()))?;
        return Ok(ExitCode::SUCCESS);
    }
    for (figure, numbers) in &found {
        writeln!(out, "{figure}")?;
        for number in &numbers.numbers {
            let found = number.found.unwrap_or(f64::NAN);
            writeln!(
                out,
                "  {}: {}  {} {}  {found:.6} \u{b1} {:.2e} ({} runs)  {}",
                number.parameter,
                number.value,
                number.claim,
                number.name,
                number.half_width,
                number.runs,
                number.verdict.words()
            )?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

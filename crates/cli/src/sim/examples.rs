//! The list of the examples.

use super::check;
use bentpipe_lab::EXAMPLES;
use std::io::{self, Write};

/// Prints all of them.
pub(super) fn list(out: &mut impl Write) -> io::Result<()> {
    let width = EXAMPLES.iter().map(|example| example.name.len()).max().unwrap_or_default();
    for example in EXAMPLES {
        let Some(experiment) = example.experiment() else { continue };
        let title = experiment.point(0).scenario.title;
        let size = check::size(experiment.len(), &experiment.repeat);
        writeln!(out, "{:width$}  {title} ({size})", example.name)?;
    }
    writeln!(out, "\nOne of them: bentpipe sim NAME")
}

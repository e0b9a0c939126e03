//! The list of the examples.

use super::check;
use bentpipe_lab::EXAMPLES;
use bentpipe_terminal::table::{Align, Table};
use std::io::{self, Write};

/// Prints all of them.
pub(super) fn list(out: &mut impl Write) -> io::Result<()> {
    let mut table = Table::new([Align::Left, Align::Left]);
    for example in EXAMPLES {
        let Some(experiment) = example.experiment() else { continue };
        let title = experiment.point(0).scenario.title;
        let size = check::size(experiment.len(), &experiment.repeat);
        table.row([example.name.to_owned(), format!("{title} ({size})")]);
    }
    writeln!(out, "{table}\nOne of them: bentpipe sim NAME")
}

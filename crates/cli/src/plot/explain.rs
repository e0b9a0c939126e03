//! The stories of connections, as text and as JSON.

use bentpipe_capture::explain::telling;
use bentpipe_lab::captures::{Chosen, Opened};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Tells what both ends of the chosen connections sent, and why.
pub(super) fn write(
    files: &[Opened],
    chosen: &[Chosen],
    as_json: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    if as_json {
        let all = chosen.iter().map(|one| {
            let file = files[one.file].path.display().to_string();
            telling::as_json(&file, one.of(files))
        });
        let all: Vec<Value> = all.collect();
        let totals = telling::totals_as_json(&totals(files, chosen));
        return writeln!(out, "{:#}", json!({ "schema": 1, "totals": totals, "connections": all }));
    }
    if chosen.len() > 1 {
        telling::write_totals(&totals(files, chosen), out)?;
        writeln!(out)?;
    }
    for (number, one) in chosen.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        telling::write(&files[one.file].name, one.of(files), out)?;
    }
    Ok(())
}

fn totals(files: &[Opened], chosen: &[Chosen]) -> telling::Totals {
    telling::Totals::of(chosen.iter().map(|one| one.of(files)))
}

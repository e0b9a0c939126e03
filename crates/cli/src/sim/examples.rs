//! The examples that come with the program.

use super::check;
use bentpipe_scenario::Experiment;
use std::io::{self, Write};

/// An example.
pub(super) struct Example {
    name: &'static str,
    /// Its text.
    pub(super) text: &'static str,
}

macro_rules! shipped {
    ($($name:literal)*) => {
        &[$(Example {
            name: $name,
            text: include_str!(concat!("../../../../scenarios/", $name, ".toml")),
        },)*]
    };
}

const EXAMPLES: &[Example] = shipped!(
    "ack-spacing"
    "asymmetric-return"
    "background"
    "bit-errors"
    "cellular"
    "constant-rate-bound"
    "constant-rate-clocks"
    "crosslinks"
    "downstream-rates"
    "first-threshold"
    "geo-download"
    "geo-gateways"
    "geo-positions"
    "leo-handovers"
    "long-round-trips-only"
    "parking-lot"
    "queues"
    "repeated-handovers"
    "rough-link"
    "shared-ethernet"
    "shared-windows"
    "six-round-trips"
    "twenty-round-trips"
    "web-cache"
    "web-page-geo"
    "web-page-http2"
    "window-from-load"
);

/// The files that they name.
const FILES: &[(&str, &str)] = &[
    ("cellular.trace", include_str!("../../../../scenarios/cellular.trace")),
    ("handover.csv", include_str!("../../../../scenarios/handover.csv")),
    ("rain.csv", include_str!("../../../../scenarios/rain.csv")),
    ("shell.tle", include_str!("../../../../scenarios/shell.tle")),
];

impl Example {
    /// The name of its file.
    pub(super) fn file(&self) -> String {
        format!("{}.toml", self.name)
    }

    fn experiment(&self) -> Option<Experiment> {
        let read = |path: &str| trace(path).ok_or_else(String::new);
        Experiment::parse(self.name, self.text, &read).ok()
    }
}

/// The example of this name, with or without its ending.
pub(super) fn find(name: &str) -> Option<&'static Example> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    EXAMPLES.iter().find(|example| example.name == name)
}

/// The text of a file that an example names.
pub(super) fn trace(path: &str) -> Option<String> {
    FILES.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_file_of_the_folder_is_in_the_program() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let there: BTreeSet<String> = names.map(|name| name.into_string().unwrap()).collect();
        let traces = FILES.iter().map(|(name, _)| (*name).to_owned());
        let here: BTreeSet<String> = EXAMPLES.iter().map(Example::file).chain(traces).collect();
        assert_eq!(here, there);
        assert!(EXAMPLES.iter().all(|example| example.experiment().is_some()));
    }
}

//! The examples that come with bentpipe: scenarios that run as they are.

use bentpipe_scenario::Experiment;

/// An example.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! shipped {
    ($($name:literal)*) => {
        &[$(Example {
            name: $name,
            text: include_str!(concat!("../../../scenarios/", $name, ".toml")),
        },)*]
    };
}

/// All of them, by name.
pub const EXAMPLES: &[Example] = shipped!(
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
    "geo-comparison"
    "geo-download"
    "geo-evaluation-suite"
    "geo-gateways"
    "geo-positions"
    "leo-handovers"
    "long-connections"
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
    ("cellular.trace", include_str!("../../../scenarios/cellular.trace")),
    ("handover.csv", include_str!("../../../scenarios/handover.csv")),
    ("leo-downlink.csv", include_str!("../../../scenarios/leo-downlink.csv")),
    ("leo-uplink.csv", include_str!("../../../scenarios/leo-uplink.csv")),
    ("rain.csv", include_str!("../../../scenarios/rain.csv")),
    ("shell.tle", include_str!("../../../scenarios/shell.tle")),
];

impl Example {
    /// The name of its file.
    pub(crate) fn file(&self) -> String {
        format!("{}.toml", self.name)
    }

    /// As an experiment: all of them are sound.
    pub fn experiment(&self) -> Option<Experiment> {
        let read = |path: &str| trace(path).ok_or_else(String::new);
        Experiment::parse(self.name, self.text, &read).ok()
    }
}

/// The example of this name, with or without its ending.
pub(crate) fn find(name: &str) -> Option<&'static Example> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    EXAMPLES.iter().find(|example| example.name == name)
}

/// The text of a file that an example names.
pub(crate) fn trace(path: &str) -> Option<String> {
    FILES.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
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

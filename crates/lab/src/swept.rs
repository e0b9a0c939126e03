//! Columns for the fields that an experiment sweeps.
//!
//! Where every value of a field is a quantity of one kind, its column has numbers in the base
//! unit, which its name carries: `link.sat.delay` becomes `link.sat.delay_s`. Otherwise the values
//! stand there as texts.

use crate::cell::{Cell, CellKind, Heading};
use bentpipe_core::units::{Bytes, Rate, parse_duration};
use bentpipe_scenario::{Experiment, VARIANT};
use std::collections::BTreeSet;

/// The columns of the swept fields.
#[derive(Debug)]
pub(crate) struct Swept {
    axes: Vec<(String, Reading)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Number,
    Seconds,
    Rate,
    Bytes,
    Packets,
    Text,
}

/// The more special ones first.
const READINGS: [Reading; 5] =
    [Reading::Number, Reading::Seconds, Reading::Rate, Reading::Bytes, Reading::Packets];

impl Reading {
    fn read(self, text: &str) -> Option<f64> {
        match self {
            Reading::Number => text.parse().ok().filter(|number: &f64| number.is_finite()),
            Reading::Seconds => parse_duration(text).ok().map(|time| time.as_nanos() as f64 / 1e9),
            Reading::Rate => text.parse::<Rate>().ok().map(|rate| rate.bits_per_sec() as f64),
            Reading::Bytes => text.parse::<Bytes>().ok().map(|bytes| bytes.count() as f64),
            Reading::Packets => text.strip_suffix("packets")?.trim().parse().ok(),
            Reading::Text => None,
        }
    }

    fn suffix_and_unit(self) -> (&'static str, &'static str) {
        match self {
            Reading::Number | Reading::Text => ("", ""),
            Reading::Seconds => ("_s", "s"),
            Reading::Rate => ("_bps", "bit/s"),
            Reading::Bytes => ("_bytes", "bytes"),
            Reading::Packets => ("_packets", "packets"),
        }
    }
}

impl Swept {
    /// Those of `experiment`.
    pub(crate) fn of(experiment: &Experiment) -> Swept {
        let paths = experiment.swept();
        let mut values: Vec<BTreeSet<String>> = vec![BTreeSet::new(); paths.len()];
        for point in 0..experiment.len() {
            for (axis, (_, value)) in experiment.values(point).into_iter().enumerate() {
                values[axis].insert(value);
            }
        }
        let axes = paths.into_iter().zip(&values).map(|(path, values)| {
            // A variant's name is no quantity, whatever it looks like.
            let all = |reading: &&Reading| {
                path != VARIANT && values.iter().all(|text| reading.read(text).is_some())
            };
            (path.to_owned(), READINGS.iter().find(all).copied().unwrap_or(Reading::Text))
        });
        Swept { axes: axes.collect() }
    }

    pub(crate) fn headings(&self) -> impl Iterator<Item = Heading> + '_ {
        self.axes.iter().map(|(path, reading)| {
            let (suffix, unit) = reading.suffix_and_unit();
            let kind = if *reading == Reading::Text { CellKind::Text } else { CellKind::Number };
            // `flow.main.bytes` says its unit already.
            let suffix = if path.ends_with(&suffix.replace('_', ".")) { "" } else { suffix };
            Heading::new(&format!("{path}{suffix}"), kind, unit, "swept: its value at the point")
        })
    }

    pub(crate) fn cells(&self, values: &[(String, String)]) -> Vec<Cell> {
        let cell = |((_, reading), (_, text)): (&(String, Reading), &(String, String))| {
            reading.read(text).map_or_else(|| text.into(), Cell::Number)
        };
        self.axes.iter().zip(values).map(cell).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_numbers_and_all_else_is_text() {
        let text = r#"
            [run]
            duration = "1s"
            [host.a]
            [host.b]
            [link.sat]
            between = ["a", "b"]
            rate = "1Mbit/s"
            [flow.main]
            from = "a"
            to = "b"
            [sweep]
            "link.sat.delay" = ["1ms", "1s"]
            "link.sat.queue" = ["6packets", "1bdp"]
            "link.sat.loss" = [0, 1e-3]
            "flow.main.bytes" = ["1KB", "1MiB"]
        "#;
        let read = |_: &str| Err(String::new());
        let experiment = Experiment::parse("x", text, &read).unwrap();
        let swept = Swept::of(&experiment);
        let names: Vec<String> = swept.headings().map(|heading| heading.name).collect();
        assert_eq!(
            names,
            ["link.sat.delay_s", "link.sat.queue", "link.sat.loss", "flow.main.bytes"]
        );
        let cells = swept.cells(&experiment.values(experiment.len() - 1));
        let expected =
            [1.0.into(), (&"1bdp".to_owned()).into(), 0.001.into(), Cell::Number(1_048_576.0)];
        assert_eq!(cells, expected);
    }

    #[test]
    fn names_of_variants_are_texts() {
        let text = r#"
            [run]
            duration = "1s"
            [host.a]
            [host.b]
            [link.sat]
            between = ["a", "b"]
            [flow.main]
            from = "a"
            to = "b"
            [[variant]]
            name = "1"
            [[variant]]
            name = "2"
        "#;
        let read = |_: &str| Err(String::new());
        let experiment = Experiment::parse("x", text, &read).unwrap();
        let heading = Swept::of(&experiment).headings().next().unwrap();
        assert_eq!((heading.name.as_str(), heading.kind), ("variant", CellKind::Text));
    }
}

//! The cases, a file for each family.

mod alone;
mod asymmetric;
mod jitter;
mod sharing;
mod transfers;

use super::case::{Case, Column};
use super::limit::{Limit, Opening, PACKET, PAYLOAD};
use super::setup::{DOWNLOAD, Place, Setup, bbr};
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Probability, Rate};

/// All cases, in the order of the table. `long`: those, too, that take minutes.
pub fn all(long: bool) -> Vec<Case> {
    let mut cases = transfers::all(long);
    cases.extend(jitter::all());
    cases.extend(alone::all());
    cases.extend(asymmetric::all());
    cases.extend(sharing::all());
    cases
}

/// The satellite link of most cases: 8 Mbit/s, and 250 ms each way.
const GEO_RATE: Rate = Rate::from_bits_per_sec(8_000_000);
const GEO_ROUND_TRIP: Duration = Duration::from_millis(500);

/// A gateway that knows that link.
fn told_geo() -> Place {
    told("8Mbit/s", "500ms")
}

fn told(rate: &str, round_trip: &str) -> Place {
    Place::Told { rate: rate.to_owned(), return_rate: None, round_trip: round_trip.to_owned() }
}

/// A download over the GEO link, and its limit.
fn geo(size: Size) -> (Setup, Limit) {
    let limit = Limit::of(GEO_RATE, GEO_ROUND_TRIP, size.bytes, Opening::Receiver);
    (Setup::of(DOWNLOAD).with("flow.transfer.bytes", size.text()), limit)
}

/// Which way the data go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Download,
    Upload,
}

/// How much is transferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size {
    name: &'static str,
    bytes: u64,
}

impl Size {
    const KB_10: Size = Size { name: "10 KB", bytes: 10_000 };
    const KB_100: Size = Size { name: "100 KB", bytes: 100_000 };
    const MB_1: Size = Size { name: "1 MB", bytes: 1_000_000 };
    const MB_2: Size = Size { name: "2 MB", bytes: 2_000_000 };
    const MB_10: Size = Size { name: "10 MB", bytes: 10_000_000 };
    const MB_50: Size = Size { name: "50 MB", bytes: 50_000_000 };
    const MB_100: Size = Size { name: "100 MB", bytes: 100_000_000 };
    const GB_1: Size = Size { name: "1 GB", bytes: 1_000_000_000 };

    /// As in a scenario.
    fn text(self) -> String {
        format!("{}B", self.bytes)
    }
}

/// `0.1%`, and the same as a number.
fn percent(percent: f64) -> (String, Probability) {
    let probability = Probability::new(percent / 100.0).expect("at most all packets are lost");
    (format!("{percent}%"), probability)
}

/// What `rate` carries of payload in full-sized packets, in bit/s.
fn payload_rate(rate: Rate) -> f64 {
    rate.bits_per_sec() as f64 * PAYLOAD as f64 / PACKET as f64
}

impl Case {
    /// The columns without a gateway, with `setup`.
    fn end_to_end(self, setup: &Setup) -> Case {
        self.column(Column::EndToEnd, setup.clone()).end_to_end_bbr(setup)
    }

    /// The column of hosts with BBR alone, if the core has it.
    fn end_to_end_bbr(self, setup: &Setup) -> Case {
        match bbr() {
            Some(bbr) => self.column(Column::EndToEndBbr, setup.clone().hosts(bbr)),
            None => self,
        }
    }

    /// All columns: without gateways, with a pair that has been `told`, and with one that has not.
    fn all_columns(self, setup: &Setup, told: &Place) -> Case {
        self.end_to_end(setup)
            .column(Column::Known, setup.clone().pair(told))
            .column(Column::Estimated, setup.clone().pair(&Place::Gateway))
    }
}

#[cfg(test)]
mod tests {
    use super::super::setup;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_case_can_be_run_and_has_a_name_of_its_own() {
        let mut names = BTreeSet::new();
        for case in all(true) {
            assert!(names.insert(case.name.clone()), "{} is there twice", case.name);
            assert!(!case.columns.is_empty(), "{}", case.name);
            for (column, setup) in &case.columns {
                let point = setup.point().unwrap_or_else(|error| {
                    panic!("{}, {column:?}: {error}", case.name);
                });
                let random = point.canonical.contains("loss")
                    || point.canonical.contains("bit-err")
                    || point.canonical.contains("gilbert")
                    || point.canonical.contains("uniform");
                let runs = case.seeds.of(200);
                assert_eq!(random, runs > 1, "{}, {column:?}: {runs} runs", case.name);
            }
        }
    }

    #[test]
    fn the_families_are_all_there() {
        let cases = all(false);
        let count = |part: &str| cases.iter().filter(|case| case.name.contains(part)).count();
        assert_eq!(count("without loss"), 4);
        assert_eq!(count("packet loss"), 8);
        assert_eq!(count("one gateway"), 72);
        assert_eq!(count("bit errors"), 3);
        assert_eq!(count("LEO"), 3);
        assert_eq!(count("delay varies"), 4);
        assert_eq!(count("1 GB"), 0);
        assert_eq!(all(true).len() - cases.len(), 2);
        let beside = if setup::bbr().is_some() { 8 } else { 4 };
        assert_eq!(count("third party"), beside);
    }

    #[test]
    fn gateways_stand_where_the_columns_say() {
        let (setup, _) = geo(Size::MB_1);
        let canonical = |setup: Setup| setup.point().unwrap().canonical;
        assert!(!canonical(setup.clone()).contains("gateway"));
        let text = canonical(setup.clone().between(told_geo(), Place::Router));
        assert!(text.contains("gateway.g1") && text.contains("router.g2"), "{text}");
        assert!(text.contains("500ms") && text.contains("server-side"), "{text}");
        let text = canonical(setup.pair(&Place::Gateway));
        assert!(text.contains("gateway.g2") && !text.contains("satellite"), "{text}");
    }
}

//! The same link with losses: one file by several ways, whose times a table compares.

mod live;
mod simulated;

use bentpipe_core::units::{Bytes, Probability};
use bentpipe_testbed::five_hosts::SatelliteLink;
use serde::Serialize;
use std::fmt::Write as _;

use super::report::size;
use crate::bench::satellite::limit::{Limit, Opening};

pub(super) use live::all as measure;
pub(super) use simulated::all as simulate;

/// The file.
const BYTES: u64 = 10_000_000;

/// One packet in a hundred is lost, in each direction.
const LOSS: f64 = 0.01;

/// How the file comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Variant {
    EndToEnd,
    EndToEndBbr,
    /// Through gateways that have been told nothing about the link.
    Estimated,
    /// Through gateways that know its rate and round trip.
    Known,
}

impl Variant {
    const ALL: [Variant; 4] =
        [Variant::EndToEnd, Variant::EndToEndBbr, Variant::Estimated, Variant::Known];

    /// In the table.
    fn name(self) -> &'static str {
        match self {
            Variant::EndToEnd => "end to end, CUBIC",
            Variant::EndToEndBbr => "end to end, BBR",
            Variant::Estimated => "gateways, nothing configured",
            Variant::Known => "gateways, link known",
        }
    }

    /// In a line of progress.
    fn short(self) -> &'static str {
        match self {
            Variant::EndToEnd => "CUBIC",
            Variant::EndToEndBbr => "BBR",
            Variant::Estimated => "gateways",
            Variant::Known => "gateways that know the link",
        }
    }

    fn has_gateways(self) -> bool {
        matches!(self, Variant::Estimated | Variant::Known)
    }
}

/// What became of the file by one way.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Transfer {
    pub(super) variant: Variant,
    /// How long it took; absent if it was stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seconds: Option<f64>,
    /// After how long it was stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stopped_s: Option<f64>,
    /// What had come by then.
    pub(super) received_bytes: u64,
    /// Whether that is what was sent.
    pub(super) hash_matches: bool,
}

/// All of them.
#[derive(Debug, Serialize)]
pub(super) struct Lossy {
    bytes: u64,
    loss: f64,
    /// The mean of an ideal sender, to which a loss is known a round trip later.
    pub(super) limit_s: f64,
    pub(super) transfers: Vec<Transfer>,
}

impl Lossy {
    /// How the file has come over `link`, which loses nothing itself.
    pub(super) fn new(link: &SatelliteLink, transfers: Vec<Transfer>) -> Lossy {
        let round_trip = bentpipe_core::time::Duration::from_nanos(
            u64::try_from(2 * link.delay.as_nanos()).unwrap_or(u64::MAX),
        );
        let limit = Limit::of(link.rate, round_trip, BYTES, Opening::Receiver);
        let limit = Limit { loss: loss().into(), ..limit };
        Lossy { bytes: BYTES, loss: LOSS, limit_s: limit.seconds(), transfers }
    }

    /// The table for the terminal.
    pub(super) fn to_table(&self) -> String {
        let mut table = format!(
            "{} where {} % of the packets are lost, each way\n",
            size(self.bytes),
            100.0 * self.loss
        );
        for transfer in &self.transfers {
            let hash = if transfer.hash_matches { "same" } else { "DIFFERENT" };
            let name = transfer.variant.name();
            _ = match (transfer.seconds, transfer.stopped_s) {
                (Some(seconds), _) => writeln!(table, "{name:>30}{seconds:>10.2} s   {hash}"),
                (None, Some(seconds)) => {
                    let came = size(transfer.received_bytes / 100_000 * 100_000);
                    writeln!(
                        table,
                        "{name:>30}{:>12}   stopped: {came} came",
                        format!("> {seconds:.0} s")
                    )
                }
                (None, None) => writeln!(table, "{name:>30}{:>12}   broken", "-"),
            };
        }
        _ = writeln!(table, "{:>30}{:>10.2} s", "limit", self.limit_s);
        table
    }

    /// What it is about, in few words.
    pub(super) fn name(&self) -> String {
        format!("{}, {} % lost", size(self.bytes), 100.0 * self.loss)
    }

    /// How many did not arrive as they were sent.
    pub(super) fn differ(&self) -> usize {
        self.transfers.iter().filter(|transfer| !transfer.hash_matches).count()
    }
}

/// So many steps of progress all this is.
pub(super) const STEPS: usize = 1;

fn loss() -> Probability {
    Probability::new(LOSS).expect("a hundredth is a probability")
}

/// What is going on, for a line of progress.
fn heading() -> String {
    format!("{}, {} % lost", Bytes::new(BYTES), 100.0 * LOSS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(variant: Variant, seconds: Option<f64>) -> Transfer {
        let stopped_s = if seconds.is_none() { Some(60.0) } else { None };
        Transfer { variant, seconds, stopped_s, received_bytes: 4_230_000, hash_matches: true }
    }

    fn lossy() -> Lossy {
        let transfers =
            vec![transfer(Variant::EndToEnd, None), transfer(Variant::Known, Some(11.9))];
        Lossy::new(&super::super::geo_link(), transfers)
    }

    #[test]
    fn what_was_stopped_says_how_far_it_had_come() {
        let table = lossy().to_table();
        let line = |part: &str| table.lines().find(|line| line.contains(part)).unwrap();
        assert!(line("CUBIC").contains("> 60 s") && line("CUBIC").contains("4.2 MB"), "{table}");
        assert!(line("link known").contains("11.90 s   same"), "{table}");
        assert!(line("limit").contains("11.8"), "{table}");
        assert!(!table.contains("BBR"), "{table}");
    }

    #[test]
    fn the_json_has_the_promised_keys() {
        let json = serde_json::to_value(lossy()).unwrap();
        assert!((json["limit_s"].as_f64().unwrap() - 11.83).abs() < 0.1, "{json}");
        let [cubic, known] = [0, 1].map(|i| &json["transfers"][i]);
        assert_eq!((&cubic["variant"], &cubic["stopped_s"]), (&"end_to_end".into(), &60.0.into()));
        assert!(cubic.get("seconds").is_none());
        assert_eq!((&known["variant"], &known["seconds"]), (&"known".into(), &11.9.into()));
        assert_eq!(known["hash_matches"], true);
    }
}

//! The same link with losses: one file by several ways, whose times a table compares.

mod live;
mod simulated;

use bentpipe_core::units::{Bytes, Probability};
use bentpipe_testbed::five_hosts::SatelliteLink;
use serde::Serialize;

use super::report::size;
use crate::satellite::limit::{Limit, Opening};

pub use live::all as measure;
pub use simulated::all as simulate;

/// The file.
const BYTES: u64 = 10_000_000;

/// One packet in a hundred is lost, in each direction.
const LOSS: f64 = 0.01;

/// How the file comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// By the hosts alone, with CUBIC.
    EndToEnd,
    /// By the hosts alone, with BBR.
    EndToEndBbr,
    /// Through unconfigured gateways.
    Estimated,
    /// Through gateways that know its rate and round trip.
    Known,
}

impl Variant {
    const ALL: [Variant; 4] =
        [Variant::EndToEnd, Variant::EndToEndBbr, Variant::Estimated, Variant::Known];

    /// In the table.
    pub fn name(self) -> &'static str {
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
pub struct Transfer {
    /// The way.
    pub variant: Variant,
    /// How long it took; absent if it was stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// After how long it was stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_s: Option<f64>,
    /// What had come by then.
    pub received_bytes: u64,
    /// Whether that is what was sent.
    pub hash_matches: bool,
}

/// All of them.
#[derive(Debug, Serialize)]
pub struct Lossy {
    /// The size of the file.
    pub bytes: u64,
    /// The share of the packets that are lost, in each direction.
    pub loss: f64,
    /// The mean of an ideal sender, to which a loss is known a round trip later.
    pub limit_s: f64,
    /// One for each way.
    pub transfers: Vec<Transfer>,
}

impl Lossy {
    /// How the file has come over `link`, which loses nothing itself.
    pub fn new(link: &SatelliteLink, transfers: Vec<Transfer>) -> Lossy {
        let round_trip = bentpipe_core::time::Duration::from_nanos(
            u64::try_from(2 * link.delay.as_nanos()).unwrap_or(u64::MAX),
        );
        let limit = Limit::of(link.rate, round_trip, BYTES, Opening::Receiver);
        let limit = Limit { loss: loss().into(), ..limit };
        Lossy { bytes: BYTES, loss: LOSS, limit_s: limit.seconds(), transfers }
    }

    /// What it is about, in few words.
    pub(super) fn name(&self) -> String {
        format!("{}, {} % lost", size(self.bytes), 100.0 * self.loss)
    }

    /// How many did not arrive as they were sent.
    pub fn differ(&self) -> usize {
        self.transfers.iter().filter(|transfer| !transfer.hash_matches).count()
    }
}

/// So many steps of progress all this is.
pub const STEPS: usize = 1;

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
    fn the_json_has_the_promised_keys() {
        let json = serde_json::to_value(lossy()).unwrap();
        assert!((json["limit_s"].as_f64().unwrap() - 11.83).abs() < 0.1, "{json}");
        let [cubic, known] = [0, 1].map(|i| &json["transfers"][i]);
        assert_eq!((&cubic["variant"], &cubic["stopped_s"]), (&"end-to-end".into(), &60.0.into()));
        assert!(cubic.get("seconds").is_none());
        assert_eq!((&known["variant"], &known["seconds"]), (&"known".into(), &11.9.into()));
        assert_eq!(known["hash_matches"], true);
    }
}

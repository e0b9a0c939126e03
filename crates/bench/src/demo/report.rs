//! The results as numbers: the limit, the JSON.

use std::time::Duration;

use bentpipe_core::units::Bytes;
use bentpipe_testbed::five_hosts::SatelliteLink;
use serde::Serialize;

use super::lossy::Lossy;

/// Payload of a full segment: Ethernet's 1500 bytes less IPv4, TCP and timestamps.
const SEGMENT: u64 = 1448;
/// What a segment carries besides: 20 bytes of IPv4, 20 of TCP, 12 of timestamps.
const HEADERS: u64 = 52;

/// All measurements.
#[derive(Debug, Serialize)]
pub struct Report {
    /// One for each file.
    pub rows: Vec<Row>,
    /// With losses.
    pub lossy: Lossy,
}

/// One file.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Its size.
    pub bytes: u64,
    /// How long the download took with TCP from end to end.
    pub end_to_end_s: f64,
    /// How long it took through the gateways, if they ran.
    pub gateways_s: Option<f64>,
    /// How long it takes at least.
    pub limit_s: f64,
    /// Whether all downloads had the hash of the file.
    pub hashes_match: bool,
}

/// The shortest time in which a file can come over `link`: one round trip for the handshake, one
/// for the request and the first byte, and the bytes on the wire at the link's rate.
pub(super) fn limit(link: &SatelliteLink, bytes: u64) -> Duration {
    let wire = bytes + HEADERS * bytes.div_ceil(SEGMENT);
    4 * link.delay + link.rate.time_for(wire)
}

/// The link in words.
pub fn describe(link: &SatelliteLink) -> String {
    let SatelliteLink { rate, delay, queue, .. } = link;
    let rate = rate.to_string().replace("Mbit", " Mbit");
    let queue = queue.to_string().replace("KB", " KB");
    format!("{rate}, {} ms each way, queue {queue}", delay.as_millis())
}

/// A file's size with a space before its unit.
pub fn size(bytes: u64) -> String {
    let text = Bytes::new(bytes).to_string();
    let unit = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    format!("{} {}", &text[..unit], &text[unit..])
}

impl Report {
    /// The JSON that is written to `demo.json`.
    pub fn to_json(&self) -> String {
        // Numbers, strings and a list always serialise.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::units::Rate;

    #[test]
    fn the_limit_is_two_round_trips_and_the_bytes_on_the_wire() {
        let rate = Rate::from_bits_per_sec(8_000_000);
        let link = SatelliteLink::with_bdp_queue(rate, Duration::from_millis(250));
        let seconds = |bytes| format!("{:.2}", limit(&link, bytes).as_secs_f64());
        assert_eq!(seconds(10_000), "1.01");
        assert_eq!(seconds(100_000), "1.10");
        assert_eq!(seconds(1_000_000), "2.04");
        assert_eq!(seconds(10_000_000), "11.36");
        assert_eq!(describe(&link), "8 Mbit/s, 250 ms each way, queue 500 KB");
    }

    #[test]
    fn the_json_has_the_promised_keys() {
        let row = Row {
            bytes: 10_000,
            end_to_end_s: 1.01,
            gateways_s: Some(1.0),
            limit_s: 1.01,
            hashes_match: true,
        };
        let lossy = Lossy::new(&super::super::geo_link(), Vec::new());
        let report = Report { rows: vec![row], lossy };
        let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
        assert!(json["lossy"]["limit_s"].is_f64());
        let row = &json["rows"][0];
        assert_eq!(row["bytes"], 10_000);
        assert_eq!(row["hashes_match"], true);
        for key in ["end_to_end_s", "gateways_s", "limit_s"] {
            assert!(row[key].is_f64(), "{key}");
        }
    }
}

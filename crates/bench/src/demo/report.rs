//! The results as numbers: the JSON.

use super::lossy::Lossy;
use bentpipe_core::units::Bytes;
use serde::Serialize;

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
    /// Whether all that came is what was sent: otherwise there is an error in its place.
    pub hashes_match: bool,
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

    #[test]
    fn the_json_has_the_promised_keys() {
        let row = Row {
            bytes: 10_000,
            end_to_end_s: 1.01,
            gateways_s: Some(1.0),
            limit_s: 1.01,
            hashes_match: true,
        };
        let lossy = Lossy { bytes: 1, loss: 0.01, limit_s: 11.8, transfers: Vec::new() };
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

//! Traces of links as programs and data sets write them, recognised by their content.
//!
//! [`text`] unpacks a file, [`read`] finds out its format: each has a file here. A file that gives
//! no link alone is named, with what to use instead.

mod bytes;
mod csv;
mod error;
mod hypatia;
mod iperf3;
mod irtt;
mod leoreplayer;
mod mahimahi;
mod netem;
mod recognise;
mod rows;
#[cfg(test)]
pub(crate) mod tests;

pub use bytes::text;
pub use csv::{ColumnChoice, CsvColumns, csv};
pub use error::ForeignError;
pub use hypatia::hypatia;
pub use iperf3::iperf3;
pub use irtt::{IRTT_WINDOW, irtt};
pub use leoreplayer::leoreplayer_delays;
pub use mahimahi::mahimahi;
pub use netem::NetemTable;
pub use recognise::{join, read};
pub use rows::{Rows, Series, Step};

/// What a trace could be.
const EXPECTED: &str = "CSV with a header such as `time_s,rate_Mbit/s,delay_ms,loss`, moments in ms of mahimahi's, LeoReplayer's rates and delays together, or JSON of irtt or iperf3";

/// Lines that are neither empty nor comments, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim_matches([' ', '\r'])));
    lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
}

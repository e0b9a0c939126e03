//! The demo: real downloads over an emulated GEO link, with and without the gateways, and the same
//! ones in virtual time.
//!
//! The scene is that of the papers: one client, one server, a geostationary satellite between
//! them, files from one that fits the initial window to one that fills the link for seconds
//! (Henderson and Katz 1999; Bharadwaj et al. 1999, 2001).

pub mod chart;
pub mod lossy;
pub mod measure;
mod progress;
pub mod report;
pub mod simulated;

use std::time::Duration;

use bentpipe_core::units::Rate;
use bentpipe_testbed::five_hosts::SatelliteLink;

pub use progress::Progress;

/// The four files: KB and MB are decimal.
pub const SIZES: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

/// A geostationary link as the demo has it: 8 Mbit/s, 250 ms, one bandwidth-delay product.
pub fn geo_link() -> SatelliteLink {
    SatelliteLink::with_bdp_queue(Rate::from_bits_per_sec(8_000_000), Duration::from_millis(250))
}

//! How much a stream may hold at most: what its link needs, where that is known.
//!
//! A flow that is alone has a filling window in flight, a bandwidth-delay product and a quarter,
//! and as much waits behind it. That is enough without losses. A loss holds up what follows it for
//! a round trip, and for another one if its retransmission is lost as well. In the simulator, 100
//! MB over 100 Mbit/s and 600 ms, mean of five runs, in seconds (Henderson, 4.3.1, counts two to
//! three products):
//!
//! | bandwidth-delay products | 2 | 2.5 | 3 | 4 | 5 | 8 |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | no loss | 9.49 | 9.49 | 9.49 | 9.49 | 9.49 | 9.49 |
//! | 0.1 % | 10.13 | 10.07 | 10.07 | 10.07 | 10.07 | 10.07 |
//! | 1 % | 12.24 | 11.54 | 11.02 | 10.84 | 10.84 | 10.84 |
//! | 5 % | 18.07 | 15.50 | 14.43 | 13.69 | 13.61 | 13.59 |
//!
//! So it is five of them, four filling windows, of the link that brings the stream or of the one
//! that takes it away, whichever needs more: the two directions of a satellite link are hardly ever
//! alike. Where no link is known a stream may hold what it turns out to need. How much of that it
//! may hold at any moment, its flow decides (`mechanisms::buffer_tuner`) and the pool
//! (`table::pool`).

use super::{Config, LegConfig, with_a_quarter};
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Rate};
use serde::{Deserialize, Serialize};

/// What a stream may hold where the link is not known, whatever that turns out to need, in bytes.
pub(crate) const UNKNOWN_LINK: Bytes = Bytes::new(4 << 20);

/// Filling windows that a stream may hold.
const WINDOWS: u64 = 4;

/// The largest window that TCP has (RFC 7323, 2.3), in bytes.
const LARGEST: Bytes = Bytes::new(1 << 30);

/// A handshake that took longer than any link's round trip and the hosts' own does not tell what
/// the link needs.
const LONGEST_ROUND_TRIP: Duration = Duration::from_secs(2);

/// What a stream may hold, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamLimit {
    /// Whatever its link turns out to need.
    pub(crate) min: Bytes,
    /// At most.
    pub(crate) max: Bytes,
}

impl StreamLimit {
    /// So many bytes, whatever is measured.
    pub(crate) fn known(bytes: Bytes) -> StreamLimit {
        StreamLimit { min: bytes, max: bytes }
    }
}

impl Config {
    /// What a stream may hold: these windows fill the link that brings it, and the one that takes
    /// it away.
    pub(crate) fn stream_limit(&self, filling_windows: [Option<Bytes>; 2]) -> StreamLimit {
        if let Some(max) = self.max_stream {
            return StreamLimit::known(max);
        }
        match filling_windows.into_iter().flatten().max() {
            Some(link) => {
                StreamLimit::known(link.saturating_mul(WINDOWS).clamp(UNKNOWN_LINK, LARGEST))
            }
            None => StreamLimit { min: UNKNOWN_LINK, max: LARGEST },
        }
    }

    /// What any stream may hold at most, in bytes, whatever handshakes measure.
    pub fn largest_stream(&self) -> u64 {
        let rtt = Some(LONGEST_ROUND_TRIP);
        [[&self.satellite, &self.lan], [&self.lan, &self.satellite]]
            .map(|[from, to]| {
                let windows =
                    [from.known_arriving_window(true, rtt), to.known_filling_window(true, rtt)];
                self.stream_limit(windows).max.count()
            })
            .into_iter()
            .fold(0, u64::max)
    }

    /// The window that we let a SYN promise on our behalf, which is not scaled.
    pub(crate) fn first_window(&self) -> u16 {
        let max = self.max_stream.map_or(u64::MAX, Bytes::count);
        u16::try_from(max).unwrap_or(u16::MAX)
    }
}

impl LegConfig {
    /// Whether this leg takes losses for its link's own, with a `peer` gateway at its other end:
    /// the rate of that link.
    pub(crate) fn known_link(&self, peer: bool) -> Option<Rate> {
        self.rate.filter(|_| peer && self.is_watched())
    }

    /// The window that fills the link as it is configured; or, where the rate alone is and nobody
    /// else is known to be on the way, by the round trip of the handshake.
    pub(crate) fn known_filling_window(&self, peer: bool, rtt: Option<Duration>) -> Option<Bytes> {
        self.filling_window().or_else(|| measured(self.known_link(peer)?, rtt))
    }

    /// The same for what comes.
    pub(crate) fn known_arriving_window(&self, peer: bool, rtt: Option<Duration>) -> Option<Bytes> {
        let alone = || self.arriving_rate().filter(|_| peer && self.is_watched());
        self.arriving_window().or_else(|| measured(alone()?, rtt))
    }
}

/// The window that fills a link of this rate, by the round trip of the handshake.
fn measured(rate: Rate, rtt: Option<Duration>) -> Option<Bytes> {
    Some(with_a_quarter(rate.bytes_in(rtt?.min(LONGEST_ROUND_TRIP))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Losses;

    fn known(megabits: u64, round_trip: Option<Duration>) -> Config {
        let mut config = Config::default();
        config.satellite.rate = Some(Rate::from_bits_per_sec(megabits * 1_000_000));
        config.satellite.round_trip = round_trip;
        config
    }

    fn limit(config: &Config, peer: bool, rtt: Option<Duration>) -> u64 {
        let windows = [&config.satellite, &config.lan];
        let symmetric = config.stream_limit(windows.map(|leg| leg.known_filling_window(peer, rtt)));
        let coming = config.stream_limit(windows.map(|leg| leg.known_arriving_window(peer, rtt)));
        assert_eq!(symmetric, coming, "nothing is said of another rate");
        assert!([symmetric.min, LARGEST].contains(&symmetric.max));
        symmetric.min.count()
    }

    const GEO: Option<Duration> = Some(Duration::from_millis(600));

    #[test]
    fn a_stream_may_hold_five_bandwidth_delay_products_of_a_known_link() {
        assert_eq!(limit(&known(100, GEO), false, None), 5 * 7_500_000);
        assert_eq!(limit(&known(400, GEO), false, None), 5 * 30_000_000);
        assert_eq!(limit(&known(100_000, GEO), false, None), 1 << 30, "TCP's largest window");
        // Never less than where nothing is known.
        assert_eq!(limit(&known(1, GEO), false, None), 4 << 20);
        assert_eq!(limit(&Config::default(), true, GEO), 4 << 20);
    }

    #[test]
    fn the_handshake_tells_the_round_trip_where_nobody_else_is_on_the_link() {
        let rate_alone = known(100, None);
        assert_eq!(limit(&rate_alone, true, GEO), 5 * 7_500_000);
        assert_eq!(limit(&rate_alone, false, GEO), 4 << 20, "no peer gateway");
        assert_eq!(limit(&rate_alone, true, None), 4 << 20, "the handshake was repeated");
        let mut believed = known(100, None);
        believed.satellite.losses = Losses::Believed;
        assert_eq!(limit(&believed, true, GEO), 4 << 20);
        // Who waits with his acknowledgment has no more of us.
        let (slow, minute) = (known(10, None), Some(Duration::from_secs(60)));
        assert_eq!(limit(&slow, true, minute), 5 * 2_500_000);
        assert_eq!(limit(&slow, true, minute), slow.largest_stream());
    }

    /// A terminal that sends 3 Mbit/s and receives 250.
    #[test]
    fn what_comes_is_sized_by_what_comes() {
        let mut config = known(3, GEO);
        config.satellite.return_rate = Some(Rate::from_bits_per_sec(250_000_000));
        let product = 250_000_000 / 8 * 6 / 10;
        let limit = |config: &Config, rtt| {
            let windows = |from: &LegConfig, to: &LegConfig| {
                [from.known_arriving_window(true, rtt), to.known_filling_window(true, rtt)]
            };
            let [satellite, lan] = [&config.satellite, &config.lan];
            [windows(satellite, lan), windows(lan, satellite)]
                .map(|windows| config.stream_limit(windows).min.count())
        };
        assert_eq!(limit(&config, None), [5 * product, 4 << 20]);
        assert_eq!(config.largest_stream(), 5 * product);
        config.satellite.round_trip = None;
        assert_eq!(limit(&config, GEO), [5 * product, 4 << 20]);
        config.satellite.rate = None;
        assert_eq!(limit(&config, GEO)[0], 5 * product, "what goes need not be known");
    }

    #[test]
    fn the_operators_cap_counts_alone() {
        for max in [64_000, 2 << 20, 100 << 20] {
            let config = Config { max_stream: Some(Bytes::new(max)), ..known(100, GEO) };
            assert_eq!((limit(&config, true, GEO), config.largest_stream()), (max, max));
        }
        let first_window = |max_stream| Config { max_stream, ..Config::default() }.first_window();
        assert_eq!(first_window(None), u16::MAX);
        assert_eq!(first_window(Some(Bytes::new(4_000))), 4_000);
    }
}

//! How often a leg acknowledges: as it was told, or as its link has room.
//!
//! Between gateways that know their link an acknowledgment paces nothing and opens no window, so that one for eight
//! segments costs less than half a percent of goodput, also where packets are lost. Where acknowledgments crowd
//! the way back it wins (`sim:gateways/return_channel.rs`).

use super::LegConfig;
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::tcp::presets::KEYS;
use bentpipe_core::tcp::receiver::AckPolicy;
use bentpipe_core::time::Duration;

/// For a way back that is narrow.
const THINNED: AckPolicy = AckPolicy::Thinned { segments: 8, delay: Duration::from_millis(200) };

/// The length of an acknowledgment with timestamps, and of the two packets that it is for.
const ACK_LEN: u128 = 52;
const ACKED_LEN: u128 = 3000;

/// The part of our rate that acknowledgments may take before they are thinned: a tenth.
const PART: u128 = 10;

impl LegConfig {
    /// When acknowledgments are sent, to a `peer` gateway or to anybody else: thinned, unless a policy was
    /// chosen, where what may come from a known link would make them take more than a tenth of our rate.
    pub fn acknowledgments(&self, peer: bool) -> AckPolicy {
        let rates = self.known_link(peer).zip(self.return_rate);
        let narrow = rates.is_some_and(|(out, back)| {
            let [out, back] = [out, back].map(|rate| u128::from(rate.bits_per_sec()));
            back * ACK_LEN * PART > out * ACKED_LEN
        });
        if narrow && self.ack_by_link { THINNED } else { self.ack_policy }
    }

    /// The same as text.
    pub fn acknowledgments_text(&self, peer: bool) -> String {
        let config = ConnectionConfig {
            ack_policy: self.acknowledgments(peer),
            ..ConnectionConfig::default()
        };
        let key = KEYS.iter().find(|key| key.name == "ack").expect("a leg has this key");
        key.value(&config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Losses};
    use bentpipe_core::units::Rate;

    /// A terminal that sends so many kbit/s and receives 8 Mbit/s.
    fn terminal(kbits: u64) -> LegConfig {
        let mut leg = Config::default().satellite;
        leg.rate = Some(Rate::from_bits_per_sec(1_000 * kbits));
        leg.return_rate = Some(Rate::from_bits_per_sec(8_000_000));
        leg
    }

    #[test]
    fn acknowledgments_are_thinned_where_they_would_take_more_than_a_tenth() {
        // 8 Mbit/s are acknowledged by 139 kbit/s.
        assert_eq!(terminal(1_380).acknowledgments_text(true), "thinned:8:200ms");
        assert_eq!(terminal(1_390).acknowledgments_text(true), "delayed:40ms");
        let usual = Config::default().satellite.ack_policy;
        assert_eq!(terminal(64).acknowledgments(false), usual, "a host's sender may count them");
        let half = LegConfig { rate: None, ..terminal(64) };
        assert_eq!(half.acknowledgments(true), usual);
        let believed = LegConfig { losses: Losses::Believed, ..terminal(64) };
        assert_eq!(believed.acknowledgments(true), usual, "windows of few segments wait for them");
    }

    #[test]
    fn who_chooses_a_policy_has_it() {
        for text in ["delayed:40ms", "per-segment"] {
            let mut leg = terminal(64);
            leg.set("ack", text).unwrap();
            assert_eq!(leg.acknowledgments_text(true), text);
        }
        let mut leg = terminal(64);
        leg.set_all("iw=4").unwrap();
        assert_eq!(leg.acknowledgments(true), THINNED);
    }
}

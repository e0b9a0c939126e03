//! How often a leg acknowledges: as it was told, or as its link has room.
//!
//! Between gateways that know their link an acknowledgment paces nothing and opens no window, so
//! that one for eight segments costs less than half a percent of goodput, also where packets are
//! lost. Where acknowledgments crowd the way back it wins (`sim:gateways/return_channel.rs`).
//!
//! Where nothing is known of the way back, one for eight would hold up a peer gateway's slow start.
//! But of a window of hundreds of segments the sender learns nothing by each second one, and behind
//! a hole each one would be reported. So a peer gateway gets some 64 acknowledgments in a round
//! trip, one for eight segments at most. In the simulator, 100 MB over 250 Mbit/s and 3 Mbit/s
//! back, 600 ms, unconfigured gateways, mean of three runs, in seconds:
//!
//! | loss | 0 | 0.1 % | 0.5 % | 1 % |
//! | --- | --- | --- | --- | --- |
//! | each second segment | 8.79 | 17.67 | 19.50 | 20.43 |
//! | one for eight from the beginning | 12.76 | 13.69 | | 15.10 |
//! | 64 in a round trip | 7.75 | 9.13 | 9.81 | 10.90 |

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

/// Acknowledgments in a round trip from which a sender learns all that it needs.
const IN_A_ROUND: u64 = 64;

/// Segments for which one stands at most where the way back is not known.
const MOST: u64 = 8;

/// Of fewer segments in a round trip each is acknowledged at once, if that is shorter than so many
/// times the timer: many flows share the link, and what waits for the timer would count as being on
/// its way. On longer paths it waits for a small part of the round trip, and ways back are narrow.
const FEW: u64 = 4;
const TIMERS: u32 = 4;

/// The part of our rate that acknowledgments may take before they are thinned: a tenth.
const PART: u128 = 10;

/// How a leg acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Acknowledgments {
    usual: AckPolicy,
    /// For two super-segments together between hosts near by: no policy was chosen.
    joins: bool,
    /// Less often where much comes.
    thins: bool,
    /// More often where that tells the peer of the link's queue.
    prompts: bool,
}

/// How long a super-segment waits for another one, or until it is delivered: through a busy machine
/// that takes ten milliseconds, and a receiver delays its acknowledgment for longer.
const WHILE_DELIVERED: Duration = Duration::from_millis(20);

impl Acknowledgments {
    /// Before anything has come.
    pub(crate) fn at_first(self) -> AckPolicy {
        self.usual
    }

    /// Whether some of them are sent at once, to a peer gateway that measures round trips by them.
    pub(crate) fn are_prompt(self) -> bool {
        self.prompts
    }

    /// Where super-segments of so many segments come one behind another.
    pub(crate) fn of_bursts(self, segments: u64) -> AckPolicy {
        match self.usual {
            AckPolicy::PerSegment | AckPolicy::Delayed(_) if self.joins => {
                AckPolicy::Thinned { segments: 2 * segments as u32, delay: WHILE_DELIVERED }
            }
            usual => usual,
        }
    }

    /// Where so many full segments come in a round trip, which takes so long.
    pub(crate) fn at(self, segments: u64, round_trip: Duration) -> AckPolicy {
        // An odd number releases segments of which the last one is acknowledged by itself.
        match (self.usual, (segments / IN_A_ROUND).min(MOST) & !1) {
            (AckPolicy::Delayed(delay), segments @ 4..) if self.thins => {
                AckPolicy::Thinned { segments: segments as u32, delay }
            }
            (AckPolicy::Delayed(delay), _)
                if self.prompts && (1..FEW).contains(&segments) && delay * TIMERS > round_trip =>
            {
                AckPolicy::PerSegment
            }
            (usual, _) => usual,
        }
    }
}

impl LegConfig {
    /// When acknowledgments are sent, to a `peer` gateway or to anybody else: thinned, unless a
    /// policy was chosen, where what may come from a known link would make them take more than a
    /// tenth of our rate; and, to a peer gateway, where much comes.
    pub(crate) fn acknowledgments(&self, peer: bool) -> Acknowledgments {
        let rates = self.known_link(peer).zip(self.return_rate);
        let narrow = rates.is_some_and(|(out, back)| {
            let [out, back] = [out, back].map(|rate| u128::from(rate.bits_per_sec()));
            back * ACK_LEN * PART > out * ACKED_LEN
        });
        match narrow && self.ack_by_link {
            true => Acknowledgments { usual: THINNED, joins: false, thins: false, prompts: false },
            false => {
                let thins = peer && self.ack_by_link;
                let prompts = thins && self.finds_together();
                Acknowledgments { usual: self.ack_policy, joins: self.ack_by_link, thins, prompts }
            }
        }
    }

    /// The same as text, for a flow that begins.
    pub fn acknowledgments_text(&self, peer: bool) -> String {
        let config = ConnectionConfig {
            ack_policy: self.acknowledgments(peer).at_first(),
            ..ConnectionConfig::default()
        };
        let key = KEYS.iter().find(|key| key.name == "ack").expect("a leg has this key");
        key.value(&config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::FoundBy;
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
        assert_eq!(
            terminal(64).acknowledgments(false).at_first(),
            usual,
            "a host's sender may count them"
        );
        let half = LegConfig { rate: None, ..terminal(64) };
        assert_eq!(half.acknowledgments(true).at_first(), usual);
        let believed = LegConfig { losses: Losses::Believed, ..terminal(64) };
        assert_eq!(
            believed.acknowledgments(true).at_first(),
            usual,
            "windows of few segments wait for them"
        );
    }

    #[test]
    fn who_chooses_a_policy_has_it() {
        for text in ["delayed:40ms", "per-segment"] {
            let mut leg = terminal(64);
            leg.set("ack", text).unwrap();
            assert_eq!(leg.acknowledgments_text(true), text);
            assert_eq!(leg.acknowledgments(false).of_bursts(45), leg.ack_policy);
        }
        let mut leg = terminal(64);
        leg.set_all("iw=4").unwrap();
        assert_eq!(leg.acknowledgments(true).at_first(), THINNED);
    }

    #[test]
    fn acknowledgments_are_thinned_where_much_comes_from_a_peer() {
        let leg = Config::default().satellite;
        let far = Duration::from_millis(600);
        let at = |peer, segments| leg.acknowledgments(peer).at(segments, far);
        let AckPolicy::Delayed(delay) = leg.ack_policy else { panic!("{:?}", leg.ack_policy) };
        for (segments, thinned) in [
            (0, None),
            (255, None),
            (256, Some(4)),
            (511, Some(6)),
            (512, Some(8)),
            (1 << 40, Some(8)),
        ] {
            let expected = match thinned {
                Some(segments) => AckPolicy::Thinned { segments, delay },
                None => leg.ack_policy,
            };
            assert_eq!(at(true, segments), expected, "{segments}");
            assert_eq!(at(false, segments), leg.ack_policy, "a host's sender may count them");
        }
        // Few segments on a short path.
        let together = LegConfig { found_by: FoundBy::AllFlows, ..leg };
        let near = |segments, millis| {
            together.acknowledgments(true).at(segments, Duration::from_millis(millis))
        };
        assert_eq!([near(0, 50), near(3, 600), near(4, 50)], [leg.ack_policy; 3]);
        assert_eq!(near(3, 50), AckPolicy::PerSegment);
        let mut chosen = leg;
        chosen.set("ack", "delayed:40ms").unwrap();
        assert_eq!(chosen.acknowledgments(true).at(1 << 20, far), leg.ack_policy);
        assert_eq!(terminal(64).acknowledgments(true).at(1 << 20, far), THINNED);
    }
}

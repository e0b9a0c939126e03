//! The limit: how long an ideal sender takes.
//!
//! It knows the link's rate and every loss. After the handshake, which loses nothing and carries no
//! request, it sends back to back at that rate; each loss is known one round trip after the packet
//! was sent, and what was lost is retransmitted before anything new, and may be lost again.
//! Acknowledgments cost nothing. Where losses are random the limit is a mean over many such
//! transfers, through the very loss models of the simulated links.

use bentpipe_core::link::{LinkConfig, LossKind, LossModel, Losses, Transmission};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Probability, Rate};
use std::collections::VecDeque;

/// A full-sized packet, and the payload in it: IPv4, TCP, and the timestamps option.
pub(super) const PACKET: u64 = 1500;
pub(super) const PAYLOAD: u64 = 1448;

/// Packets that the mean of a limit is taken over, about, and bounds of the number of transfers.
const PACKETS: u64 = 4_000_000;
const MIN_SAMPLES: u64 = 20;
const MAX_SAMPLES: u64 = 4000;

/// Who opens the connection, which decides when the first byte of data leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    /// Who receives: a download, whose sender begins when the handshake's last segment has come.
    Receiver,
    /// Who sends: an upload, whose sender begins when the SYN-ACK has come.
    Sender,
}

/// What is sent over which link.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limit {
    pub(crate) rate: Rate,
    pub(crate) round_trip: Duration,
    pub(crate) loss: LossKind,
    pub(crate) bit_errors: Probability,
    /// Transfers that begin together, each on a direction of the link of its own: all are waited
    /// for.
    pub(crate) transfers: Vec<(u64, Opening)>,
    /// Nothing passes for so long while data are under way.
    pub(crate) silence: Duration,
}

impl Limit {
    /// Of one transfer of `bytes` over a link that loses nothing.
    pub(crate) fn of(rate: Rate, round_trip: Duration, bytes: u64, opening: Opening) -> Limit {
        Limit {
            rate,
            round_trip,
            loss: LossKind::NONE,
            bit_errors: Probability::ZERO,
            transfers: vec![(bytes, opening)],
            silence: Duration::ZERO,
        }
    }

    /// Whether the limit is random.
    pub(super) fn is_lossy(&self) -> bool {
        self.loss != LossKind::NONE || self.bit_errors != Probability::ZERO
    }

    /// The mean time from the SYN to the last byte, in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        let packets: u64 = self.transfers.iter().map(|(bytes, _)| bytes.div_ceil(PAYLOAD)).sum();
        let samples = match self.is_lossy() {
            true => (PACKETS / packets.max(1)).clamp(MIN_SAMPLES, MAX_SAMPLES),
            false => 1,
        };
        let sum: f64 = (0..samples).map(|sample| self.sample(sample)).sum();
        sum / samples as f64 + self.silence.as_secs_f64()
    }

    /// One draw of it.
    fn sample(&self, number: u64) -> f64 {
        let transfers = self.transfers.iter().zip(0..);
        let times = transfers.map(|((bytes, opening), direction)| {
            let mut losses = Losses::new(&LinkConfig {
                packet_loss: self.loss.clone(),
                bit_errors: self.bit_errors.into(),
                seed: 2 * number + direction,
                ..LinkConfig::IDEAL
            });
            let half = self.round_trip / 2;
            let begin = Instant::ZERO
                + match opening {
                    Opening::Receiver => self.round_trip + half,
                    Opening::Sender => self.round_trip,
                };
            self.last_sent(begin, *bytes, &mut losses) + half
        });
        times.max().unwrap_or(Instant::ZERO).as_secs_f64()
    }

    /// When the last bit of what was sent last, and arrives, leaves the sender.
    fn last_sent(&self, begin: Instant, bytes: u64, losses: &mut impl LossModel) -> Instant {
        let (mut now, mut end, mut left) = (begin, begin, bytes);
        // Payloads that were lost, by when that is known.
        let mut lost: VecDeque<(Instant, u64)> = VecDeque::new();
        loop {
            let known = lost.front().filter(|(at, _)| *at <= now || left == 0).copied();
            let payload = match known {
                Some((at, payload)) => {
                    lost.pop_front();
                    now = now.max(at);
                    payload
                }
                None if left > 0 => {
                    let payload = left.min(PAYLOAD);
                    left -= payload;
                    payload
                }
                None => return end,
            };
            let wire_len = payload + PACKET - PAYLOAD;
            let began = now;
            now += self.rate.time_for(wire_len);
            if losses.loses(&Transmission { began, ended: now, wire_len }) {
                lost.push_back((now + self.round_trip, payload));
            } else {
                end = now;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::link::GilbertElliott;

    fn geo(bytes: u64) -> Limit {
        let (rate, round_trip) = (Rate::from_bits_per_sec(8_000_000), Duration::from_millis(500));
        Limit::of(rate, round_trip, bytes, Opening::Receiver)
    }

    fn lossy(bytes: u64, loss: f64) -> f64 {
        let loss = Probability::new(loss).unwrap();
        Limit { loss: loss.into(), ..geo(bytes) }.seconds()
    }

    #[test]
    fn without_loss_it_is_two_round_trips_and_the_bytes() {
        // 6906 full packets, and one of 112 bytes and its 52 of headers.
        let bytes = (6906 * 1500 + 112 + 52) as f64 * 8.0 / 8e6;
        assert!((geo(10_000_000).seconds() - (1.0 + bytes)).abs() < 1e-6);
        let upload = Limit { transfers: vec![(1448, Opening::Sender)], ..geo(0) };
        assert!((upload.seconds() - 0.7515).abs() < 1e-6);
    }

    #[test]
    fn with_loss_it_is_what_others_have_computed() {
        let expected = [
            (10_000_000, [(0.001, 11.45), (0.01, 11.83), (0.02, 12.05), (0.05, 12.52)]),
            (2_000_000, [(0.001, 3.16), (0.01, 3.46), (0.02, 3.58), (0.05, 3.79)]),
        ];
        for (bytes, points) in expected {
            for (loss, seconds) in points {
                let found = lossy(bytes, loss);
                let near = (found / seconds - 1.0).abs() < 0.01;
                assert!(near, "{bytes} bytes at {loss}: {found} and not {seconds}");
            }
        }
    }

    #[test]
    fn what_is_lost_at_the_end_costs_a_round_trip() {
        /// Loses the packets with these numbers.
        struct Some(Vec<u64>, u64);
        impl LossModel for Some {
            fn loses(&mut self, _: &Transmission) -> bool {
                self.1 += 1;
                self.0.contains(&(self.1 - 1))
            }
        }
        let ms = |millis: f64| Instant::from_nanos((millis * 1e6) as u64);
        let last = |lost: &[u64], packets: u64| {
            let mut losses = Some(lost.to_vec(), 0);
            geo(0).last_sent(Instant::ZERO, packets * PAYLOAD, &mut losses)
        };
        assert_eq!(last(&[], 2), ms(3.0));
        assert_eq!(last(&[1], 2), ms(3.0 + 500.0 + 1.5));
        // Lost, and lost again.
        assert_eq!(last(&[1, 2], 2), ms(3.0 + 2.0 * 501.5));
        // Early enough, it only takes its turn: known at 501.5 ms, while much is still to be sent.
        assert_eq!(last(&[0], 1000), ms(1001.0 * 1.5));
    }

    #[test]
    fn bursts_of_the_same_loss_cost_fewer_tails() {
        let channel = GilbertElliott::from_bursts(10.0, Probability::new(0.01).unwrap()).unwrap();
        let bursts = Limit { loss: LossKind::GilbertElliott(channel), ..geo(2_000_000) }.seconds();
        assert!(geo(2_000_000).seconds() < bursts && bursts < lossy(2_000_000, 0.01), "{bursts}");
    }

    #[test]
    fn of_several_transfers_the_last_one_counts_and_silence_is_added() {
        let one = geo(2_000_000);
        let both = Limit {
            transfers: vec![(2_000_000, Opening::Receiver), (1000, Opening::Sender)],
            silence: Duration::from_secs(2),
            ..geo(0)
        };
        assert!((both.seconds() - one.seconds() - 2.0).abs() < 1e-9);
    }
}

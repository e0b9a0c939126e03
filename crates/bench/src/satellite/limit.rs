//! The limit: how long an ideal sender takes.
//!
//! It knows the link's rate and every loss. After the handshake, which loses nothing and carries no
//! request, it sends back to back at that rate; each loss is known one round trip after the packet
//! was sent, and what was lost is retransmitted before anything new, and may be lost again.
//! Acknowledgments cost nothing. Where losses are random the limit is a mean over many such
//! transfers, through the very loss models of the simulated links.

use bentpipe_core::link::{
    LinkConfig, LossKind, LossModel, Losses, QueueKind, Transmission, loss_probability,
};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Probability, Rate};
use bentpipe_links::{DirectionSpec, Outages};
use bentpipe_scenario::{Flow, FlowEnd, Scenario, Workload, network};
use std::collections::VecDeque;

/// A full-sized packet, and the payload in it: IPv4, TCP, and the timestamps option.
pub(super) const PACKET: u64 = 1500;
pub(super) const PAYLOAD: u64 = 1448;

/// Packets that the mean of a limit is taken over, about, and bounds of the number of transfers.
const PACKETS: u64 = 4_000_000;
const MIN_SAMPLES: u64 = 20;
const MAX_SAMPLES: u64 = 4000;

/// With more losses a sample would take too long.
const MAX_LOSS: f64 = 0.9;

/// Ideal transfers, and the time that they take.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limit {
    /// They begin together, each on a direction of a link of its own: all are waited for.
    transfers: Vec<IdealTransfer>,
    /// Nothing passes for so long while data are under way.
    silence: Duration,
}

/// A transfer, and the slowest direction of a link on its path.
#[derive(Debug, Clone, PartialEq)]
struct IdealTransfer {
    bytes: u64,
    /// The end that opens the connection, which decides when the first byte of data leaves.
    opened_by: FlowEnd,
    /// Of the whole path, empty.
    round_trip: Duration,
    rate: Rate,
    loss: LossKind,
    bit_errors: Probability,
}

impl Limit {
    /// The limit of the bulk transfers of a scenario that are not background.
    ///
    /// # Errors
    /// The reason why there is none, as a part of a sentence.
    pub(crate) fn of(scenario: &Scenario) -> Result<Limit, &'static str> {
        let flows: Vec<&Flow> = scenario.flows.iter().filter(|flow| !flow.background).collect();
        let ends: Vec<_> = flows.iter().map(|flow| (flow.from, flow.to)).collect();
        if flows.is_empty() || flows.iter().any(|flow| flow.count > 1) {
            return Err("it is of one flow, or of one in each direction");
        }
        if ends.iter().enumerate().any(|(index, end)| ends[..index].contains(end)) {
            return Err("two flows in one direction share it");
        }
        let transfers = flows.into_iter().map(|flow| IdealTransfer::of(scenario, flow));
        let planned = scenario.links.iter().flat_map(|link| &link.forward.outages);
        let lasting = planned.filter_map(|outages| match outages {
            Outages::Planned(spans) => Some(spans.iter().map(|(_, lasting)| *lasting)),
            Outages::Periodic { .. } | Outages::Random { .. } => None,
        });
        let silence = lasting.flatten().fold(Duration::ZERO, |sum, span| sum + span);
        Ok(Limit { transfers: transfers.collect::<Result<_, _>>()?, silence })
    }

    /// What is transferred.
    pub(crate) fn bytes(&self) -> u64 {
        self.transfers.iter().map(|transfer| transfer.bytes).sum()
    }

    /// The share of full-sized packets that is lost on the first transfer's way, bursts apart.
    pub(crate) fn loss(&self) -> f64 {
        let first = self.transfers.first();
        first.map_or(0.0, |transfer| share_lost(&transfer.loss, transfer.bit_errors))
    }

    /// The same without losses.
    pub(crate) fn lossless(&self) -> Limit {
        let lossless = |transfer: &IdealTransfer| IdealTransfer {
            loss: LossKind::NONE,
            bit_errors: Probability::ZERO,
            ..transfer.clone()
        };
        Limit { transfers: self.transfers.iter().map(lossless).collect(), silence: self.silence }
    }

    /// The mean time from the SYN to the last byte, in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        let packets = self.transfers.iter().map(|transfer| transfer.bytes.div_ceil(PAYLOAD));
        let samples = match self.transfers.iter().any(IdealTransfer::is_lossy) {
            true => (PACKETS / packets.sum::<u64>().max(1)).clamp(MIN_SAMPLES, MAX_SAMPLES),
            false => 1,
        };
        let sum: f64 = (0..samples).map(|sample| self.sample(sample)).sum();
        sum / samples as f64 + self.silence.as_secs_f64()
    }

    /// One draw of it.
    fn sample(&self, number: u64) -> f64 {
        let transfers = self.transfers.iter().zip(0..);
        let times = transfers.map(|(transfer, direction)| transfer.time(2 * number + direction));
        times.max().unwrap_or(Instant::ZERO).as_secs_f64()
    }
}

impl IdealTransfer {
    fn of(scenario: &Scenario, flow: &Flow) -> Result<IdealTransfer, &'static str> {
        let Workload::Bulk { bytes: Some(bytes), opened_by, .. } = &flow.workload else {
            return Err("a flow is no bulk transfer of so many bytes");
        };
        let path = network::path(&scenario.nodes, &scenario.links, flow.from, flow.to);
        let path = path.ok_or("a flow has no path")?;
        let mut round_trip = Duration::ZERO;
        let mut slowest: Option<(Rate, &DirectionSpec)> = None;
        for (link, entered_at) in path {
            let link = scenario.link(link);
            for direction in [&link.forward, &link.back] {
                round_trip += direction.delay.at(Instant::ZERO);
            }
            let there = link.from(entered_at).ok_or("a flow has no path")?;
            if let Some(rate) = rate_of(there)
                && slowest.is_none_or(|(least, _)| rate < least)
            {
                slowest = Some((rate, there));
            }
        }
        let (rate, direction) = slowest.ok_or("no link on its path has a rate")?;
        if let LossKind::Independent(loss) = &direction.loss
            && loss.greatest().value() > MAX_LOSS
        {
            return Err("its slowest link loses nearly everything");
        }
        Ok(IdealTransfer {
            bytes: bytes.mean_bytes() as u64,
            opened_by: *opened_by,
            round_trip,
            rate,
            loss: direction.loss.clone(),
            bit_errors: direction.bit_errors.at(Instant::ZERO),
        })
    }

    /// Whether its time is random.
    fn is_lossy(&self) -> bool {
        self.loss != LossKind::NONE || self.bit_errors != Probability::ZERO
    }

    /// When its last byte arrives, with losses of this seed.
    fn time(&self, seed: u64) -> Instant {
        let mut losses = Losses::new(&LinkConfig {
            packet_loss: self.loss.clone(),
            bit_errors: self.bit_errors.into(),
            seed,
            ..LinkConfig::IDEAL
        });
        let half = self.round_trip / 2;
        // Data follow the handshake's last segment, or the SYN-ACK of who is called.
        let begin = Instant::ZERO
            + match self.opened_by {
                FlowEnd::To => self.round_trip + half,
                FlowEnd::From => self.round_trip,
            };
        self.last_sent(begin, &mut losses) + half
    }

    /// When the last bit of what was sent last, and arrives, leaves the sender.
    fn last_sent(&self, begin: Instant, losses: &mut impl LossModel) -> Instant {
        let (mut now, mut end, mut left) = (begin, begin, self.bytes);
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

/// The share of full-sized packets that is lost at the beginning, bursts apart.
pub(super) fn share_lost(loss: &LossKind, bit_errors: Probability) -> f64 {
    let loss = match loss {
        LossKind::Independent(loss) => loss.at(Instant::ZERO),
        LossKind::GilbertElliott(_) => Probability::ZERO,
    };
    loss_probability(loss, bit_errors, PACKET)
}

/// The rate of a direction at the beginning: a policer's, if that is less than its line's.
pub(super) fn rate_of(direction: &DirectionSpec) -> Option<Rate> {
    let line = direction.rate.as_ref().map(|rate| rate.at(Instant::ZERO));
    match &direction.queue {
        QueueKind::Policer(policer) => {
            Some(line.map_or(policer.rate, |line| line.min(policer.rate)))
        }
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::link::GilbertElliott;

    fn geo(bytes: u64) -> IdealTransfer {
        IdealTransfer {
            bytes,
            opened_by: FlowEnd::To,
            round_trip: Duration::from_millis(500),
            rate: Rate::from_bits_per_sec(8_000_000),
            loss: LossKind::NONE,
            bit_errors: Probability::ZERO,
        }
    }

    fn seconds(transfers: &[IdealTransfer]) -> f64 {
        Limit { transfers: transfers.to_vec(), silence: Duration::ZERO }.seconds()
    }

    fn lossy(bytes: u64, loss: f64) -> f64 {
        let loss = Probability::new(loss).unwrap();
        seconds(&[IdealTransfer { loss: loss.into(), ..geo(bytes) }])
    }

    #[test]
    fn without_loss_it_is_two_round_trips_and_the_bytes() {
        // 6906 full packets, and one of 112 bytes and its 52 of headers.
        let bytes = (6906 * 1500 + 112 + 52) as f64 * 8.0 / 8e6;
        assert!((seconds(&[geo(10_000_000)]) - (1.0 + bytes)).abs() < 1e-6);
        let upload = IdealTransfer { opened_by: FlowEnd::From, ..geo(1448) };
        assert!((seconds(&[upload]) - 0.7515).abs() < 1e-6);
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
            geo(packets * PAYLOAD).last_sent(Instant::ZERO, &mut losses)
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
        let bursts = IdealTransfer { loss: LossKind::GilbertElliott(channel), ..geo(2_000_000) };
        let bursts = seconds(&[bursts]);
        assert!(seconds(&[geo(2_000_000)]) < bursts && bursts < lossy(2_000_000, 0.01), "{bursts}");
    }

    #[test]
    fn of_several_transfers_the_last_one_counts_and_silence_is_added() {
        let one = seconds(&[geo(2_000_000)]);
        let upload = IdealTransfer { opened_by: FlowEnd::From, ..geo(1000) };
        let silence = Duration::from_secs(2);
        let both = Limit { transfers: vec![geo(2_000_000), upload], silence }.seconds();
        assert!((both - one - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_scenarios_limit_is_that_of_its_slowest_link_over_the_whole_round_trip() {
        let text = r#"
            [run]
            duration = "1min"
            [host.a]
            [router.r]
            [host.b]
            [link.near]
            between = ["a", "r"]
            rate = "100Mbit/s"
            delay = "20ms"
            loss = 0.5
            [link.sat]
            between = ["r", "b"]
            rate = "8Mbit/s"
            delay = "250ms"
            bit-errors = 1e-6
            outages = "4s+2s"
            back = { rate = "1Mbit/s" }
            [flow.x]
            from = "a"
            to = "b"
            bytes = "1MB"
            opened-by = "to"
        "#;
        let limit = |text: &str| Limit::of(&Scenario::parse(text).unwrap());
        let expected = IdealTransfer {
            round_trip: Duration::from_millis(540),
            bit_errors: Probability::new(1e-6).unwrap(),
            ..geo(1_000_000)
        };
        let found = limit(text).unwrap();
        assert_eq!(found.transfers, [expected]);
        assert_eq!(found.silence, Duration::from_secs(2));
        assert!(!found.lossless().transfers[0].is_lossy());
        let policed = text.replace(
            "rate = \"8Mbit/s\"",
            "rate = \"50Mbit/s\"\nqueue = \"policer:rate=8Mbit/s,burst=30KB\"",
        );
        assert_eq!(limit(&policed).unwrap().transfers[0].rate, Rate::from_bits_per_sec(8_000_000));
        assert!(limit(&text.replace("bytes = \"1MB\"", "")).unwrap_err().contains("so many bytes"));
        let all = text.replace("bit-errors = 1e-6", "loss = 1.0");
        assert!(limit(&all).unwrap_err().contains("nearly everything"));
        let many = text.replace("[flow.x]", "[flow.x]\ncount = 2");
        assert!(limit(&many).is_err());
    }
}

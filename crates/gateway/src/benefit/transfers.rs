//! The transfers that have ended, by service: a table of bounded size.

use super::histogram::Histogram;
use super::model::UnsplitPath;
use super::service::{ServiceKey, ServiceStats, SizeClass};
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Rate};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Services that are told apart, 2 KB each. Beyond it those with fewer bytes are together.
const SERVICES: usize = 512;

/// How a connection crossed the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// It was split.
    Split,
    /// It was left unsplit as a sample.
    Sample,
}

/// A connection that has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transfer {
    pub(crate) manner: Manner,
    pub(crate) client: IpAddr,
    pub(crate) port: u16,
    /// Payload from the client, and from the server.
    pub(crate) bytes: [u64; 2],
    /// Without pauses.
    pub(crate) took: Duration,
    /// The min round trips towards the LAN's host and the satellite's, if measured.
    pub(crate) round_trips: [Option<Duration>; 2],
    /// Segments retransmitted towards them.
    pub(crate) retransmitted: [u64; 2],
    /// Segments of the larger direction that were lost on the satellite link, as far as we know.
    pub(crate) lost: u64,
    pub(crate) mss: Bytes,
}

impl Transfer {
    /// Payload of the larger direction.
    fn size(&self) -> Bytes {
        Bytes::new(self.bytes[0].max(self.bytes[1]))
    }

    /// What the model says that it would have taken, or takes, over a link of this rate. None
    /// without a round trip.
    fn unsplit(&self, rate: Option<Rate>) -> Option<Duration> {
        let [lan, satellite] = self.round_trips;
        let segments = self.size().count().div_ceil(self.mss.count().max(1)).max(1);
        let path = UnsplitPath {
            round_trip: lan.unwrap_or(Duration::ZERO) + satellite?,
            loss: self.lost as f64 / (segments + self.lost) as f64,
            mss: self.mss,
            rate,
        };
        Some(path.transfer_time(self.size()))
    }
}

/// Durations of the transfers of a class, in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferTimes {
    /// Of those that were split.
    pub split: Histogram,
    /// Of the same unsplit, by the model.
    pub model: Histogram,
    /// Of the sample.
    pub sample: Histogram,
}

impl Default for TransferTimes {
    fn default() -> TransferTimes {
        let new = || Histogram::new(1);
        TransferTimes { split: new(), model: new(), sample: new() }
    }
}

/// See the module's head.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transfers {
    services: BTreeMap<ServiceKey, Box<ServiceStats>>,
    others: ServiceStats,
    times: [TransferTimes; SizeClass::ALL.len()],
}

impl Transfers {
    /// The services that are told apart.
    pub fn services(&self) -> impl Iterator<Item = (&ServiceKey, &ServiceStats)> {
        self.services.iter().map(|(key, stats)| (key, &**stats))
    }

    /// All others together.
    pub fn others(&self) -> &ServiceStats {
        &self.others
    }

    /// The durations of all services, by size.
    pub fn times(&self) -> impl Iterator<Item = (SizeClass, &TransferTimes)> {
        SizeClass::ALL.into_iter().zip(&self.times)
    }

    /// All services together.
    pub fn all(&self) -> ServiceStats {
        let mut all = self.others.clone();
        self.services.values().for_each(|stats| all.merge(stats));
        all
    }

    /// Takes down a transfer over a satellite link of this rate, if that is known. One without
    /// payload, or without a measured round trip, is none.
    pub(crate) fn add(&mut self, transfer: &Transfer, rate: Option<Rate>) {
        let (size, took) = (transfer.size(), transfer.took);
        let Some(model) = transfer.unsplit(rate).filter(|_| !size.is_zero()) else { return };
        let class = SizeClass::of(size);
        let stats = self.service(ServiceKey::of(transfer.client, transfer.port));
        let groups = &mut stats.classes[class as usize];
        let millis = |time: Duration| time.as_nanos() as u64 / 1_000_000;
        if transfer.manner == Manner::Sample {
            groups.sample.add(size, took, model);
            self.times[class as usize].sample.add(millis(took));
            return;
        }
        groups.split.add(size, took, model);
        stats.connections += 1;
        stats.sizes.add(size.count());
        stats.durations.add(millis(took));
        // Bits in a millisecond are kbit in a second.
        stats.goodputs.add(size.count().saturating_mul(8) / millis(took).max(1));
        for side in [0, 1] {
            stats.bytes[side] += transfer.bytes[side];
            stats.retransmitted[side] += transfer.retransmitted[side];
            if let Some(round_trip) = transfer.round_trips[side] {
                stats.round_trips[side].add(millis(round_trip));
            }
        }
        let times = &mut self.times[class as usize];
        times.split.add(millis(took));
        times.model.add(millis(model));
    }

    fn service(&mut self, key: ServiceKey) -> &mut ServiceStats {
        if self.services.len() >= SERVICES && !self.services.contains_key(&key) {
            self.merge_the_smaller_half();
        }
        self.services.entry(key).or_default()
    }

    fn merge_the_smaller_half(&mut self) {
        let mut by_bytes: Vec<(Reverse<u64>, ServiceKey)> =
            self.services.iter().map(|(key, it)| (Reverse(it.all_bytes()), *key)).collect();
        by_bytes.sort_unstable();
        for (_, key) in by_bytes.drain(SERVICES / 2..) {
            if let Some(stats) = self.services.remove(&key) {
                self.others.merge(&stats);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(client: [u8; 4], port: u16, bytes: u64) -> Transfer {
        Transfer {
            manner: Manner::Split,
            client: client.into(),
            port,
            bytes: [bytes / 10, bytes],
            took: Duration::from_millis(2000),
            round_trips: [Some(Duration::from_millis(10)), Some(Duration::from_millis(490))],
            retransmitted: [0, 3],
            lost: 0,
            mss: Bytes::new(1000),
        }
    }

    #[test]
    fn transfers_are_counted_by_service_and_size() {
        let mut transfers = Transfers::default();
        transfers.add(&transfer([10, 0, 0, 1], 443, 300_000), None);
        transfers.add(&transfer([10, 0, 0, 9], 443, 30_000), None);
        transfers.add(&transfer([10, 0, 1, 1], 443, 30_000), None);
        transfers.add(&Transfer { bytes: [0; 2], ..transfer([10, 0, 2, 1], 443, 0) }, None);
        let sample = Transfer { manner: Manner::Sample, ..transfer([10, 0, 0, 2], 443, 30_000) };
        transfers.add(&sample, None);
        let (key, stats) = transfers.services().next().unwrap();
        assert_eq!((transfers.services().count(), key.port), (2, 443));
        assert_eq!((stats.connections, stats.bytes), (2, [33_000, 330_000]));
        assert_eq!((stats.sampled(), stats.retransmitted), (1, [0, 6]));
        let class = &stats.classes[SizeClass::Under1MB as usize];
        let means = class.split.means().unwrap();
        // 10, 20, 40, 80 and 150 segments, and the handshake.
        assert!((means.took - 2.0).abs() < 1e-3 && (means.model - 3.0).abs() < 1e-3, "{means:?}");
        let (_, times) = transfers.times().nth(1).unwrap();
        assert_eq!([&times.split, &times.sample].map(Histogram::count), [2, 1]);
    }

    #[test]
    fn however_many_services_there_are_no_transfer_is_lost() {
        let mut transfers = Transfers::default();
        for number in 0..5000_u32 {
            let [_, _, high, low] = number.to_be_bytes();
            let bytes = 1000 * u64::from(number % 7 + 1);
            transfers.add(&transfer([10, high, low, 1], 80, bytes), None);
        }
        assert!(transfers.services().count() <= SERVICES);
        assert_eq!(transfers.all().connections, 5000);
    }
}

//! Statistics of the transfers of a service: a client's prefix and a server's port.

use super::histogram::Histogram;
use crate::SitePrefix;
use bentpipe_core::time::Duration;
use bentpipe_core::units::Bytes;
use std::net::IpAddr;

/// The prefix of a client and the port of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServiceKey {
    /// The client's.
    pub prefix: SitePrefix,
    /// The port.
    pub port: u16,
}

impl ServiceKey {
    /// Of a connection.
    pub fn of(client: IpAddr, port: u16) -> ServiceKey {
        ServiceKey { prefix: SitePrefix::of(client), port }
    }
}

/// A class of transfers by size: each ten times as large as the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SizeClass {
    /// Less than 10 kB.
    Under10kB = 0,
    /// Less than 100 kB.
    Under100kB = 1,
    /// Less than 1 MB.
    Under1MB = 2,
    /// Less than 10 MB.
    Under10MB = 3,
    /// 10 MB and more.
    Over10MB = 4,
}

impl SizeClass {
    /// All of them.
    pub const ALL: [SizeClass; 5] = [
        SizeClass::Under10kB,
        SizeClass::Under100kB,
        SizeClass::Under1MB,
        SizeClass::Under10MB,
        SizeClass::Over10MB,
    ];

    /// That of a transfer.
    pub fn of(bytes: Bytes) -> SizeClass {
        match bytes.count() {
            0..10_000 => SizeClass::Under10kB,
            10_000..100_000 => SizeClass::Under100kB,
            100_000..1_000_000 => SizeClass::Under1MB,
            1_000_000..10_000_000 => SizeClass::Under10MB,
            _ => SizeClass::Over10MB,
        }
    }

    /// A word for tables, metrics and JSON.
    pub fn name(self) -> &'static str {
        match self {
            SizeClass::Under10kB => "below-10kB",
            SizeClass::Under100kB => "10kB-100kB",
            SizeClass::Under1MB => "100kB-1MB",
            SizeClass::Under10MB => "1MB-10MB",
            SizeClass::Over10MB => "above-10MB",
        }
    }
}

/// Transfers of one class and one manner. Logarithms are in millionths, so that sums are exact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Group {
    count: u64,
    ln_size: i64,
    ln_took: i64,
    ln_model: i64,
    error: i64,
}

/// The geometric means of a [`Group`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Means {
    /// Bytes.
    pub size: f64,
    /// Seconds that they took.
    pub took: f64,
    /// Seconds that the model says for them unsplit.
    pub model: f64,
    /// The model's error as a factor: 1.2 for 20 % more or less.
    pub error: f64,
}

impl Group {
    pub(super) fn add(&mut self, size: Bytes, took: Duration, model: Duration) {
        let seconds = |time: Duration| millionths(time.as_secs_f64().max(1e-6).ln());
        let (took, model) = (seconds(took), seconds(model));
        self.count += 1;
        self.ln_size += millionths((size.count().max(1) as f64).ln());
        self.ln_took += took;
        self.ln_model += model;
        self.error += (model - took).abs();
    }

    pub(super) fn merge(&mut self, other: &Group) {
        self.count += other.count;
        self.ln_size += other.ln_size;
        self.ln_took += other.ln_took;
        self.ln_model += other.ln_model;
        self.error += other.error;
    }

    /// The number of transfers.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their means, if there were any.
    pub fn means(&self) -> Option<Means> {
        let mean = |sum: i64| (sum as f64 / 1e6 / self.count as f64).exp();
        (self.count > 0).then(|| Means {
            size: mean(self.ln_size),
            took: mean(self.ln_took),
            model: mean(self.ln_model),
            error: mean(self.error),
        })
    }
}

fn millionths(number: f64) -> i64 {
    (number * 1e6).round() as i64
}

/// Transfers of a class: split, and left unsplit as a sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClassStats {
    /// Those that were split.
    pub split: Group,
    /// Those of the sample.
    pub sample: Group,
}

impl ClassStats {
    pub(super) fn merge(&mut self, other: &ClassStats) {
        self.split.merge(&other.split);
        self.sample.merge(&other.sample);
    }
}

/// See the module's head. Histograms are of split transfers alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceStats {
    /// Transfers that were split.
    pub connections: u64,
    /// Their payload from the clients and from the servers.
    pub bytes: [u64; 2],
    /// Bytes of the larger direction.
    pub sizes: Histogram,
    /// In milliseconds.
    pub durations: Histogram,
    /// In kbit/s.
    pub goodputs: Histogram,
    /// The min round trips of the LAN's legs and the satellite's, in milliseconds.
    pub round_trips: [Histogram; 2],
    /// Segments retransmitted to the LAN and to the satellite.
    pub retransmitted: [u64; 2],
    /// By size.
    pub classes: [ClassStats; SizeClass::ALL.len()],
}

impl Default for ServiceStats {
    fn default() -> ServiceStats {
        ServiceStats {
            connections: 0,
            bytes: [0; 2],
            sizes: Histogram::new(256),
            durations: Histogram::new(1),
            goodputs: Histogram::new(1),
            round_trips: [Histogram::new(1), Histogram::new(1)],
            retransmitted: [0; 2],
            classes: [ClassStats::default(); SizeClass::ALL.len()],
        }
    }
}

impl ServiceStats {
    /// Payload of both directions.
    pub fn all_bytes(&self) -> u64 {
        self.bytes[0].saturating_add(self.bytes[1])
    }

    /// Transfers that were left unsplit.
    pub fn sampled(&self) -> u64 {
        self.classes.iter().map(|class| class.sample.count()).sum()
    }

    pub(super) fn merge(&mut self, other: &ServiceStats) {
        self.connections += other.connections;
        for side in [0, 1] {
            self.bytes[side] += other.bytes[side];
            self.retransmitted[side] += other.retransmitted[side];
            self.round_trips[side].merge(&other.round_trips[side]);
        }
        self.sizes.merge(&other.sizes);
        self.durations.merge(&other.durations);
        self.goodputs.merge(&other.goodputs);
        for (class, more) in self.classes.iter_mut().zip(&other.classes) {
            class.merge(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_geometric() {
        let mut group = Group::default();
        assert_eq!(group.means(), None);
        let [two, eight] = [2, 8].map(Duration::from_secs);
        group.add(Bytes::new(100), two, eight);
        group.add(Bytes::new(10_000), eight, two);
        let Means { size, took, model, error } = group.means().unwrap();
        for (is, should) in [(size, 1000.0), (took, 4.0), (model, 4.0), (error, 4.0)] {
            assert!((is / should - 1.0).abs() < 1e-5, "{is}, {should}");
        }
    }

    #[test]
    fn a_service_is_a_prefix_and_a_port() {
        let key = |client: &str, port| ServiceKey::of(client.parse().unwrap(), port);
        assert_eq!(key("10.1.2.3", 443), key("10.1.2.250", 443));
        assert_ne!(key("10.1.2.3", 443), key("10.1.3.3", 443));
        assert_ne!(key("10.1.2.3", 443), key("10.1.2.3", 80));
    }
}

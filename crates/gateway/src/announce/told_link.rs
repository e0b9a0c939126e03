//! What a gateway tells its peer of the link between them, in the announcement: a hint for one that
//! is not configured.
//!
//! Behind the announcement's flags stand the version of what follows, the rate at which the gateway
//! sends and that of what comes to it, in kbit/s and three bytes each, and the round trip in
//! milliseconds and two bytes. Zero is unknown. Of another version nothing is read. With the
//! options of a host it is 34 bytes, of the 40 that there are, and 38 with a seal.

use bentpipe_core::time::Duration;
use bentpipe_core::units::Rate;
use std::fmt;

/// Of what follows it.
const VERSION: u8 = 1;

/// By how much two values may differ that say the same.
const TOLERANCE: f64 = 0.05;

/// The largest rate that it can tell, in kbit/s.
const MOST: u64 = (1 << 24) - 1;

/// The length of what stands in the option.
const LEN: usize = 9;

/// A link, as one of its ends knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ToldLink {
    /// The rate at which this end sends.
    pub rate: Option<Rate>,
    /// The rate of what comes to it.
    pub return_rate: Option<Rate>,
    /// The round trip.
    pub round_trip: Option<Duration>,
}

impl ToldLink {
    /// Whether nothing is told.
    pub(crate) fn is_empty(&self) -> bool {
        *self == ToldLink::default()
    }

    /// The link as its other end has it.
    pub(crate) fn mirrored(self) -> ToldLink {
        ToldLink { rate: self.return_rate, return_rate: self.rate, ..self }
    }

    /// Whether both say the same, as far as both say something.
    pub(crate) fn agrees(&self, other: &ToldLink) -> bool {
        self.values().into_iter().zip(other.values()).all(|pair| match pair {
            (Some(one), Some(other)) => (one - other).abs() <= TOLERANCE * one.max(other),
            _ => true,
        })
    }

    fn values(&self) -> [Option<f64>; 3] {
        let rate = |rate: Rate| rate.bits_per_sec() as f64;
        [
            self.rate.map(rate),
            self.return_rate.map(rate),
            self.round_trip.map(|rtt| rtt.as_secs_f64()),
        ]
    }

    pub(super) fn write(&self) -> [u8; LEN] {
        let kilobits = |rate: Option<Rate>| {
            let kilobits = rate.map_or(0, |rate| (rate.bits_per_sec() / 1000).clamp(1, MOST));
            let [.., a, b, c] = kilobits.to_be_bytes();
            [a, b, c]
        };
        let millis = self.round_trip.map_or(0, |rtt| rtt.as_millis());
        let mut bytes = [VERSION; LEN];
        bytes[1..4].copy_from_slice(&kilobits(self.rate));
        bytes[4..7].copy_from_slice(&kilobits(self.return_rate));
        bytes[7..].copy_from_slice(&u16::try_from(millis).unwrap_or(u16::MAX).to_be_bytes());
        bytes
    }

    /// Nothing, if it is of another version.
    pub(super) fn read(bytes: &[u8]) -> ToldLink {
        let [VERSION, a, b, c, d, e, f, g, h, ..] = *bytes else { return ToldLink::default() };
        let rate = |a, b, c| {
            let kilobits = u32::from_be_bytes([0, a, b, c]);
            (kilobits > 0).then(|| Rate::from_bits_per_sec(u64::from(kilobits) * 1000))
        };
        let millis = u16::from_be_bytes([g, h]);
        ToldLink {
            rate: rate(a, b, c),
            return_rate: rate(d, e, f),
            round_trip: (millis > 0).then(|| Duration::from_millis(millis.into())),
        }
    }
}

impl fmt::Display for ToldLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabits = |rate: Rate| format!("{}Mbit/s", rate.bits_per_sec() as f64 / 1e6);
        let millis = |rtt: Duration| format!("{}ms", rtt.as_millis());
        let parts = [
            self.rate.map(|rate| ("rate", megabits(rate))),
            self.return_rate.map(|rate| ("return-rate", megabits(rate))),
            self.round_trip.map(|rtt| ("round-trip", millis(rtt))),
        ];
        for (number, (key, value)) in parts.into_iter().flatten().enumerate() {
            write!(f, "{}{key}={value}", if number > 0 { " " } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link([rate, return_rate]: [u64; 2], millis: u64) -> ToldLink {
        let [rate, return_rate] =
            [rate, return_rate].map(|bits| (bits > 0).then(|| Rate::from_bits_per_sec(bits)));
        let round_trip = (millis > 0).then(|| Duration::from_millis(millis));
        ToldLink { rate, return_rate, round_trip }
    }

    #[test]
    fn a_link_is_told_as_it_is() {
        for told in [link([64_000, 0], 600), link([3_000_000, 250_000_000], 40), link([0, 0], 1)] {
            assert_eq!(ToldLink::read(&told.write()), told);
        }
        assert_eq!(ToldLink::read(&ToldLink::default().write()), ToldLink::default());
        let extremes = ToldLink::read(&link([1, u64::MAX], 1 << 40).write());
        assert_eq!(extremes, link([1000, MOST * 1000], 65_535));
    }

    #[test]
    fn another_version_says_nothing_and_a_longer_one_the_same() {
        let told = link([3_000_000, 250_000_000], 600);
        let bytes = told.write();
        let longer: Vec<u8> = bytes.into_iter().chain([1, 2, 3]).collect();
        assert!(ToldLink::read(&longer).agrees(&told) && !ToldLink::read(&longer).is_empty());
        let other: Vec<u8> = [VERSION + 1].into_iter().chain(bytes[1..].iter().copied()).collect();
        for bytes in [&other[..], &bytes[..LEN - 1], &[]] {
            assert!(ToldLink::read(bytes).is_empty(), "{bytes:?}");
        }
    }

    #[test]
    fn who_differs_by_a_twentieth_says_something_else() {
        let told = link([3_000_000, 250_000_000], 600);
        assert!(told.agrees(&link([3_100_000, 250_000_000], 600)));
        assert!(told.agrees(&link([0, 250_000_000], 0)));
        assert!(!told.agrees(&link([3_200_000, 0], 0)));
        assert!(!told.agrees(&link([0, 0], 700)));
        assert!(!told.agrees(&told.mirrored()));
    }
}

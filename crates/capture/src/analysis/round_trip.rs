//! What a sender's retransmission timer would be, by RFC 6298, with the floor that Linux has.

/// Linux's minimum, which is lower than the second of RFC 6298, 2.4.
pub(super) const MIN: i64 = 200_000_000;
/// Before a measurement (RFC 6298, 2.1).
const INITIAL: i64 = 1_000_000_000;

/// SRTT and RTTVAR, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RoundTrip {
    smoothed: Option<i64>,
    variation: i64,
    /// The shortest of all.
    pub(super) min: Option<i64>,
}

impl RoundTrip {
    /// RFC 6298, 2.2 and 2.3.
    pub(super) fn measured(&mut self, sample: i64) {
        let sample = sample.clamp(0, i64::MAX / 16);
        self.min = Some(self.min.map_or(sample, |min| min.min(sample)));
        match self.smoothed {
            None => (self.smoothed, self.variation) = (Some(sample), sample / 2),
            Some(smoothed) => {
                self.variation = (3 * self.variation + (smoothed - sample).abs()) / 4;
                self.smoothed = Some((7 * smoothed + sample) / 8);
            }
        }
    }

    pub(super) fn smoothed(&self) -> Option<i64> {
        self.smoothed
    }

    /// RTTVAR.
    pub(super) fn variation(&self) -> i64 {
        self.variation
    }

    /// RFC 6298, 2.3 and 2.4.
    pub(super) fn timeout(&self) -> i64 {
        self.smoothed.map_or(INITIAL, |smoothed| (smoothed + 4 * self.variation).max(MIN))
    }
}

//! Policers: a rate that is enforced by losses alone (Flach et al., "An Internet-Wide Analysis of
//! Traffic Policing", SIGCOMM 2016).
//!
//! Between losses lie intervals. Two in a row that lose a fifth each and deliver at the same rate
//! show a token bucket that is empty; that rate is then kept to for 48 rounds, without probing.

use crate::time::{Duration, Instant};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// The rounds of an interval, at least; at most four times as many.
const ROUNDS: u32 = 4;
/// Bytes lost for each byte delivered, at least.
const LOSS: f64 = 50.0 / 256.0;
/// Two rates are the same if they differ by this part of the former ...
const SAME_RATIO: f64 = 1.0 / 8.0;
/// ... or by so many bytes a second: 4 kbit/s.
const SAME_RATE: f64 = 500.0;
/// The rounds for which a policer's rate is kept to.
pub(super) const KEPT_ROUNDS: u32 = 48;

/// The deliveries and losses that an acknowledgment, or a timeout, shows.
#[derive(Debug)]
pub(super) struct PolicerSample {
    /// When bytes were last delivered.
    pub(super) at: Instant,
    pub(super) round_start: bool,
    /// It shows a loss.
    pub(super) lossy: bool,
    pub(super) app_limited: bool,
    /// All bytes delivered so far.
    pub(super) delivered: Bytes,
    /// All bytes marked lost so far.
    pub(super) lost: Bytes,
    pub(super) probing_bandwidth: bool,
}

/// See the module's head.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Policer {
    sampling: bool,
    /// The last interval's rate is a policer's.
    found: bool,
    /// Of the last interval, in bytes a second.
    rate: Option<f64>,
    rounds: u32,
    began: Instant,
    delivered: Bytes,
    lost: Bytes,
}

impl Policer {
    /// The policer's rate in bytes a second, if there is one.
    pub(super) fn rate(&self) -> Option<f64> {
        self.rate.filter(|_| self.found)
    }

    /// Forgets what it has measured.
    pub(super) fn reset(&mut self, seen: &PolicerSample) {
        *self = Policer::default();
        self.begin_interval(seen);
    }

    fn begin_interval(&mut self, seen: &PolicerSample) {
        (self.began, self.delivered, self.lost) = (seen.at, seen.delivered, seen.lost);
        self.rounds = 0;
    }

    /// True if a policer's rate has been kept to for long enough, so that probing begins again.
    pub(super) fn observe(&mut self, seen: &PolicerSample) -> bool {
        if self.found {
            let round = seen.probing_bandwidth && seen.round_start;
            self.rounds += u32::from(round);
            let over = round && self.rounds >= KEPT_ROUNDS;
            if over {
                self.reset(seen);
            }
            return over;
        }
        if !self.sampling {
            // Not before the bucket is empty.
            if !seen.lossy {
                return false;
            }
            self.begin_interval(seen);
            self.sampling = true;
        }
        if seen.app_limited {
            self.reset(seen);
            return false;
        }
        self.rounds += u32::from(seen.round_start);
        if self.rounds > 4 * ROUNDS {
            self.reset(seen);
        } else if self.rounds >= ROUNDS && seen.lossy {
            // An interval ends with a loss, as the bucket is empty then.
            self.end_interval(seen);
        }
        false
    }

    fn end_interval(&mut self, seen: &PolicerSample) {
        let lost = (seen.lost - self.lost).as_f64();
        let delivered = (seen.delivered - self.delivered).as_f64();
        let span = seen.at.saturating_since(self.began);
        if delivered == 0.0 || lost < LOSS * delivered || span < Duration::from_millis(1) {
            return;
        }
        let rate = delivered / span.as_secs_f64();
        let same = |before: &f64| {
            let apart = (rate - before).abs();
            apart <= SAME_RATIO * before || apart <= SAME_RATE
        };
        if let Some(before) = self.rate.filter(same) {
            self.rate = Some(f64::midpoint(rate, before));
            self.found = true;
            self.rounds = 0;
            return;
        }
        self.rate = Some(rate);
        self.begin_interval(seen);
    }
}

//! LeoCC: BBR version 1 with a new model after each reconfiguration of a LEO path.
//!
//! Lai et al., "LeoCC: Making Internet Congestion Control Robust to LEO Satellite Dynamics",
//! SIGCOMM 2025, as its authors' Linux modules have it (SpaceNetLab/LeoCC, 867e673). Starlink gives
//! each terminal another satellite, or another share of one, every 15 seconds. From then on a model
//! of the path is of no use, and a new one is made. First comes `ProbeRtt` with half a product in
//! flight, whose last round-trip time is the minimum. `Startup` follows without the former
//! bandwidth. That is known again only if the round-trip time has fallen by 45 ms.
//!
//! Until the next one the bandwidth is the greatest of ten rounds, as BBR's. Round-trip times that
//! lie 10 ms above their minimum tell of a queue. Then the bandwidth is a Kalman filter's over the
//! maxima of rounds. The gain that probes for more is 1.05 in place of 1.25.
//!
//! A reconfiguration is a silence. The module for live networks pings the provider's gateway every
//! 10 ms, and takes 45 ms between two replies for one. Here acknowledgments are the replies, and
//! two segments' time is allowed for besides.
//! Flows that share a deep queue are silent at times, too: none counts within 14 seconds behind
//! another one. As in the module for LeoReplayer, the first one may
//! be a parameter, and the others follow every 15 seconds.
//!
//! The minimum round-trip time is measured again after 20 seconds, and no policer is looked for.
//! Differences, besides those of [`super`]:
//!
//! - Kalman gains are not rounded to 1/256.
//! - The module keeps the first reconfiguration and the probing gain for all connections at once.
//!   Here they are each one's own.
//! - A scheduled reconfiguration is not missed if no acknowledgment comes in its 100 ms.
//! - The filter of bandwidths is not used before its first round, where the module takes its zero.

use super::variant::Variant;
use super::{Bbr1, CYCLE};
use crate::snapshot::fraction;
use crate::tcp::congestion::{AckEvent, Departed, SlowStartConfig};
use crate::time::{Duration, Instant};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// Between reconfigurations.
const PERIOD: Duration = Duration::from_secs(15);
/// A model ends so long before one.
const EARLY: Duration = Duration::from_millis(100);
/// A fall of the round-trip time by more leaves the bandwidth known.
const FALL: Duration = Duration::from_millis(45);
/// A silence that is longer is a reconfiguration.
const SILENCE: Duration = Duration::from_millis(45);
/// Nor does another one come within this time.
const AGAIN: Duration = Duration::from_secs(14);
/// The gain that probes for more where there is a queue.
const CAREFUL: f64 = 1.05;

/// A Kalman filter whose noise is the same for the value and for what is measured of it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Kalman {
    #[serde(with = "fraction")]
    value: f64,
    /// The variance of its error.
    #[serde(with = "fraction")]
    variance: f64,
}

impl Kalman {
    /// Q and R.
    const NOISE: f64 = 4.0;
    const START: Kalman = Kalman { value: 0.0, variance: 25.0 };

    fn update(&mut self, measured: f64) {
        let prior = self.variance + Self::NOISE;
        let gain = prior / (prior + Self::NOISE);
        self.value += gain * (measured - self.value);
        self.variance = (1.0 - gain) * prior;
    }
}

/// See the module's head.
#[derive(Debug, Serialize, Deserialize)]
pub struct LeoCc {
    /// Of the first reconfiguration, if silences are not to tell.
    offset: Option<Duration>,
    fluctuation: Duration,
    /// When the next model ends or, by silences, may end; none before the first.
    next: Option<Instant>,
    /// The last acknowledgment since the path was empty.
    heard: Option<Instant>,
    /// The path is another one, and its model not made yet.
    reconfigured: bool,
    rtt: Kalman,
    bandwidth: Kalman,
    /// The greatest rate of this round, and the last one.
    round_max: f64,
    last: f64,
    /// What is known of the new path's bandwidth.
    known: f64,
}

impl LeoCc {
    /// At the beginning of a connection with segments of `smss` bytes.
    ///
    /// `offset` is the time until the first reconfiguration, if it is known. Without a queue
    /// round-trip times vary by `fluctuation`.
    pub fn new(
        slow_start: SlowStartConfig,
        smss: Bytes,
        offset: Option<Duration>,
        fluctuation: Duration,
    ) -> Bbr1<LeoCc> {
        let variant = LeoCc {
            offset,
            fluctuation,
            next: None,
            heard: None,
            reconfigured: false,
            rtt: Kalman::START,
            bandwidth: Kalman::START,
            round_max: 0.0,
            last: 0.0,
            known: 0.0,
        };
        Bbr1::with(slow_start, smss, variant)
    }

    fn follow_schedule(&mut self, now: Instant) {
        let Some(offset) = self.offset else { return };
        let next = self.next.get_or_insert(now + offset.saturating_sub(EARLY));
        while *next <= now {
            *next += PERIOD;
            self.reconfigured = true;
        }
    }

    /// Whether round-trip times tell of a queue.
    fn queues(&self, min_rtt: Option<Duration>) -> bool {
        let limit = min_rtt.map(|min| (min + self.fluctuation).as_secs_f64());
        !self.reconfigured && limit.is_some_and(|limit| self.rtt.value >= limit)
    }
}

impl Variant for LeoCc {
    const MIN_RTT_AGE: Duration = Duration::from_secs(20);
    const POLICERS: bool = false;
    const PROBE_RTT_GAIN: f64 = 0.5;
    const MEASURES_AGAIN: bool = true;

    fn on_ack(&mut self, ack: &AckEvent, bandwidth: Option<f64>) {
        if self.offset.is_some() {
            self.follow_schedule(ack.now);
            return;
        }
        let heard = self.heard.replace(ack.now);
        let (Some(heard), Some(bandwidth)) = (heard, bandwidth.filter(|rate| *rate > 0.0)) else {
            return;
        };
        let two = Duration::from_secs_f64(2.0 * ack.smss.as_f64() / bandwidth.max(1.0));
        let silent = ack.now.saturating_since(heard) > SILENCE + two;
        if silent && self.next.is_none_or(|next| next <= ack.now) {
            self.reconfigured = true;
            self.next = Some(ack.now + AGAIN);
        }
    }

    fn on_sent(&mut self, departed: &Departed) {
        self.follow_schedule(departed.now);
        if departed.in_flight == Bytes::ZERO {
            // A silence of our own says nothing about the path.
            self.heard = None;
        }
    }

    fn end_round(&mut self, cruises: bool) {
        if cruises {
            self.bandwidth.update(self.round_max);
        }
        self.round_max = 0.0;
    }

    fn on_rate(&mut self, rate: f64, probed: Option<Duration>) {
        self.round_max = self.round_max.max(rate);
        if probed.is_some_and(|rtt| self.rtt.value > (rtt + FALL).as_secs_f64()) {
            self.known = self.last;
        }
        self.last = rate;
    }

    fn on_rtt(&mut self, rtt: Duration) {
        self.rtt.update(rtt.as_secs_f64());
    }

    fn bandwidth(&self, max: f64, min_rtt: Option<Duration>) -> f64 {
        // Before its first round the filter knows nothing.
        let known = self.bandwidth.value > 0.0;
        if known && self.queues(min_rtt) { self.bandwidth.value } else { max }
    }

    fn probing_gain(&self, min_rtt: Option<Duration>) -> f64 {
        if self.queues(min_rtt) { CAREFUL } else { CYCLE[0] }
    }

    fn probes_rtt(&self, expired: bool, cruises: bool) -> bool {
        cruises && (expired || self.reconfigured)
    }

    fn path_changed(&self) -> Option<f64> {
        self.reconfigured.then_some(self.known)
    }

    fn settled(&mut self) {
        self.reconfigured = false;
        self.known = 0.0;
    }
}

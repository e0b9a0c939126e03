//! Controls that are derived from BBR version 1, and their own ways.

use super::CYCLE;
use crate::tcp::congestion::{AckEvent, Departed};
use crate::time::Duration;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A derived control. Where it says nothing, it is as `tcp_bbr.c`.
pub trait Variant: fmt::Debug + Serialize + DeserializeOwned + Send {
    /// A minimum round-trip time is measured again after so long.
    const MIN_RTT_AGE: Duration = Duration::from_secs(10);
    /// Whether policers are looked for.
    const POLICERS: bool = true;
    /// The window of `ProbeRtt` in bandwidth-delay products, if that is more than the least one.
    const PROBE_RTT_GAIN: f64 = 0.0;
    /// Whether the round-trip time at the end of `ProbeRtt` is the minimum from then on.
    const MEASURES_AGAIN: bool = false;

    /// Takes an acknowledgment before anything else is made of it; `bandwidth` is that of
    /// `ProbeBw`, if that is the mode.
    fn on_ack(&mut self, _ack: &AckEvent, _bandwidth: Option<f64>) {}

    /// A segment has left.
    fn on_sent(&mut self, _departed: &Departed) {}

    /// A round ends, in `ProbeBw` or not.
    fn end_round(&mut self, _cruises: bool) {}

    /// Takes a delivery rate in bytes a second, and in `ProbeRtt` the round-trip time with it.
    fn on_rate(&mut self, _rate: f64, _probed: Option<Duration>) {}

    /// Takes a round-trip time, once the mode is what it is.
    fn on_rtt(&mut self, _rtt: Duration) {}

    /// The bandwidth to go by in `ProbeBw`, where `max` was seen.
    fn bandwidth(&self, max: f64, _min_rtt: Option<Duration>) -> f64 {
        max
    }

    /// The gain with which `ProbeBw` probes for more.
    fn probing_gain(&self, _min_rtt: Option<Duration>) -> f64 {
        CYCLE[0]
    }

    /// Whether `ProbeRtt` is due; `expired`: the minimum is old, `cruises`: in `ProbeBw`.
    fn probes_rtt(&self, expired: bool, _cruises: bool) -> bool {
        expired
    }

    /// The bandwidth that is known of another path, if `ProbeRtt` was for one.
    fn path_changed(&self) -> Option<f64> {
        None
    }

    /// The pipe has been found full.
    fn settled(&mut self) {}
}

/// BBR version 1 itself.
#[derive(Debug, Serialize, Deserialize)]
pub struct Original;

impl Variant for Original {}

//! The retransmission timeout (RFC 6298), by an exact clock or by one that ticks.
//!
//! The ticking clock is BSD's slow timer (tcp_slowtimo, 500 ms), with any period: round-trip times
//! are measured in ticks, and timeouts are whole numbers of ticks and expire on one. As the first
//! tick comes at any time after the timer was set, an RTO of n ticks lasts n - 1 to n of them;
//! with at least two, as in BSD, it never lasts less than one.
//!
//! ns-1's clock only rounds: a round trip to ticks, SRTT to eighths and RTTVAR to quarters of them,
//! and the RTO down to whole ones. A timeout expires so many ticks after it was set, at any time.
//!
//! Congestion control may have a clock of its own (Henderson's thesis, 4.1.6: timestamps give an
//! accurate round-trip time, by which the timeout had better not go).

use crate::time::{Duration, Instant, nanos};
use serde::{Deserialize, Serialize};

/// Which segments are timed.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    Serialize,
    Deserialize,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum RttSampling {
    /// Every one that was sent once.
    #[default]
    EachSegment,
    /// One in a round trip, the first that is sent once the last is measured, as without timestamps
    /// in BSD (`t_rtt`) and ns. Where a queue fills slowly RTTVAR stays larger than with many
    /// samples of one round trip, which hardly differ (RFC 7323, appendix G).
    RoundTrip,
}

/// What a clock with a period of more than nothing does to round-trip times and timeouts.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    Serialize,
    Deserialize,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Clock {
    /// Ticks are counted, and timeouts expire on them (4.4BSD's tcp_slowtimo).
    #[default]
    Bsd,
    /// All is rounded to ticks and parts of them, and timeouts expire at any time (ns-1, tcp.cc:
    /// rtt_update, rtt_timeout).
    Ns,
}

/// Parameters of the retransmission timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RtoConfig {
    /// RTO before the first measurement: 1 s (RFC 6298, rule 2.1).
    pub initial: Duration,
    /// The minimum RTO: RFC 6298 rule 2.4 says 1 s; Linux uses 200 ms.
    pub min: Duration,
    /// The greatest RTO: at least 60 s (rule 2.5).
    pub max: Duration,
    /// Clock granularity G (rule 2.3).
    pub granularity: Duration,
    /// The period of the clock that measures round trips and lets timeouts expire; G is at least
    /// that. Zero for an exact clock; 500 ms in BSD, ten or one in later systems.
    pub tick: Duration,
    /// The period of the clock by which congestion control has its smoothed round-trip time, zero
    /// for an exact one. None: it has the timer's.
    pub rtt_tick: Option<Duration>,
    /// How the ticks are used.
    pub clock: Clock,
    /// Which segments are timed: at least one in a round trip (RFC 6298, section 3).
    pub samples: RttSampling,
}

impl Default for RtoConfig {
    fn default() -> RtoConfig {
        RtoConfig {
            initial: Duration::from_secs(1),
            min: Duration::from_millis(200),
            max: Duration::from_secs(60),
            granularity: Duration::from_millis(1),
            tick: Duration::ZERO,
            rtt_tick: None,
            clock: Clock::Bsd,
            samples: RttSampling::EachSegment,
        }
    }
}

/// Smoothed round-trip time, its variation and the timeout that follows from them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RttEstimator {
    #[serde(skip)]
    config: RtoConfig,
    srtt: Option<Duration>,
    /// The same by congestion control's own clock, if it has one.
    own_srtt: Option<Duration>,
    rttvar: Duration,
    min_rtt: Option<Duration>,
    backoff: u32,
    /// What follows from the rest: it is asked for far more often than that changes.
    #[serde(skip)]
    rto: Duration,
}

impl RttEstimator {
    /// No measurement yet.
    pub fn new(config: RtoConfig) -> RttEstimator {
        let mut new = RttEstimator {
            config,
            srtt: None,
            own_srtt: None,
            rttvar: Duration::ZERO,
            min_rtt: None,
            backoff: 0,
            rto: Duration::ZERO,
        };
        new.rto = new.timeout();
        new
    }

    /// The parameters are those of its sender, and are kept in its snapshot.
    pub(super) fn set_config(&mut self, config: RtoConfig) {
        self.config = config;
        self.rto = self.timeout();
    }

    /// Which segments are timed.
    pub fn samples(&self) -> RttSampling {
        self.config.samples
    }

    /// Takes a measurement R' of a segment that was sent once (Karn's rule is the caller's), when
    /// the moment of its acknowledgment does not matter or is not known: a ticking clock takes the
    /// ticks that it began. A measurement also ends the back-off.
    pub fn sample(&mut self, rtt: Duration) {
        self.measured(None, rtt);
    }

    /// Takes a measurement of a segment that was acknowledged at `now`: a ticking clock counts the
    /// ticks since it was sent.
    pub fn sample_at(&mut self, now: Instant, rtt: Duration) {
        self.measured(Some(now), rtt);
    }

    /// Another connection's estimate comes before what has been measured so far, if anything has: a
    /// sample behind it.
    pub fn inherit(&mut self, srtt: Duration, rttvar: Duration) {
        let sample = self.srtt.replace(srtt);
        self.rttvar = rttvar;
        if let Some(rtt) = sample {
            self.smooth(rtt);
        }
        self.rto = self.timeout();
    }

    /// A timeout came too early, and `rtt` has just been measured (RFC 4015, step 11): the estimate
    /// becomes no less than that measurement alone would make it.
    pub fn adopt(&mut self, rtt: Duration) {
        self.srtt = self.srtt.map(|srtt| srtt.max(rtt));
        self.own_srtt = self.own_srtt.map(|srtt| srtt.max(rtt));
        self.rttvar = self.rttvar.max(rtt / 2);
        self.rto = self.timeout();
    }

    /// A round trip that took `exact`, and ended at `end` if that is known.
    fn measured(&mut self, end: Option<Instant>, exact: Duration) {
        self.min_rtt = Some(self.min_rtt.map_or(exact, |min| min.min(exact)));
        if let Some(tick) = self.config.rtt_tick {
            let rtt = self.clocked(tick, end, exact);
            self.own_srtt = Some(self.own_srtt.map_or(rtt, |srtt| smoothed(srtt, rtt)));
        }
        if self.config.tick.is_zero() {
            return self.take_exact(exact);
        }
        let rtt = self.clocked(self.config.tick, end, exact);
        self.smooth(rtt);
        self.end_back_off();
    }

    /// The same by an exact clock, in whole nanoseconds: a `Duration` would divide at each
    /// operation, and each acknowledgment brings a sample.
    fn take_exact(&mut self, rtt: Duration) {
        let rtt = nanos(rtt);
        let (srtt, rttvar) = match self.srtt.map(nanos) {
            None => (rtt, rtt / 2),
            Some(srtt) => {
                let varied =
                    nanos(self.rttvar).saturating_mul(3).saturating_add(srtt.abs_diff(rtt));
                (srtt.saturating_mul(7).saturating_add(rtt) / 8, varied / 4)
            }
        };
        self.srtt = Some(Duration::from_nanos(srtt));
        self.rttvar = Duration::from_nanos(rttvar);
        self.backoff = 0;
        self.rto = self.exact_timeout(Some(srtt), rttvar);
    }

    /// A round trip of `exact`, which ended at `end` if that is known, by a clock of this period.
    fn clocked(&self, tick: Duration, end: Option<Instant>, exact: Duration) -> Duration {
        if tick.is_zero() {
            return exact;
        }
        match self.config.clock {
            Clock::Bsd => counted(tick, end, exact),
            Clock::Ns => rounded(tick, exact),
        }
    }

    /// ns's clock, if there is one that ticks: its period.
    fn ns_tick(&self) -> Option<u64> {
        (self.config.clock == Clock::Ns && !self.config.tick.is_zero())
            .then(|| nanos(self.config.tick))
    }

    /// RFC 6298, rules 2.2 and 2.3: beta = 1/4, RTTVAR first.
    fn smooth(&mut self, rtt: Duration) {
        if let Some(tick) = self.ns_tick() {
            return self.smooth_by_parts_of_ticks(rtt, tick);
        }
        self.srtt = Some(match self.srtt {
            None => {
                self.rttvar = rtt / 2;
                rtt
            }
            Some(srtt) => {
                // In whole nanoseconds: a `Duration` would divide at each operation.
                let deviation = nanos(srtt).abs_diff(nanos(rtt));
                let varied = nanos(self.rttvar).saturating_mul(3).saturating_add(deviation) / 4;
                self.rttvar = Duration::from_nanos(varied);
                smoothed(srtt, rtt)
            }
        });
    }

    /// The same in eighths (t_srtt) and quarters (t_rttvar) of a tick, whole numbers of them, as in
    /// BSD and ns.
    fn smooth_by_parts_of_ticks(&mut self, rtt: Duration, tick: u64) {
        // A tick need not have eight parts of whole nanoseconds.
        let parts = |span: Duration, of: u64| (nanos(span) * of + tick / 2) / tick;
        let span = |parts: u64, of: u64| Duration::from_nanos(parts.saturating_mul(tick) / of);
        let ticks = parts(rtt, 1);
        let (srtt, rttvar) = match self.srtt {
            None => (8 * ticks, 2 * ticks),
            Some(srtt) => {
                let (srtt, rttvar) = (parts(srtt, 8), parts(self.rttvar, 4));
                let deviation = ticks.abs_diff(srtt / 8);
                ((srtt + ticks - srtt / 8).max(1), (rttvar + deviation - rttvar / 4).max(1))
            }
        };
        (self.srtt, self.rttvar) = (Some(span(srtt, 8)), span(rttvar, 4));
    }

    /// The clock's period in nanoseconds; an exact clock's is one.
    fn period(&self) -> u128 {
        self.config.tick.as_nanos().max(1)
    }

    fn ticks_lasting(&self, ticks: u128) -> Duration {
        lasting(ticks, self.period())
    }

    /// SRTT, once measured. A ticking clock's is as coarse as the clock.
    pub fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// What congestion control and pacing go by: SRTT, by their own clock if they have one.
    pub fn congestion_srtt(&self) -> Option<Duration> {
        self.own_srtt.or(self.srtt)
    }

    /// RTTVAR, the smoothed deviation of the samples from SRTT. Zero before the first.
    pub fn rttvar(&self) -> Duration {
        self.rttvar
    }

    /// The minimum round-trip time seen, exact whatever the clock: it is no part of the timeout.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt
    }

    /// The timeout now, back-off included: RTO = SRTT + max(G, 4·RTTVAR), within its limits. By a
    /// ticking clock it is a whole number of ticks, at least two.
    pub fn rto(&self) -> Duration {
        self.rto
    }

    /// The timeout anew, after a sample or a back-off.
    fn timeout(&self) -> Duration {
        if self.config.tick.is_zero() {
            return self.exact_timeout(self.srtt.map(nanos), nanos(self.rttvar));
        }
        let granularity = self.config.granularity.max(self.config.tick);
        let base = match self.srtt {
            None => self.config.initial,
            Some(srtt) => match self.ns_tick() {
                Some(_) => self.whole_ticks(srtt + self.rttvar * 4),
                None => srtt + granularity.max(self.rttvar * 4),
            },
        };
        let base = base.max(self.config.min).min(self.config.max);
        let rto = match self.backoff {
            0 => base,
            backoff => base.saturating_mul(1 << backoff.min(16)).min(self.config.max),
        };
        self.ticks_lasting(rto.as_nanos().div_ceil(self.period()).max(2))
    }

    /// The same by an exact clock, from SRTT and RTTVAR in nanoseconds.
    #[inline]
    fn exact_timeout(&self, srtt: Option<u64>, rttvar: u64) -> Duration {
        let RtoConfig { initial, min, max, granularity, .. } = self.config;
        let margin = nanos(granularity).max(rttvar.saturating_mul(4));
        let base = srtt.map_or(nanos(initial), |srtt| srtt.saturating_add(margin));
        let max = nanos(max);
        let base = base.max(nanos(min)).min(max);
        Duration::from_nanos(base.saturating_mul(1 << self.backoff.min(16)).min(max))
    }

    /// Rounded down, but for what eighths lose in nanoseconds.
    fn whole_ticks(&self, span: Duration) -> Duration {
        self.ticks_lasting((span.as_nanos() + self.period() / 16) / self.period())
    }

    /// When a timer that is set at `now` to the present timeout expires: by a ticking clock, on
    /// the tick that makes its count full.
    pub fn deadline(&self, now: Instant) -> Instant {
        self.expiry(now, self.rto())
    }

    /// When a timer that is set at `now` to `span` expires: by a ticking clock, on a tick.
    pub fn expiry(&self, now: Instant, span: Duration) -> Instant {
        if self.config.tick.is_zero() || self.config.clock == Clock::Ns {
            return now + span;
        }
        let since_tick = u128::from(now.as_nanos()) % self.period();
        let since_tick = u64::try_from(since_tick).expect("less than `now`");
        let span = self.ticks_lasting(span.as_nanos().div_ceil(self.period()));
        Instant::from_nanos(now.as_nanos() - since_tick) + span
    }

    /// The timer expired: double the timeout (rule 5.5).
    pub fn back_off(&mut self) {
        self.backoff += 1;
        self.rto = self.timeout();
    }

    /// New data was acknowledged: the path works again, the next timeout is the plain one.
    pub fn end_back_off(&mut self) {
        self.backoff = 0;
        self.rto = self.timeout();
    }
}

fn lasting(ticks: u128, period: u128) -> Duration {
    Duration::from_nanos(u64::try_from(ticks.saturating_mul(period)).unwrap_or(u64::MAX))
}

/// A round trip of `exact` by a clock of this period: the ticks within it if its `end` is known,
/// those that it began if not. It takes at least one, as in 4.3BSD, which counted from one.
fn counted(tick: Duration, end: Option<Instant>, exact: Duration) -> Duration {
    let (rtt, period) = (exact.as_nanos(), tick.as_nanos());
    let ticks = match end.map(|end| u128::from(end.as_nanos())) {
        None => rtt.div_ceil(period),
        Some(end) => end / period - end.saturating_sub(rtt) / period,
    };
    lasting(ticks.max(1), period)
}

/// A round trip of `exact`, rounded to the nearest tick, one at least.
fn rounded(tick: Duration, exact: Duration) -> Duration {
    let (rtt, period) = (exact.as_nanos(), tick.as_nanos());
    lasting(((rtt + period / 2) / period).max(1), period)
}

/// RFC 6298, rule 2.3: alpha = 1/8. In whole nanoseconds, as above.
fn smoothed(srtt: Duration, rtt: Duration) -> Duration {
    Duration::from_nanos(nanos(srtt).saturating_mul(7).saturating_add(nanos(rtt)) / 8)
}

#[cfg(test)]
mod tests;

//! The retransmission timeout (RFC 6298).

use crate::time::Duration;

/// Parameters of the retransmission timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RtoConfig {
    /// RTO before the first measurement: 1 s (RFC 6298, rule 2.1).
    pub initial: Duration,
    /// The least RTO: RFC 6298 rule 2.4 says 1 s; Linux uses 200 ms.
    pub min: Duration,
    /// The greatest RTO: at least 60 s (rule 2.5).
    pub max: Duration,
    /// Clock granularity G (rule 2.3).
    pub granularity: Duration,
}

impl Default for RtoConfig {
    fn default() -> RtoConfig {
        RtoConfig {
            initial: Duration::from_secs(1),
            min: Duration::from_millis(200),
            max: Duration::from_secs(60),
            granularity: Duration::from_millis(1),
        }
    }
}

/// Smoothed round-trip time, its variation and the timeout that follows from them.
#[derive(Debug, Clone)]
pub struct RttEstimator {
    config: RtoConfig,
    srtt: Option<Duration>,
    rttvar: Duration,
    min_rtt: Option<Duration>,
    backoff: u32,
}

impl RttEstimator {
    /// No measurement yet.
    pub fn new(config: RtoConfig) -> RttEstimator {
        RttEstimator { config, srtt: None, rttvar: Duration::ZERO, min_rtt: None, backoff: 0 }
    }

    /// Takes a measurement R' of a segment that was sent once (Karn's rule is the caller's).
    /// A measurement also ends the back-off.
    pub fn sample(&mut self, rtt: Duration) {
        // RFC 6298, rules 2.2 and 2.3: alpha = 1/8, beta = 1/4, RTTVAR first.
        self.srtt = Some(match self.srtt {
            None => {
                self.rttvar = rtt / 2;
                rtt
            }
            Some(srtt) => {
                self.rttvar = (self.rttvar * 3 + srtt.abs_diff(rtt)) / 4;
                (srtt * 7 + rtt) / 8
            }
        });
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        self.backoff = 0;
    }

    /// SRTT, once measured.
    pub fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// The least round-trip time seen.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt
    }

    /// The timeout now, back-off included: RTO = SRTT + max(G, 4·RTTVAR), within its limits.
    pub fn rto(&self) -> Duration {
        let base = match self.srtt {
            None => self.config.initial,
            Some(srtt) => srtt + self.config.granularity.max(self.rttvar * 4),
        };
        let base = base.clamp(self.config.min, self.config.max);
        base.saturating_mul(1 << self.backoff.min(16)).min(self.config.max)
    }

    /// The timer expired: double the timeout (rule 5.5).
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// New data was acknowledged: the path works again, the next timeout is the plain one.
    pub fn end_back_off(&mut self) {
        self.backoff = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn follows_rfc_6298() {
        let mut rtt = RttEstimator::new(RtoConfig::default());
        assert_eq!(rtt.rto(), ms(1000));
        rtt.sample(ms(500));
        assert_eq!(rtt.rto(), ms(500 + 4 * 250));
        rtt.sample(ms(600));
        // RTTVAR = 3/4·250 + 1/4·100 = 212.5; SRTT = 7/8·500 + 1/8·600 = 512.5.
        assert_eq!(rtt.rto(), Duration::from_micros(512_500 + 4 * 212_500));
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.rto(), Duration::from_micros(4 * (512_500 + 4 * 212_500)));
        rtt.sample(ms(600));
        assert!(rtt.rto() < ms(1500));
    }

    #[test]
    fn stays_within_its_limits() {
        let mut rtt = RttEstimator::new(RtoConfig::default());
        for _ in 0..50 {
            rtt.sample(Duration::from_micros(50));
        }
        assert_eq!(rtt.rto(), ms(200));
        for _ in 0..40 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Duration::from_secs(60));
    }
}

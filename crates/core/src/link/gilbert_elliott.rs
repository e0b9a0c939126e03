//! Loss in bursts: the two-state Markov channel of Gilbert (1960) and Elliott (1963).
//!
//! The channel is good or bad, and each state has its own probability that a packet arrives. The
//! names are the usual ones: *p* and *r* are the probabilities of going from good to bad and back,
//! *k* and *h* those that a packet arrives in the good and in the bad state. Gilbert's channel has
//! k = 1; losing all in the bad state, h = 0, makes it the "simple Gilbert" model, whose bursts
//! last 1 / *r* packets on average.
//!
//! The state changes either from packet to packet or in time, with exponentially distributed
//! sojourns; a link that stands still keeps the first and lives through the second. In time, states
//! depend on nothing but the seed: two runs with other traffic see the same bad times.

use super::loss::{LossModel, Transmission, happens};
use crate::time::{Duration, Instant};
use crate::units::Probability;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The parameters of a Gilbert–Elliott channel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GilbertElliott {
    /// How the state changes.
    pub states: States,
    /// Probability that a packet arrives in the good state.
    pub k: Probability,
    /// Probability that a packet arrives in the bad state.
    pub h: Probability,
}

/// How the state of a [`GilbertElliott`] channel changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum States {
    /// Between two packets.
    PerPacket {
        /// Probability of going from good to bad.
        p: Probability,
        /// Probability of going from bad to good.
        r: Probability,
    },
    /// In time, with these mean sojourns, each at least [`States::MIN_SOJOURN`].
    InTime {
        /// In the good state.
        good: Duration,
        /// In the bad state.
        bad: Duration,
    },
}

impl States {
    /// Sojourns are drawn one by one, so they may not be next to nothing.
    pub const MIN_SOJOURN: Duration = Duration::from_micros(1);

    /// The share of packets, or of the time, for which the state is bad in the long run.
    pub fn bad_share(&self) -> f64 {
        let (to_bad, to_good) = match self {
            States::PerPacket { p, r } => (p.value(), r.value()),
            // Rates are inverse sojourns.
            States::InTime { good, bad } => (bad.as_secs_f64(), good.as_secs_f64()),
        };
        // A chain that leaves neither state stays in the good one.
        if to_bad == 0.0 { 0.0 } else { to_bad / (to_bad + to_good) }
    }
}

impl GilbertElliott {
    /// The simple Gilbert channel that loses the share `loss` of packets, in bursts of
    /// `mean_burst` packets on average. `None` if there is none: bursts have at least one packet,
    /// and between two of them at least one arrives, so loss is at most
    /// `mean_burst / (mean_burst + 1)`.
    pub fn from_bursts(mean_burst: f64, loss: Probability) -> Option<GilbertElliott> {
        if !(1.0..f64::INFINITY).contains(&mean_burst) || loss.value() >= 1.0 {
            return None;
        }
        let r = 1.0 / mean_burst;
        let p = r * loss.value() / (1.0 - loss.value());
        let states = States::PerPacket { p: Probability::new(p)?, r: Probability::new(r)? };
        Some(GilbertElliott { states, k: Probability::ONE, h: Probability::ZERO })
    }

    /// The share of packets lost in the long run, if they are short and evenly spread.
    pub fn mean_loss(&self) -> f64 {
        let bad = self.states.bad_share();
        (1.0 - bad) * (1.0 - self.k.value()) + bad * (1.0 - self.h.value())
    }
}

/// A [`GilbertElliott`] channel at work. It begins in a state drawn from the long run's.
#[derive(Debug, Clone)]
pub struct BurstLoss {
    channel: GilbertElliott,
    bad: bool,
    /// In time: when the present state ends.
    until: Instant,
    /// States and losses draw from streams of their own, so that traffic does not move states.
    states: Pcg64Mcg,
    losses: Pcg64Mcg,
}

impl BurstLoss {
    /// A channel like `channel`; the same seed gives the same states.
    pub fn new(channel: GilbertElliott, seed: u64) -> BurstLoss {
        let mut loss = BurstLoss {
            channel,
            bad: false,
            until: Instant::ZERO,
            states: Pcg64Mcg::seed_from_u64(seed ^ 0x7374_6174_6573),
            losses: Pcg64Mcg::seed_from_u64(seed ^ 0x6c6f_7373_6573),
        };
        loss.bad = happens(&mut loss.states, channel.states.bad_share());
        if let States::InTime { good, bad } = channel.states {
            // Sojourns have no memory: the rest of the first one is distributed like a whole one.
            loss.until = loss.sojourn(if loss.bad { bad } else { good });
        }
        loss
    }

    /// When a sojourn that begins at the end of the present one ends.
    fn sojourn(&mut self, mean: Duration) -> Instant {
        let mean = mean.max(States::MIN_SOJOURN);
        // 1 − u lies in (0, 1].
        let times_mean = -f64::ln(1.0 - self.states.random::<f64>());
        self.until + Duration::from_nanos(((mean.as_nanos() as f64 * times_mean) as u64).max(1))
    }

    /// Whether the state is bad at any moment of `sent`.
    fn is_bad_during(&mut self, sent: &Transmission, good: Duration, bad: Duration) -> bool {
        let mut seen = false;
        loop {
            // The present state lasts up to `until`, exclusively.
            seen |= self.bad && self.until > sent.began;
            if self.until > sent.ended || self.until == Instant::FAR_FUTURE {
                return seen;
            }
            if self.until == sent.ended && sent.began < sent.ended {
                return seen;
            }
            self.bad = !self.bad;
            self.until = self.sojourn(if self.bad { bad } else { good });
        }
    }
}

impl LossModel for BurstLoss {
    fn loses(&mut self, sent: &Transmission) -> bool {
        let bad = match self.channel.states {
            States::PerPacket { p, r } => {
                let bad = self.bad;
                let leaves = if bad { r } else { p };
                self.bad ^= happens(&mut self.states, leaves.value());
                bad
            }
            States::InTime { good, bad } => self.is_bad_during(sent, good, bad),
        };
        let arrives = if bad { self.channel.h } else { self.channel.k };
        happens(&mut self.losses, 1.0 - arrives.value())
    }
}

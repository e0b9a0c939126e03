//! Congestion control by name. A new algorithm is one file beside this one, one variant, one entry
//! in [`Control::ALL`] and one line in each of the four tables here. The variant is its name, so that
//! nothing compiles while a table lacks it.

use super::{
    Band, Bbr, Bbr1, Classic, Congestion, ConstantRate, Cubic, HighSpeed, Hybla, IncreaseByK,
    KnownLink, Scalable, TolerantCubic, Westwood,
};
use super::{SlowStartConfig, Standard, Vegas};
use crate::condensed::Reader;
use crate::text::{
    Choice, Parameters, RATE, SPAN, SWITCH, TextError, positive, rate, span, switch,
};
use crate::time::Duration;
use crate::units::Rate;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The congestion control algorithm with its parameters.
#[derive(
    Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, strum::EnumDiscriminants,
)]
#[strum_discriminants(
    vis(pub(super)),
    name(Name),
    derive(strum::VariantArray, strum::IntoStaticStr),
    strum(serialize_all = "kebab-case")
)]
pub enum Control {
    /// Slow start, increase by one segment a round trip, halving (RFC 5681).
    #[default]
    Standard,
    /// As standard, but the increase is c·rtt² segments a round trip.
    ConstantRate {
        /// In segments per second squared.
        c: f64,
    },
    /// As standard, but the increase is K segments a round trip.
    IncreaseByK {
        /// In segments.
        k: f64,
    },
    /// Vegas: by round-trip times.
    Vegas(Band),
    /// Hybla: as fast as with a round-trip time of RTT₀.
    Hybla {
        /// 25 ms in the paper.
        rtt0: Duration,
    },
    /// CUBIC (RFC 9438).
    Cubic {
        /// Section 4.7: a connection that loses before its last W_max gives way to others.
        fast_convergence: bool,
    },
    /// CUBIC that tells a congested path from a lossy one.
    TolerantCubic,
    /// What fills a link of this rate, whatever is lost.
    KnownLink {
        /// The link's rate, headers included.
        rate: Rate,
    },
    /// BBR version 1, as in Linux.
    Bbr1,
    /// BBR version 3 (draft-ietf-ccwg-bbr).
    Bbr,
    /// Westwood+: the threshold after a loss is what the path was measured to carry.
    Westwood,
    /// Scalable TCP: up and down by parts of the window.
    Scalable {
        /// Up, of what is acknowledged: 0.01 in the paper.
        a: f64,
        /// Down: 1/8 in the paper.
        b: f64,
    },
    /// HighSpeed TCP (RFC 3649).
    #[strum_discriminants(strum(serialize = "highspeed"))]
    HighSpeed,
}

/// Hybla's reference.
const RTT0: Duration = Duration::from_millis(25);

/// Of a link of which nothing else is said.
const LINK_RATE: Rate = Rate::from_bits_per_sec(8_000_000);

impl Control {
    /// Each algorithm, with usual parameters.
    pub const ALL: [Control; 13] = [
        Control::Standard,
        Control::ConstantRate { c: 100.0 },
        Control::IncreaseByK { k: 4.0 },
        Control::Vegas(Band::ONE_THREE),
        Control::Hybla { rtt0: RTT0 },
        Control::Cubic { fast_convergence: true },
        Control::TolerantCubic,
        Control::KnownLink { rate: LINK_RATE },
        Control::Bbr1,
        Control::Bbr,
        Control::Westwood,
        Control::Scalable { a: Scalable::A, b: Scalable::B },
        Control::HighSpeed,
    ];

    /// A fresh instance for segments of `smss` bytes.
    pub fn congestion(self, slow_start: SlowStartConfig, smss: u64) -> Box<dyn Congestion> {
        match self {
            Control::Standard => Box::new(Classic::new(slow_start, smss, Standard::default())),
            Control::ConstantRate { c } => {
                Box::new(Classic::new(slow_start, smss, ConstantRate::new(c)))
            }
            Control::IncreaseByK { k } => {
                Box::new(Classic::new(slow_start, smss, IncreaseByK::new(k)))
            }
            Control::Vegas(band) => Box::new(Vegas::new(slow_start, smss, band)),
            Control::Hybla { rtt0 } => Box::new(Hybla::new(slow_start, smss, rtt0)),
            Control::Cubic { fast_convergence } => {
                Box::new(Cubic::new(slow_start, smss, fast_convergence))
            }
            Control::TolerantCubic => Box::new(TolerantCubic::new(slow_start, smss)),
            Control::KnownLink { rate } => Box::new(KnownLink::new(slow_start, smss, rate)),
            Control::Bbr1 => Box::new(Bbr1::new(slow_start, smss)),
            Control::Bbr => Box::new(Bbr::new(slow_start, smss)),
            Control::HighSpeed => Box::new(Classic::new(slow_start, smss, HighSpeed::default())),
            Control::Scalable { a, b } => {
                Box::new(Classic::new(slow_start, smss, Scalable::new(a, b)))
            }
            Control::Westwood => Box::new(Westwood::new(slow_start, smss)),
        }
    }
}

impl Control {
    /// An instance as it was condensed.
    pub(in crate::tcp) fn wake(self, from: &mut Reader<'_>) -> Box<dyn Congestion> {
        match self {
            Control::Standard => Box::new(from.take::<Classic<Standard>>()),
            Control::ConstantRate { .. } => Box::new(from.take::<Classic<ConstantRate>>()),
            Control::IncreaseByK { .. } => Box::new(from.take::<Classic<IncreaseByK>>()),
            Control::Vegas(_) => Box::new(from.take::<Vegas>()),
            Control::Hybla { .. } => Box::new(from.take::<Hybla>()),
            Control::Cubic { .. } => Box::new(from.take::<Cubic>()),
            Control::TolerantCubic => Box::new(from.take::<TolerantCubic>()),
            Control::KnownLink { .. } => Box::new(from.take::<KnownLink>()),
            Control::Bbr1 => Box::new(from.take::<Bbr1>()),
            Control::Bbr => Box::new(from.take::<Bbr>()),
            Control::HighSpeed => Box::new(from.take::<Classic<HighSpeed>>()),
            Control::Scalable { .. } => Box::new(from.take::<Classic<Scalable>>()),
            Control::Westwood => Box::new(from.take::<Westwood>()),
        }
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Name::from(self).name())?;
        match self {
            Control::ConstantRate { c } => write!(f, ":c={c}"),
            Control::IncreaseByK { k } => write!(f, ":k={k}"),
            Control::Vegas(Band { alpha, beta, gamma }) => {
                write!(f, ":alpha={alpha},beta={beta},gamma={gamma}")
            }
            // Exactly, so that what is written is read back.
            Control::Hybla { rtt0 } if rtt0.subsec_nanos() % 1_000 == 0 => {
                write!(f, ":rtt0={}us", rtt0.as_micros())
            }
            Control::Hybla { rtt0 } => write!(f, ":rtt0={}ns", rtt0.as_nanos()),
            Control::Cubic { fast_convergence: false } => f.write_str(":fast-convergence=off"),
            Control::KnownLink { rate } => write!(f, ":rate={rate}"),
            Control::Scalable { a, b } => write!(f, ":a={a},b={b}"),
            Control::Standard
            | Control::Cubic { fast_convergence: true }
            | Control::TolerantCubic
            | Control::Bbr1
            | Control::Bbr
            | Control::HighSpeed
            | Control::Westwood => Ok(()),
        }
    }
}

/// What factors are.
const FACTOR: &str = "a number above 0";

impl FromStr for Control {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Control, TextError> {
        let mut given = Parameters::read(text);
        let control = match given.kind::<Name>("congestion control")? {
            Name::Standard => Control::Standard,
            Name::ConstantRate => {
                Control::ConstantRate { c: given.take("c", FACTOR, positive)?.unwrap_or(100.0) }
            }
            Name::IncreaseByK => {
                Control::IncreaseByK { k: given.take("k", FACTOR, positive)?.unwrap_or(4.0) }
            }
            Name::Vegas => {
                let usual = Band::ONE_THREE;
                let alpha = given.take("alpha", FACTOR, positive)?.unwrap_or(usual.alpha);
                let not_below = |text: &str| positive(text).filter(|beta| *beta >= alpha);
                let beta = given.take("beta", "a number not below `alpha`", not_below)?;
                let beta = beta.unwrap_or(usual.beta.max(alpha));
                let gamma = given.take("gamma", FACTOR, positive)?.unwrap_or(usual.gamma);
                Control::Vegas(Band { alpha, beta, gamma })
            }
            Name::Hybla => Control::Hybla { rtt0: given.take("rtt0", SPAN, span)?.unwrap_or(RTT0) },
            Name::Cubic => Control::Cubic {
                fast_convergence: given.take("fast-convergence", SWITCH, switch)?.unwrap_or(true),
            },
            Name::TolerantCubic => Control::TolerantCubic,
            Name::KnownLink => {
                Control::KnownLink { rate: given.take("rate", RATE, rate)?.unwrap_or(LINK_RATE) }
            }
            Name::Bbr1 => Control::Bbr1,
            Name::Bbr => Control::Bbr,
            Name::HighSpeed => Control::HighSpeed,
            Name::Scalable => {
                let part = |text: &str| positive(text).filter(|part| *part < 1.0);
                Control::Scalable {
                    a: given.take("a", FACTOR, positive)?.unwrap_or(Scalable::A),
                    b: given.take("b", "a number between 0 and 1", part)?.unwrap_or(Scalable::B),
                }
            }
            Name::Westwood => Control::Westwood,
        };
        given.finish(control)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_is_among_all() {
        let all = Control::ALL.map(|control| Name::from(control).name());
        assert_eq!(all.join(", "), Name::names());
    }

    #[test]
    fn names_are_read_and_written() {
        for control in Control::ALL {
            let text = control.to_string();
            assert_eq!(text.parse(), Ok(control));
            // The name alone stands for the usual parameters.
            assert_eq!(text.split(':').next().unwrap().parse(), Ok(control));
        }
        let others = [
            Control::Cubic { fast_convergence: false },
            Control::Hybla { rtt0: Duration::from_nanos(1_234_567) },
            Control::Vegas(Band { alpha: 2.0, beta: 4.0, gamma: 1.5 }),
        ];
        for control in others {
            assert_eq!(control.to_string().parse(), Ok(control));
        }
        assert_eq!("hybla:rtt0=25ms".parse(), Ok(Control::Hybla { rtt0: RTT0 }));
        assert_eq!("increase-by-k:k=2.5".parse(), Ok(Control::IncreaseByK { k: 2.5 }));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let message = |text: &str| text.parse::<Control>().unwrap_err().to_string();
        assert!(message("quick").contains("`quick`") && message("quick").contains("increase-by-k"));
        assert!(message("standard:k=1").contains("`k`"));
        assert!(message("vegas:alpha=4,beta=2").contains("`beta`"));
        assert!(message("hybla:rtt0=0ms").contains("`0ms`"));
        assert!(message("increase-by-k:k=0").contains("`0`"));
        assert!(message("increase-by-k:k=nan").contains("`nan`"));
        assert!(message("increase-by-k:k").contains("`k`"));
        assert!(message("increase-by-k:k=1,k=2").contains("twice"));
    }
}

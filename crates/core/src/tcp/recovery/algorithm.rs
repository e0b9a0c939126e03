//! Loss recovery by name. A new algorithm is one file beside this one, one variant with its name,
//! and one line in each of the three tables here.

use super::{
    Fack, FalseRetransmits, FullWindow, NewReno, NewRenoVariant, PartialTimer, PartialWindow, Rack,
    Recovery, Reno, Sack, SackReno, Tahoe,
};
use crate::snapshot::Reader;
use crate::text::{Choice, TextError};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use strum::VariantArray;

/// The loss recovery algorithm.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::VariantArray,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum RecoveryAlgorithm {
    /// Fast retransmit, then slow start.
    Tahoe,
    /// Fast recovery up to the first new acknowledgment (RFC 2581).
    Reno,
    /// NewReno without SACK (RFC 6582), slow but steady: [`NewRenoVariant::STEADY`].
    #[strum(serialize = "newreno")]
    NewReno,
    /// NewReno whose timer only the first partial acknowledgment restarts (RFC 6582, section 4).
    #[strum(serialize = "newreno-impatient")]
    NewRenoImpatient,
    /// NewReno as Henderson's modified BSD has it: slow but steady, less careful.
    #[strum(serialize = "newreno-less-careful")]
    NewRenoLessCareful,
    /// NewReno with RFC 6582's section 4.1: [`FalseRetransmits::AckHeuristic`].
    #[strum(serialize = "newreno-ack-heuristic")]
    NewRenoAckHeuristic,
    /// NewReno with RFC 6582's section 4.2: [`FalseRetransmits::TimestampHeuristic`].
    #[strum(serialize = "newreno-timestamp-heuristic")]
    NewRenoTimestampHeuristic,
    /// NewReno that may send a burst at the end of recovery: [`FullWindow::Ssthresh`].
    #[strum(serialize = "newreno-burst")]
    NewRenoBurst,
    /// NewReno as ns had it before RFC 2582: [`PartialWindow::Kept`], [`FullWindow::Ssthresh`].
    #[strum(serialize = "newreno-ns")]
    NewRenoNs,
    /// SACK (RFC 6675), one reduction for each episode, as in NewReno.
    Sack,
    /// SACK that may send a burst at the end of recovery, as in ns: [`FullWindow::Ssthresh`];
    /// without SACK [`RecoveryAlgorithm::NewRenoNs`].
    SackNs,
    /// SACK to find losses, but Reno's episodes: a reduction for each.
    SackReno,
    /// Forward acknowledgment with rampdown (Mathis and Mahdavi 1996).
    Fack,
    /// Forward acknowledgment that halves the window at once, as ns had it by default.
    FackAbrupt,
    /// RACK-TLP (RFC 8985).
    Rack,
    /// RACK without tail loss probes (RFC 8985, section 6 alone).
    RackNoTlp,
    /// RACK with probe timeouts after RFC 9002 instead of tail loss probes, in recovery too.
    RackPto,
}

impl RecoveryAlgorithm {
    /// Every algorithm.
    pub const ALL: &[RecoveryAlgorithm] = RecoveryAlgorithm::VARIANTS;

    /// A fresh instance.
    pub fn recovery(self) -> Box<dyn Recovery> {
        match self {
            RecoveryAlgorithm::Tahoe => Box::new(Tahoe::default()),
            RecoveryAlgorithm::Reno => Box::new(Reno::default()),
            RecoveryAlgorithm::NewReno => Box::new(NewReno::default()),
            RecoveryAlgorithm::NewRenoImpatient => Box::new(NewReno::new(NewRenoVariant {
                partial_timer: PartialTimer::Impatient,
                ..NewRenoVariant::STEADY
            })),
            RecoveryAlgorithm::NewRenoLessCareful => Box::new(NewReno::new(NewRenoVariant {
                false_retransmits: FalseRetransmits::LessCareful,
                ..NewRenoVariant::STEADY
            })),
            RecoveryAlgorithm::NewRenoAckHeuristic => Box::new(NewReno::new(NewRenoVariant {
                false_retransmits: FalseRetransmits::AckHeuristic,
                ..NewRenoVariant::STEADY
            })),
            RecoveryAlgorithm::NewRenoTimestampHeuristic => {
                Box::new(NewReno::new(NewRenoVariant {
                    false_retransmits: FalseRetransmits::TimestampHeuristic,
                    ..NewRenoVariant::STEADY
                }))
            }
            RecoveryAlgorithm::NewRenoBurst => Box::new(NewReno::new(NewRenoVariant {
                full_window: FullWindow::Ssthresh,
                ..NewRenoVariant::STEADY
            })),
            RecoveryAlgorithm::NewRenoNs => Box::new(NewReno::new(NewRenoVariant {
                partial_window: PartialWindow::Kept,
                full_window: FullWindow::Ssthresh,
                ..NewRenoVariant::STEADY
            })),
            RecoveryAlgorithm::Sack => Box::new(Sack::new(FullWindow::Limited)),
            RecoveryAlgorithm::SackNs => Box::new(Sack::new(FullWindow::Ssthresh)),
            RecoveryAlgorithm::SackReno => Box::new(SackReno::default()),
            RecoveryAlgorithm::Fack => Box::new(Fack::new(true)),
            RecoveryAlgorithm::FackAbrupt => Box::new(Fack::new(false)),
            RecoveryAlgorithm::Rack => Box::new(Rack::default()),
            RecoveryAlgorithm::RackNoTlp => Box::new(Rack::without_probes()),
            RecoveryAlgorithm::RackPto => Box::new(Rack::with_probe_timeouts()),
        }
    }

    /// An instance from its snapshot.
    pub(in crate::tcp) fn restore(self, from: &mut Reader<'_>) -> Box<dyn Recovery> {
        match self {
            RecoveryAlgorithm::Tahoe => Box::new(from.take::<Tahoe>()),
            RecoveryAlgorithm::Reno => Box::new(from.take::<Reno>()),
            RecoveryAlgorithm::NewReno
            | RecoveryAlgorithm::NewRenoImpatient
            | RecoveryAlgorithm::NewRenoLessCareful
            | RecoveryAlgorithm::NewRenoAckHeuristic
            | RecoveryAlgorithm::NewRenoTimestampHeuristic
            | RecoveryAlgorithm::NewRenoBurst
            | RecoveryAlgorithm::NewRenoNs => Box::new(from.take::<NewReno>()),
            RecoveryAlgorithm::Sack | RecoveryAlgorithm::SackNs => Box::new(from.take::<Sack>()),
            RecoveryAlgorithm::SackReno => Box::new(from.take::<SackReno>()),
            RecoveryAlgorithm::Fack | RecoveryAlgorithm::FackAbrupt => {
                Box::new(from.take::<Fack>())
            }
            RecoveryAlgorithm::Rack | RecoveryAlgorithm::RackNoTlp | RecoveryAlgorithm::RackPto => {
                Box::new(from.take::<Rack>())
            }
        }
    }

    /// What is used where SACK was agreed on, or was not: without it NewReno stands in for what
    /// needs it.
    pub fn with_sack(self, agreed: bool) -> RecoveryAlgorithm {
        match self {
            algorithm if agreed || !algorithm.needs_sack() => algorithm,
            RecoveryAlgorithm::SackNs => RecoveryAlgorithm::NewRenoNs,
            _ => RecoveryAlgorithm::NewReno,
        }
    }

    /// Whether it works only where SACK was agreed on.
    pub fn needs_sack(self) -> bool {
        match self {
            RecoveryAlgorithm::Tahoe
            | RecoveryAlgorithm::Reno
            | RecoveryAlgorithm::NewReno
            | RecoveryAlgorithm::NewRenoImpatient
            | RecoveryAlgorithm::NewRenoLessCareful
            | RecoveryAlgorithm::NewRenoAckHeuristic
            | RecoveryAlgorithm::NewRenoTimestampHeuristic
            | RecoveryAlgorithm::NewRenoBurst
            | RecoveryAlgorithm::NewRenoNs => false,
            RecoveryAlgorithm::Sack
            | RecoveryAlgorithm::SackNs
            | RecoveryAlgorithm::SackReno
            | RecoveryAlgorithm::Fack
            | RecoveryAlgorithm::FackAbrupt
            | RecoveryAlgorithm::Rack
            | RecoveryAlgorithm::RackNoTlp
            | RecoveryAlgorithm::RackPto => true,
        }
    }
}

impl fmt::Display for RecoveryAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for RecoveryAlgorithm {
    type Err = TextError;
    fn from_str(text: &str) -> Result<RecoveryAlgorithm, TextError> {
        RecoveryAlgorithm::read("loss recovery", text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for algorithm in RecoveryAlgorithm::ALL {
            assert_eq!(algorithm.to_string().parse(), Ok(*algorithm));
        }
        assert_eq!("sack-reno".parse(), Ok(RecoveryAlgorithm::SackReno));
        let message = "fast".parse::<RecoveryAlgorithm>().unwrap_err().to_string();
        assert!(message.contains("`fast`") && message.contains("newreno"), "{message}");
    }
}

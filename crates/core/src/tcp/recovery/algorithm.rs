//! Loss recovery by name. A new algorithm is one file beside this one, one variant and one line in
//! each of the three tables here.

use super::{
    Fack, FalseRetransmits, FullWindow, NewReno, NewRenoVariant, PartialTimer, Rack, Recovery,
    Reno, Sack, SackReno, Tahoe,
};
use crate::condensed::Reader;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The loss recovery algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Algorithm {
    /// Fast retransmit, then slow start.
    Tahoe,
    /// Fast recovery up to the first new acknowledgment (RFC 2581).
    Reno,
    /// NewReno without SACK (RFC 6582), slow but steady: [`NewRenoVariant::STEADY`].
    NewReno,
    /// NewReno whose timer only the first partial acknowledgment restarts (RFC 6582, section 4).
    NewRenoImpatient,
    /// NewReno as Henderson's modified BSD has it: slow but steady, less careful.
    NewRenoLessCareful,
    /// NewReno with RFC 6582's section 4.1: [`FalseRetransmits::AckHeuristic`].
    NewRenoAckHeuristic,
    /// NewReno with RFC 6582's section 4.2: [`FalseRetransmits::TimestampHeuristic`].
    NewRenoTimestampHeuristic,
    /// NewReno that may send a burst at the end of recovery: [`FullWindow::Ssthresh`].
    NewRenoBurst,
    /// SACK (RFC 6675), one reduction for each episode, as in NewReno.
    Sack,
    /// SACK to find losses, but Reno's episodes: a reduction for each.
    SackReno,
    /// Forward acknowledgment with rampdown (Mathis and Mahdavi 1996).
    Fack,
    /// Forward acknowledgment that halves the window at once, as ns had it by default.
    FackAbrupt,
    /// RACK-TLP (RFC 8985).
    Rack,
    /// RACK with probe timeouts after RFC 9002 instead of tail loss probes, in recovery too.
    RackPto,
}

/// There is no algorithm of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no loss recovery is called `{0}` (there are {names})", names = Algorithm::names())]
pub struct UnknownAlgorithm(pub String);

impl Algorithm {
    /// Every algorithm and its name.
    pub const ALL: [(&'static str, Algorithm); 14] = [
        ("tahoe", Algorithm::Tahoe),
        ("reno", Algorithm::Reno),
        ("newreno", Algorithm::NewReno),
        ("newreno-impatient", Algorithm::NewRenoImpatient),
        ("newreno-less-careful", Algorithm::NewRenoLessCareful),
        ("newreno-ack-heuristic", Algorithm::NewRenoAckHeuristic),
        ("newreno-timestamp-heuristic", Algorithm::NewRenoTimestampHeuristic),
        ("newreno-burst", Algorithm::NewRenoBurst),
        ("sack", Algorithm::Sack),
        ("sack-reno", Algorithm::SackReno),
        ("fack", Algorithm::Fack),
        ("fack-abrupt", Algorithm::FackAbrupt),
        ("rack", Algorithm::Rack),
        ("rack-pto", Algorithm::RackPto),
    ];

    /// A fresh instance.
    pub fn recovery(self) -> Box<dyn Recovery> {
        match self {
            Algorithm::Tahoe => Box::new(Tahoe::default()),
            Algorithm::Reno => Box::new(Reno::default()),
            Algorithm::NewReno => Box::new(NewReno::default()),
            Algorithm::NewRenoImpatient => Box::new(NewReno::new(NewRenoVariant {
                partial_timer: PartialTimer::Impatient,
                ..NewRenoVariant::STEADY
            })),
            Algorithm::NewRenoLessCareful => Box::new(NewReno::new(NewRenoVariant {
                false_retransmits: FalseRetransmits::LessCareful,
                ..NewRenoVariant::STEADY
            })),
            Algorithm::NewRenoAckHeuristic => Box::new(NewReno::new(NewRenoVariant {
                false_retransmits: FalseRetransmits::AckHeuristic,
                ..NewRenoVariant::STEADY
            })),
            Algorithm::NewRenoTimestampHeuristic => Box::new(NewReno::new(NewRenoVariant {
                false_retransmits: FalseRetransmits::TimestampHeuristic,
                ..NewRenoVariant::STEADY
            })),
            Algorithm::NewRenoBurst => Box::new(NewReno::new(NewRenoVariant {
                full_window: FullWindow::Ssthresh,
                ..NewRenoVariant::STEADY
            })),
            Algorithm::Sack => Box::new(Sack::default()),
            Algorithm::SackReno => Box::new(SackReno::default()),
            Algorithm::Fack => Box::new(Fack::new(true)),
            Algorithm::FackAbrupt => Box::new(Fack::new(false)),
            Algorithm::Rack => Box::new(Rack::default()),
            Algorithm::RackPto => Box::new(Rack::with_probe_timeouts()),
        }
    }

    /// An instance as it was condensed.
    pub(in crate::tcp) fn wake(self, from: &mut Reader<'_>) -> Box<dyn Recovery> {
        match self {
            Algorithm::Tahoe => Box::new(from.take::<Tahoe>()),
            Algorithm::Reno => Box::new(from.take::<Reno>()),
            Algorithm::NewReno
            | Algorithm::NewRenoImpatient
            | Algorithm::NewRenoLessCareful
            | Algorithm::NewRenoAckHeuristic
            | Algorithm::NewRenoTimestampHeuristic
            | Algorithm::NewRenoBurst => Box::new(from.take::<NewReno>()),
            Algorithm::Sack => Box::new(from.take::<Sack>()),
            Algorithm::SackReno => Box::new(from.take::<SackReno>()),
            Algorithm::Fack | Algorithm::FackAbrupt => Box::new(from.take::<Fack>()),
            Algorithm::Rack | Algorithm::RackPto => Box::new(from.take::<Rack>()),
        }
    }

    /// Whether it works only where SACK was agreed on.
    pub fn needs_sack(self) -> bool {
        match self {
            Algorithm::Tahoe
            | Algorithm::Reno
            | Algorithm::NewReno
            | Algorithm::NewRenoImpatient
            | Algorithm::NewRenoLessCareful
            | Algorithm::NewRenoAckHeuristic
            | Algorithm::NewRenoTimestampHeuristic
            | Algorithm::NewRenoBurst => false,
            Algorithm::Sack
            | Algorithm::SackReno
            | Algorithm::Fack
            | Algorithm::FackAbrupt
            | Algorithm::Rack
            | Algorithm::RackPto => true,
        }
    }

    fn names() -> String {
        Self::ALL.map(|(name, _)| name).join(", ")
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, algorithm)| algorithm == self).map(|(name, _)| *name);
        f.write_str(name.expect("every algorithm has a name"))
    }
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;
    fn from_str(text: &str) -> Result<Algorithm, UnknownAlgorithm> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, algorithm)| *algorithm).ok_or_else(|| UnknownAlgorithm(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for (name, algorithm) in Algorithm::ALL {
            assert_eq!(name.parse(), Ok(algorithm));
            assert_eq!(algorithm.to_string(), name);
        }
        let message = "fast".parse::<Algorithm>().unwrap_err().to_string();
        assert!(message.contains("`fast`") && message.contains("newreno"), "{message}");
    }
}

//! The account of a congestion control's answers, for the sender and for its observers.

use super::{InitialWindow, SenderConfig};
use crate::snapshot::Writer;
use crate::tcp::congestion::{CongestionAlgorithm, LinkReport};
use crate::tcp::ledger::Ledger;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Which congestion control it is, what it has heard of, and what it has answered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Account {
    pub(super) algorithm: CongestionAlgorithm,
    /// With which it began.
    pub(super) initial_window: InitialWindow,
    /// The ledger's counts of delivered and of lost bytes when congestion control last heard of
    /// them.
    pub(super) told: (Bytes, Bytes),
    /// What the flow has seen of its link since this was last asked for.
    pub(super) report: LinkReport,
    pub(super) bound: BoundCount,
}

/// How often an increase was held to one segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundCount {
    /// Acknowledgments in congestion avoidance.
    pub acks: u64,
    /// Those for which the window grew by one segment, and would have grown by more.
    pub bound: u64,
}

impl Account {
    /// Of a control as it is configured that has heard of so much.
    pub(super) fn of(config: &SenderConfig, told: (Bytes, Bytes)) -> Account {
        Account {
            algorithm: config.congestion,
            initial_window: config.initial_window,
            told,
            report: LinkReport::default(),
            bound: BoundCount::default(),
        }
    }

    /// Writes it, which takes a byte if it follows from the rest.
    pub(super) fn snapshot(&self, ledger: &Ledger, config: &SenderConfig, into: &mut Writer) {
        into.put(&Some(*self).filter(|account| *account != Account::usual(ledger, config)));
    }

    /// Of a control as it is configured that has heard of all.
    pub(super) fn usual(ledger: &Ledger, config: &SenderConfig) -> Account {
        Account::of(config, (ledger.delivered(), ledger.lost_bytes()))
    }
}

impl Default for Account {
    fn default() -> Account {
        Account::of(&SenderConfig::default(), (Bytes::ZERO, Bytes::ZERO))
    }
}

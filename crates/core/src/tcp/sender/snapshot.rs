//! A snapshot of a sender.
//!
//! Everything is kept, whatever the sender is doing, so that one that is restored goes on as if it
//! had never been a snapshot. Only of its parameters is left out what it has in common with others:
//! all but a few, as a rule.

use super::account::Account;
use super::path::SegmentSizes;
use super::{InitialWindow, Sender, SenderConfig};
use crate::snapshot::{Reader, Writer};
use crate::tcp::congestion::{Congestion, CongestionAlgorithm};
use crate::tcp::recovery::{Recovery, RecoveryAlgorithm};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// The parameters that differ among connections as a rule: sizes and the initial window follow from
/// the handshake and the path, recovery and congestion control from who answers.
#[derive(Serialize, Deserialize)]
struct Own {
    smss: Bytes,
    max_burst: Bytes,
    overhead: Bytes,
    recovery: RecoveryAlgorithm,
    congestion: CongestionAlgorithm,
    initial_window: InitialWindow,
    spare_copies: bool,
}

impl Own {
    fn of(config: &SenderConfig) -> Own {
        let SenderConfig {
            smss,
            max_burst,
            overhead,
            recovery,
            congestion,
            initial_window,
            spare_copies,
            ..
        } = *config;
        Own { smss, max_burst, overhead, recovery, congestion, initial_window, spare_copies }
    }

    fn with(self, common: &SenderConfig) -> SenderConfig {
        let Own { smss, max_burst, overhead, recovery, congestion, initial_window, spare_copies } =
            self;
        SenderConfig {
            smss,
            max_burst,
            overhead,
            recovery,
            congestion,
            initial_window,
            spare_copies,
            ..*common
        }
    }
}

impl SenderConfig {
    fn snapshot(&self, common: &SenderConfig, into: &mut Writer) {
        into.put(&Own::of(self));
        into.put(&Some(*self).filter(|config| *config != Own::of(self).with(common)));
    }

    fn restore(from: &mut Reader<'_>, common: &SenderConfig) -> SenderConfig {
        let own: Own = from.take();
        let whole: Option<SenderConfig> = from.take();
        whole.unwrap_or_else(|| own.with(common))
    }
}

impl Sender {
    pub(in crate::tcp) fn snapshot(&self, common: &SenderConfig, into: &mut Writer) {
        self.config.snapshot(common, into);
        into.put(&Some(self.sizes).filter(|sizes| *sizes != SegmentSizes::of(&self.config)));
        self.flight.snapshot(into);
        self.cwnd.snapshot(self.flight.ledger(), &self.config, into);
        into.put(self);
    }

    pub(in crate::tcp) fn restore(from: &mut Reader<'_>, common: &SenderConfig) -> Sender {
        let config = SenderConfig::restore(from, common);
        let sizes = from.take::<Option<SegmentSizes>>().unwrap_or(SegmentSizes::of(&config));
        let recovery = config.recovery.restore(from);
        let account: Option<Account> = from.take();
        let algorithm = account.map_or(config.congestion, |account| account.algorithm);
        let congestion = algorithm.restore(from);
        let mut sender = Sender { config: config.into(), sizes, ..from.take() };
        sender.flight.restore(recovery);
        let usual = Account::usual(sender.flight.ledger(), &config);
        sender.cwnd.restore(account.unwrap_or(usual), congestion);
        sender.timers.restore(config.rto);
        sender
    }
}

/// Stands where the recovery is put that was written apart.
pub(super) fn no_recovery() -> Box<dyn Recovery> {
    RecoveryAlgorithm::Tahoe.recovery()
}

/// Stands where the congestion control is put that was written apart.
pub(super) fn no_congestion() -> Box<dyn Congestion> {
    SenderConfig::default().congestion()
}

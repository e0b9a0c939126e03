//! A snapshot of a sender.
//!
//! Everything is kept, whatever the sender is doing, so that one that is restored goes on as if it had
//! never been a snapshot. Only of its parameters is left out what it has in common with others: all
//! but the sizes that follow from its connection's handshake and path, as a rule.

use super::{Sender, SenderConfig};
use crate::snapshot::{Reader, Writer};
use crate::tcp::congestion::Congestion;
use crate::tcp::recovery::{Recovery, RecoveryAlgorithm};

impl SenderConfig {
    /// The same with the segment sizes of `self`.
    fn sized_as(&self, common: &SenderConfig) -> SenderConfig {
        let SenderConfig { smss, max_burst, overhead, .. } = *self;
        SenderConfig { smss, max_burst, overhead, ..*common }
    }

    fn snapshot(&self, common: &SenderConfig, into: &mut Writer) {
        into.put(&(self.smss, self.max_burst, self.overhead));
        into.put(&Some(*self).filter(|config| *config != self.sized_as(common)));
    }

    fn restore(from: &mut Reader<'_>, common: &SenderConfig) -> SenderConfig {
        let (smss, max_burst, overhead) = from.take();
        let whole: Option<SenderConfig> = from.take();
        whole.unwrap_or(SenderConfig { smss, max_burst, overhead, ..*common })
    }
}

impl Sender {
    pub(in crate::tcp) fn snapshot(&self, common: &SenderConfig, into: &mut Writer) {
        self.config.snapshot(common, into);
        self.flight.snapshot(into);
        self.cwnd.snapshot(self.flight.ledger(), into);
        into.put(self);
    }

    pub(in crate::tcp) fn restore(from: &mut Reader<'_>, common: &SenderConfig) -> Sender {
        let config = SenderConfig::restore(from, common);
        let recovery = config.algorithm.restore(from);
        let congestion = config.control.restore(from);
        let told = from.take();
        let mut sender = Sender { config, ..from.take() };
        sender.flight.restore(recovery);
        sender.cwnd.restore(congestion, told, sender.flight.ledger());
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

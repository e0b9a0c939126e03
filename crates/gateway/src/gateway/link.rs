//! The link behind a side: where its rate is known, all flows take turns on it, a segment each.
//!
//! So they have equal shares whenever they began and however large their windows are (Nagle, RFC
//! 970), the link's own queue stays empty as far as they fill it, and what waits does so here, where
//! a stream's size bounds it. A flow that has nothing to send leaves its turn to the others. Only
//! data waits: bare acknowledgments, probes and resets count, and do not wait.

use bentpipe_core::tcp::pacing::{Pacer, Pacing};
use bentpipe_core::time::Instant;
use bentpipe_core::units::Rate;
use std::collections::VecDeque;

/// A link that flows share.
#[derive(Debug)]
pub(super) struct Link {
    /// The rate at which it is used; None: as each flow likes.
    rate: Option<Rate>,
    pacer: Pacer,
    /// Flows that have something to send, in the order of their turns. Some may be gone, and their
    /// places taken by others.
    waiting: VecDeque<usize>,
}

impl Link {
    /// A link that is used as `pacing` says.
    pub(super) fn new(pacing: Pacing) -> Link {
        let rate = match pacing {
            Pacing::Window { cap } => cap,
            Pacing::Off => None,
        };
        Link { rate, pacer: Pacer::default(), waiting: VecDeque::new() }
    }

    /// Whether a flow that comes now is to wait: for the link, or behind others.
    pub(super) fn is_busy(&self, now: Instant) -> bool {
        self.rate.is_some() && (!self.waiting.is_empty() || now < self.pacer.next())
    }

    /// The flow waits for its turn.
    pub(super) fn wait(&mut self, id: usize) {
        self.waiting.push_back(id);
    }

    /// The flow whose turn it is now, if any.
    pub(super) fn turn(&mut self, now: Instant) -> Option<usize> {
        if now < self.pacer.next() { None } else { self.waiting.pop_front() }
    }

    /// When the next turn is, if anybody waits.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then(|| self.pacer.next())
    }

    /// Packets of so many bytes, headers included, were sent.
    pub(super) fn sent(&mut self, now: Instant, bytes: u64) {
        if let Some(rate) = self.rate {
            self.pacer.sent(now, bytes, rate);
        }
    }
}

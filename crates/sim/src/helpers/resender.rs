//! What Snoop and spoofing share: copies of segments that have gone out on the link, and when they
//! are sent again.

use crate::packet::Packet;
use bentpipe_core::tcp::rtt::{RtoConfig, RttEstimator};
use bentpipe_core::time::{Duration, Instant};
use std::collections::BTreeMap;

/// Copies of one connection's segments in one direction, by the offsets of their first bytes.
#[derive(Debug)]
pub(super) struct Resender {
    copies: BTreeMap<u64, Copy>,
    pub(super) bytes: u64,
    /// The next byte that the receiver expects, once it has said so.
    pub(super) una: u64,
    /// How often it has said so again.
    duplicates: u32,
    /// What was sent again, last.
    resent: Option<u64>,
    /// More duplicates than this cannot be of what had gone out before that: it was lost again.
    patience: u32,
    /// What had gone out when a loss was found ends here.
    recover: u64,
    rtt: RttEstimator,
    deadline: Option<Instant>,
}

#[derive(Debug)]
struct Copy {
    packet: Packet,
    len: u64,
    sent: Instant,
    again: bool,
}

impl Resender {
    pub(super) fn new(least_timeout: Duration, una: u64) -> Resender {
        let config = RtoConfig { min: least_timeout, ..RtoConfig::default() };
        Resender {
            copies: BTreeMap::new(),
            bytes: 0,
            una,
            duplicates: 0,
            resent: None,
            patience: 0,
            recover: 0,
            rtt: RttEstimator::new(config),
            deadline: None,
        }
    }

    pub(super) fn has(&self, offset: u64) -> bool {
        self.copies.contains_key(&offset)
    }

    /// The end of the copy that begins at `offset`.
    pub(super) fn end_of(&self, offset: u64) -> Option<u64> {
        self.copies.get(&offset).map(|copy| offset + copy.len)
    }

    /// One past the last byte that there is a copy of.
    fn end(&self) -> u64 {
        self.copies.last_key_value().map_or(0, |(offset, copy)| offset + copy.len)
    }

    /// Keeps a copy of what goes out at `now`.
    pub(super) fn keep(&mut self, now: Instant, offset: u64, len: u64, packet: Packet) {
        if self.copies.insert(offset, Copy { packet, len, sent: now, again: false }).is_none() {
            self.bytes += len;
        }
        self.deadline.get_or_insert(now + self.rtt.rto());
    }

    /// The sender itself has sent this again: it counts as sent again here.
    pub(super) fn renew(&mut self, now: Instant, offset: u64) {
        if let Some(copy) = self.copies.get_mut(&offset) {
            copy.again = true;
            if offset == self.una {
                self.resent = Some(offset);
                self.deadline = Some(now + self.rtt.rto());
            }
        }
    }

    /// The receiver expects `una` now: what is before is there. If a segment that was sent again
    /// has filled one hole and not the next (RFC 6582), that is to be sent again, too.
    pub(super) fn advance(&mut self, now: Instant, una: u64) -> Option<Packet> {
        self.una = una;
        (self.duplicates, self.resent) = (0, None);
        let rest = self.copies.split_off(&una);
        for copy in std::mem::replace(&mut self.copies, rest).into_values() {
            self.bytes -= copy.len;
            if !copy.again {
                self.rtt.sample(now.saturating_since(copy.sent));
            }
        }
        self.rtt.end_back_off();
        self.deadline = (!self.copies.is_empty()).then(|| now + self.rtt.rto());
        if una < self.recover { self.resend(now).flatten() } else { None }
    }

    /// The receiver has said again that it expects `una`. None if there is no copy; otherwise what
    /// is to be sent again, if anything. A single duplicate may come from a copy that was sent again
    /// in vain, so it takes two: with one, each vain copy would cause the next.
    pub(super) fn on_duplicate(&mut self, now: Instant) -> Option<Option<Packet>> {
        self.duplicates += 1;
        if self.duplicates < 2 && self.copies.contains_key(&self.una) {
            return Some(None);
        }
        self.resend(now)
    }

    fn resend(&mut self, now: Instant) -> Option<Option<Packet>> {
        let una = self.una;
        let end = self.end();
        let out = u32::try_from(self.copies.len()).unwrap_or(u32::MAX);
        let copy = self.copies.get_mut(&una)?;
        if self.resent == Some(una) && self.duplicates <= self.patience {
            return Some(None);
        }
        self.patience = self.duplicates.saturating_add(out);
        self.resent = Some(una);
        self.recover = self.recover.max(end);
        copy.again = true;
        self.deadline = Some(now + self.rtt.rto());
        Some(Some(copy.packet.clone()))
    }

    /// What is to be sent again because nothing was heard for too long.
    pub(super) fn on_timeout(&mut self, now: Instant) -> Option<Packet> {
        self.deadline.filter(|at| *at <= now)?;
        let Some((&offset, copy)) = self.copies.iter_mut().next() else {
            self.deadline = None;
            return None;
        };
        copy.again = true;
        self.resent = Some(offset);
        self.rtt.back_off();
        self.deadline = Some(now + self.rtt.rto());
        Some(copy.packet.clone())
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.deadline
    }
}

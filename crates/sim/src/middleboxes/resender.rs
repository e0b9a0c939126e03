//! What Snoop and spoofing share: copies of segments that have gone out on the link, and when they
//! are retransmitted.
//!
//! What is retransmitted waits its turn in the link's queue, or goes before all that waits there.
//! In its turn, it arrives after all that had been handed to the link before it: what is missing of
//! that then was lost. If it goes first, that may still wait, and two other things are sure: as
//! many segments as duplicates have come are there from behind a hole, so that what is missing
//! before the last of those was lost, too; and a copy is there a round trip without queue later, or
//! was lost again.

use crate::packet::Packet;
use bentpipe_core::tcp::rtt::{RtoConfig, RttEstimator};
use bentpipe_core::time::{Duration, Instant};
use std::collections::BTreeMap;

/// Where what is retransmitted goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueuePosition {
    /// Behind what waits for the link.
    Last,
    /// Before it.
    First,
}

/// Copies of one connection's segments in one direction, by the offsets of their first bytes.
#[derive(Debug)]
pub(super) struct Resender {
    turn: QueuePosition,
    copies: BTreeMap<u64, Copy>,
    pub(super) bytes: u64,
    /// The next byte that the receiver expects, once it has said so.
    pub(super) una: u64,
    /// How often it has said so again.
    duplicates: u32,
    /// When the next byte expected was retransmitted, if it was.
    resent: Option<Instant>,
    /// If in its turn: more duplicates than this cannot be of what had gone out before that.
    patience: u32,
    /// What is missing before this is lost.
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
    pub(super) fn new(turn: QueuePosition, min_timeout: Duration, una: u64) -> Resender {
        let config = RtoConfig { min: min_timeout, ..RtoConfig::default() };
        Resender {
            turn,
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

    /// Keeps a copy of what goes out at `now`.
    pub(super) fn keep(&mut self, now: Instant, offset: u64, len: u64, packet: Packet) {
        if self.copies.insert(offset, Copy { packet, len, sent: now, again: false }).is_none() {
            self.bytes += len;
        }
        self.deadline.get_or_insert(now + self.rtt.rto());
    }

    /// The sender itself has sent this again: its acknowledgment says nothing about the time.
    pub(super) fn renew(&mut self, offset: u64) {
        if let Some(copy) = self.copies.get_mut(&offset) {
            copy.again = true;
        }
    }

    /// The receiver expects `una` now: what is before is there. If that has filled one hole and not
    /// the next (RFC 6582), this is to be retransmitted, too.
    pub(super) fn advance(&mut self, now: Instant, una: u64) -> Option<Packet> {
        if self.turn == QueuePosition::First && self.duplicates > 0 {
            let behind = self.copies.range(self.una..).nth(self.duplicates as usize);
            self.recover = behind.map_or(self.recover, |(offset, _)| self.recover.max(*offset));
        }
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
        if una < self.recover { self.resend(now, una) } else { None }
    }

    /// The receiver has said again that it expects `una`. None if there is no copy; otherwise what
    /// is to be retransmitted, if anything. A single duplicate may come from a copy that was
    /// retransmitted in vain, so it takes two: with one, each vain copy would cause the next.
    pub(super) fn on_duplicate(&mut self, now: Instant) -> Option<Option<Packet>> {
        self.duplicates += 1;
        self.copies.contains_key(&self.una).then(|| {
            // Twice, because a copy waits for the packet that is just being sent.
            let there = self.rtt.min_rtt().map_or(self.rtt.rto(), |min| 2 * min);
            let lost = match (self.resent, self.turn) {
                (None, _) => self.duplicates >= 2,
                (Some(sent), QueuePosition::First) => now > sent + there,
                (Some(_), QueuePosition::Last) => self.duplicates > self.patience,
            };
            if lost { self.resend(now, self.una) } else { None }
        })
    }

    /// What is to be retransmitted because nothing was heard for too long.
    pub(super) fn on_timeout(&mut self, now: Instant) -> Option<Packet> {
        self.deadline.filter(|at| *at <= now)?;
        self.deadline = None;
        let (&offset, _) = self.copies.first_key_value()?;
        self.rtt.back_off();
        self.resend(now, offset)
    }

    fn resend(&mut self, now: Instant, offset: u64) -> Option<Packet> {
        if self.turn == QueuePosition::Last {
            let out = u32::try_from(self.copies.len()).unwrap_or(u32::MAX);
            let end = self.copies.last_key_value().map_or(0, |(offset, copy)| offset + copy.len);
            self.patience = self.duplicates.saturating_add(out);
            self.recover = self.recover.max(end);
        }
        let copy = self.copies.get_mut(&offset)?;
        copy.again = true;
        self.resent = Some(now);
        self.deadline = Some(now + self.rtt.rto());
        Some(Packet { urgent: self.turn == QueuePosition::First, ..copy.packet.clone() })
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.deadline
    }
}

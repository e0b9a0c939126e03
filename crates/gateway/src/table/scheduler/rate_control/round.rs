//! What has happened in a round trip of all flows together.

use super::super::{PACKET, WIRE};
use bentpipe_core::tcp::congestion::LinkReport;
use bentpipe_core::time::Instant;
use bentpipe_core::units::{Bytes, Rate};
use std::num::NonZeroU16;

/// Who has lost something in so many rounds, the present one included, is one of those that lose.
const LOSER_ROUNDS: u16 = 2;

/// The share of what the rate allows that must have been sent for a queue to be ours.
const USED: f64 = 0.7;

/// The number of the latest round in which a flow has lost something, if it has. Every flow keeps
/// one: two bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(in super::super) struct LossyRound(Option<NonZeroU16>);

/// See the module's head.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    /// From 1 to 65,535, and again from 1.
    number: NonZeroU16,
    pub(super) began: Instant,
    /// Bytes of payload.
    pub(super) seen: LinkReport,
    /// Those that were delivered of flows that have lost something lately.
    of_losers: Bytes,
    /// Bytes sent, headers included.
    pub(super) sent: u64,
}

impl Round {
    /// The first.
    pub(super) fn first() -> Round {
        Round {
            number: NonZeroU16::MIN,
            began: Instant::ZERO,
            seen: LinkReport::default(),
            of_losers: Bytes::ZERO,
            sent: 0,
        }
    }

    /// The one after this, which begins now.
    pub(super) fn next(&self, now: Instant) -> Round {
        let number = self.number.checked_add(1).unwrap_or(NonZeroU16::MIN);
        Round { number, began: now, ..Round::first() }
    }

    /// In this round a flow has seen something, which last lost something in the round `lossy`.
    pub(super) fn take(&mut self, report: LinkReport, lossy: &mut LossyRound) {
        self.seen = self.seen.and(report);
        if report.lost > Bytes::ZERO {
            lossy.0 = Some(self.number);
        }
        if lossy.0.is_some_and(|round| self.number.get().wrapping_sub(round.get()) < LOSER_ROUNDS) {
            self.of_losers += report.delivered;
        }
    }

    /// Whether most of what was delivered is of flows that have lost something lately.
    pub(super) fn is_of_losers(&self) -> bool {
        self.of_losers * 2 >= self.seen.delivered
    }

    /// Whether more was lost than a usual share, chance and a margin explain.
    pub(super) fn loses_more_than(&self, usual: f64, margin: f64) -> bool {
        self.seen.loses_more_than(usual, margin, PACKET)
    }

    /// How many packets were delivered or lost.
    pub(super) fn packets(&self) -> f64 {
        self.seen.packets(PACKET)
    }

    /// What was delivered, in bits of the wire a second, if it ends now.
    pub(super) fn delivered(&self, now: Instant) -> f64 {
        let span = now.saturating_since(self.began).as_secs_f64();
        self.seen.delivered.as_f64() * WIRE * 8.0 / span
    }

    /// Whether nearly as much was sent as this rate allows, if it ends now.
    pub(super) fn uses(&self, now: Instant, rate: Rate) -> bool {
        let span = now.saturating_since(self.began).as_secs_f64();
        self.sent as f64 * 8.0 >= USED * rate.bits_per_sec() as f64 * span
    }
}

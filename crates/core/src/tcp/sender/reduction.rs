//! The way of the window through fast recovery: as congestion control says, or by proportional
//! rate reduction ([`Prr`]). Recovery does not see the window and congestion control sees no
//! sequence numbers, so the sender is where the two meet.

use super::Sender;
use crate::tcp::congestion::Congested;
use crate::tcp::prr::{Progress, Prr};
use serde::{Deserialize, Serialize};

/// How the window comes down when fast recovery begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Reduction {
    /// At once, to what congestion control chose: nothing is sent until so much has left.
    #[default]
    Plain,
    /// Evenly over a round trip (RFC 9937).
    Prr,
}

/// Where an episode stands.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Course {
    prr: Option<Prr>,
    /// The ledger's count of delivered bytes after the last acknowledgment.
    delivered: u64,
    /// Without SACK: bytes that duplicate acknowledgments have reported in advance.
    in_advance: u64,
}

/// What of an acknowledgment, or of a timer, matters here.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Step {
    pub(super) acked: u64,
    pub(super) duplicate: bool,
    /// It showed a loss.
    pub(super) loss: bool,
}

impl Sender {
    /// How much more the windows of congestion control and recovery let out now.
    pub(super) fn room(&self, in_flight: u64) -> u64 {
        match self.course.prr {
            Some(prr) if self.recovery.in_recovery() => prr.allowance(),
            _ => self.congestion.window().saturating_sub(in_flight),
        }
    }

    /// Fast recovery begins. The acknowledgment that begins it is yet to be taken.
    pub(super) fn begin_reduction(&mut self) {
        let newly = self.ledger.delivered() - self.course.delivered;
        let outstanding = self.ledger.flight_size() - self.ledger.sacked().covered();
        let proportional =
            self.config.reduction == Reduction::Prr && self.congestion.reduces_proportionally();
        self.course.prr = proportional.then(|| Prr::new(outstanding + newly));
    }

    /// Fast recovery ends, or a timeout or an undone reduction has overtaken it. True if it was
    /// proportional.
    pub(super) fn end_reduction(&mut self) -> bool {
        self.course.prr.take().is_some()
    }

    /// A retransmission was lost. A proportional reduction answers by itself, as less is in flight.
    pub(super) fn reduce_again(&mut self, congested: &Congested) {
        if self.course.prr.is_none() {
            self.congestion.on_loss(congested);
        }
    }

    /// Takes an acknowledgment, or a timer's verdict, after recovery has judged it.
    pub(super) fn step_reduction(&mut self, step: Step) {
        let delivered = self.newly_delivered(&step);
        let in_flight = self.in_flight();
        if let Some(prr) = &mut self.course.prr {
            prr.on_ack(Progress {
                delivered,
                in_flight,
                ssthresh: self.congestion.ssthresh(),
                safe: step.acked > 0 && !step.loss,
                smss: self.config.smss,
            });
        }
    }

    pub(super) fn sent_in_reduction(&mut self, bytes: u64) {
        if let Some(prr) = &mut self.course.prr {
            prr.on_sent(bytes);
        }
    }

    /// RFC 9937, DeliveredData.
    fn newly_delivered(&mut self, step: &Step) -> u64 {
        let course = &mut self.course;
        let newly = self.ledger.delivered() - course.delivered;
        course.delivered = self.ledger.delivered();
        if self.config.algorithm.needs_sack() {
            return newly;
        }
        // Without SACK a duplicate stands for one segment, which the next acknowledgment of new
        // data then counts no second time.
        let reported = if step.duplicate {
            course.in_advance += self.config.smss;
            self.config.smss
        } else {
            let known = course.in_advance.min(newly);
            course.in_advance -= known;
            newly - known
        };
        if course.prr.is_none() && step.acked > 0 {
            // What the duplicates before it stood for has been acknowledged, or never was.
            course.in_advance = 0;
        }
        course.prr.map_or(reported, |prr| reported.min(prr.deliverable()))
    }
}

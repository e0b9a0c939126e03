//! NewReno without SACK (RFC 6582), with limited transmit (RFC 3042).
//!
//! RFC 5681 inflates the window by one segment for each duplicate acknowledgment, because each
//! says that a segment has left the network. Here the same is said where it belongs: the bytes
//! in flight are fewer by what duplicates have reported. Limited transmit follows by itself.
//!
//! The RFCs leave some things open; [`NewRenoVariant`] settles them.

use super::{AckSummary, DUP_THRESH, Episode, Recovery, Verdict, first_segment};
use crate::tcp::ledger::Ledger;
use crate::units::{Bytes, Offset};
use serde::{Deserialize, Serialize};

/// Which partial acknowledgments restart the retransmission timer (RFC 6582, section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartialTimer {
    /// All: one loss a round trip is repaired, however many there are (slow but steady).
    SlowButSteady,
    /// Only the first: many losses end in a timeout and slow start (RFC 6582, 3.2, step 3).
    Impatient,
}

/// The window after a full acknowledgment (RFC 6582, 3.2, step 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FullWindow {
    /// Option 1: no more than one segment above what is outstanding, so that no burst leaves.
    Limited,
    /// Option 2: ssthresh. A burst leaves if the peer's window held the sender back meanwhile.
    Ssthresh,
}

/// The window after a partial acknowledgment (RFC 6582, 3.2, step 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartialWindow {
    /// Smaller by what was acknowledged, but for a segment: as much stays in flight as before.
    Deflated,
    /// As it was, as in ns before RFC 2582: a burst leaves if much was acknowledged.
    Kept,
}

/// Which duplicates may begin a recovery after a timeout or an earlier one. Duplicates of what a
/// timeout has sent needlessly would begin a false fast retransmit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FalseRetransmits {
    /// Those of an acknowledgment of more than `recover` (RFC 6582; "careful" in RFC 2582).
    Careful,
    /// Those of an acknowledgment of all of `recover` as well ("less careful" in RFC 2582).
    LessCareful,
    /// Any, as in Reno.
    Permitted,
    /// Careful, but others as well if the cumulative acknowledgment has last moved by at most
    /// four segments, and the window is more than one: the duplicates of needless retransmissions
    /// follow an acknowledgment that jumped over what had arrived, those of a lost retransmission
    /// do not (RFC 6582, 4.1).
    AckHeuristic,
    /// Careful, but others as well if the last acknowledgment of new data echoed the timestamp of
    /// the last segment that it acknowledged: one that jumped echoes an older one (RFC 6582, 4.2).
    /// Of two segments that one acknowledgment covers, receivers echo the first: unless both left
    /// in one tick, and without timestamps of our own clock, this is just careful.
    TimestampHeuristic,
}

/// What the RFCs leave to the implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewRenoVariant {
    /// The retransmission timer.
    pub partial_timer: PartialTimer,
    /// The window after a partial acknowledgment.
    pub partial_window: PartialWindow,
    /// The window at the end of recovery.
    pub full_window: FullWindow,
    /// Avoidance of false fast retransmits.
    pub false_retransmits: FalseRetransmits,
}

impl NewRenoVariant {
    /// Slow but steady and careful, without a burst.
    pub const STEADY: NewRenoVariant = NewRenoVariant {
        partial_timer: PartialTimer::SlowButSteady,
        partial_window: PartialWindow::Deflated,
        full_window: FullWindow::Limited,
        false_retransmits: FalseRetransmits::Careful,
    };
}

/// See the module's head.
#[derive(Debug, Serialize, Deserialize)]
pub struct NewReno {
    variant: NewRenoVariant,
    dup_acks: u32,
    /// Bytes that duplicate acknowledgments say have left the network.
    left_network: Bytes,
    in_recovery: bool,
    /// A partial acknowledgment has come in this episode.
    partial: bool,
    /// One past RFC 6582's `recover`: the end of what was outstanding at the last loss. None
    /// before the first.
    recover: Option<Offset>,
    /// What it was before this episode.
    recover_before: Option<Offset>,
    /// The last acknowledgment of new data; none since a timeout.
    last_advance: Option<Advance>,
}

/// How the cumulative acknowledgment has moved.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Advance {
    /// highest_ack − prev_highest_ack.
    bytes: Bytes,
    /// It echoed the timestamp of the last segment that it acknowledged.
    echoes_last: bool,
}

impl NewReno {
    /// Before any loss.
    pub fn new(variant: NewRenoVariant) -> NewReno {
        NewReno {
            variant,
            dup_acks: 0,
            left_network: Bytes::ZERO,
            in_recovery: false,
            partial: false,
            recover: None,
            recover_before: None,
            last_advance: None,
        }
    }

    /// RFC 6582, 3.2, step 1: whether duplicates of this acknowledgment may begin a recovery.
    fn may_enter(&self, una: Offset, smss: Bytes) -> bool {
        let Some(recover) = self.recover else { return true };
        // RFC 6582's heuristics also ask for a window of more than one segment. It is, once an
        // acknowledgment has come since the timeout; so recovery need not see the window.
        let advance = self.last_advance;
        match self.variant.false_retransmits {
            FalseRetransmits::Careful => una > recover,
            FalseRetransmits::LessCareful => una >= recover,
            FalseRetransmits::Permitted => true,
            FalseRetransmits::AckHeuristic => {
                una > recover || advance.is_some_and(|advance| advance.bytes <= 4 * smss)
            }
            FalseRetransmits::TimestampHeuristic => {
                una > recover || advance.is_some_and(|advance| advance.echoes_last)
            }
        }
    }
}

impl Default for NewReno {
    fn default() -> NewReno {
        NewReno::new(NewRenoVariant::STEADY)
    }
}

impl Recovery for NewReno {
    fn on_ack(&mut self, facts: &AckSummary, ledger: &Ledger) -> Verdict {
        let recover_reached = self.recover.is_none_or(|recover| ledger.snd_una() >= recover);
        if facts.delivered.acked > Bytes::ZERO {
            self.dup_acks = 0;
            let echoes_last = facts.echoes_last;
            self.last_advance = Some(Advance { bytes: facts.delivered.acked, echoes_last });
            if !self.in_recovery {
                self.left_network = Bytes::ZERO;
                return Verdict::default();
            }
            if recover_reached {
                // RFC 6582, 3.2, step 3: full acknowledgment.
                self.in_recovery = false;
                self.left_network = Bytes::ZERO;
                let episode = match self.variant.full_window {
                    FullWindow::Limited => Episode::Exit,
                    FullWindow::Ssthresh => Episode::Deflate,
                };
                return Verdict { episode, ..Verdict::default() };
            }
            // Step 3: partial acknowledgment. Deflate by what was acknowledged; if that is a
            // segment at least, add back SMSS.
            if self.variant.partial_window == PartialWindow::Deflated {
                let back =
                    if facts.delivered.acked >= facts.smss { facts.smss } else { Bytes::ZERO };
                self.left_network = self.left_network.saturating_sub(facts.delivered.acked - back);
            }
            let first = !std::mem::replace(&mut self.partial, true);
            return Verdict {
                lost: vec![first_segment(ledger, facts.smss)],
                retransmit_now: true,
                keep_timer: !first && self.variant.partial_timer == PartialTimer::Impatient,
                ..Verdict::default()
            };
        }
        if !facts.duplicate {
            return Verdict::default();
        }
        self.dup_acks += 1;
        let may_enter = self.may_enter(ledger.snd_una(), facts.smss);
        if self.in_recovery || may_enter || self.dup_acks < DUP_THRESH {
            // Outside recovery limited transmit stops at two segments (RFC 3042). One segment at
            // least is missing, however many duplicates come (RFC 5681, 3.2, step 4, last words).
            let max = ledger.flight_size().saturating_sub(facts.smss);
            self.left_network = (self.left_network + facts.smss).min(max);
        }
        if self.dup_acks == DUP_THRESH && !self.in_recovery && may_enter {
            self.in_recovery = true;
            self.partial = false;
            self.recover_before = self.recover.replace(ledger.snd_nxt());
            return Verdict::fast_retransmit(ledger, facts.smss);
        }
        Verdict::default()
    }

    fn on_timeout(&mut self, ledger: &Ledger) {
        // Step 4: exit fast recovery, remember what was outstanding.
        *self = NewReno { recover: Some(ledger.snd_nxt()), ..NewReno::new(self.variant) };
    }

    fn on_undo(&mut self, _ledger: &Ledger) {
        // After a timeout `recover` stays: the duplicates of what was retransmitted are still to
        // come.
        let recover = if self.in_recovery { self.recover_before } else { self.recover };
        *self = NewReno { recover, ..NewReno::new(self.variant) };
    }

    fn in_recovery(&self) -> bool {
        self.in_recovery
    }

    fn in_flight(&self, ledger: &Ledger) -> Bytes {
        ledger.pipe().saturating_sub(self.left_network)
    }
}

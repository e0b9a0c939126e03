//! NewReno without SACK (RFC 6582), with limited transmit (RFC 3042).
//!
//! RFC 5681 inflates the window by one segment for each duplicate acknowledgment, because each
//! says that a segment has left the network. Here the same is said where it belongs: the bytes
//! in flight are fewer by what duplicates have reported. Limited transmit follows by itself.
//!
//! The RFCs leave three things open; [`NewRenoVariant`] settles them. Of RFC 6582's section 4.1 and
//! 4.2, the heuristics that tell a lost retransmission from a false fast retransmit are not here.

use super::{AckFacts, DUP_THRESH, Episode, Recovery, Verdict, first_segment};
use crate::tcp::ledger::Ledger;

/// Which partial acknowledgments restart the retransmission timer (RFC 6582, section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartialTimer {
    /// All: one loss a round trip is repaired, however many there are (slow but steady).
    SlowButSteady,
    /// Only the first: many losses end in a timeout and slow start (RFC 6582, 3.2, step 3).
    Impatient,
}

/// The window after a full acknowledgment (RFC 6582, 3.2, step 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FullWindow {
    /// Option 1: no more than one segment above what is outstanding, so that no burst leaves.
    Limited,
    /// Option 2: ssthresh. A burst leaves if the peer's window held the sender back meanwhile.
    Ssthresh,
}

/// Which duplicates may begin a recovery after a timeout or an earlier one. Duplicates of what a
/// timeout has sent needlessly would begin a false fast retransmit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FalseRetransmits {
    /// Those of an acknowledgment of more than `recover` (RFC 6582; "careful" in RFC 2582).
    Careful,
    /// Those of an acknowledgment of all of `recover` as well ("less careful" in RFC 2582).
    LessCareful,
    /// Any, as in Reno.
    Permitted,
}

/// What the RFCs leave to the implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewRenoVariant {
    /// The retransmission timer.
    pub partial_timer: PartialTimer,
    /// The window at the end of recovery.
    pub full_window: FullWindow,
    /// Avoidance of false fast retransmits.
    pub false_retransmits: FalseRetransmits,
}

impl NewRenoVariant {
    /// Slow but steady and careful, without a burst.
    pub const STEADY: NewRenoVariant = NewRenoVariant {
        partial_timer: PartialTimer::SlowButSteady,
        full_window: FullWindow::Limited,
        false_retransmits: FalseRetransmits::Careful,
    };
}

/// See the module's head.
#[derive(Debug)]
pub struct NewReno {
    variant: NewRenoVariant,
    dup_acks: u32,
    /// Bytes that duplicate acknowledgments say have left the network.
    left_network: u64,
    in_recovery: bool,
    /// A partial acknowledgment has come in this episode.
    partial: bool,
    /// One past RFC 6582's `recover`: the end of what was outstanding at the last loss. None
    /// before the first.
    recover: Option<u64>,
}

impl NewReno {
    /// Before any loss.
    pub fn new(variant: NewRenoVariant) -> NewReno {
        NewReno {
            variant,
            dup_acks: 0,
            left_network: 0,
            in_recovery: false,
            partial: false,
            recover: None,
        }
    }

    /// RFC 6582, 3.2, step 1: whether duplicates of this acknowledgment may begin a recovery.
    fn may_enter(&self, una: u64) -> bool {
        self.recover.is_none_or(|recover| match self.variant.false_retransmits {
            FalseRetransmits::Careful => una > recover,
            FalseRetransmits::LessCareful => una >= recover,
            FalseRetransmits::Permitted => true,
        })
    }
}

impl Default for NewReno {
    fn default() -> NewReno {
        NewReno::new(NewRenoVariant::STEADY)
    }
}

impl Recovery for NewReno {
    fn on_ack(&mut self, facts: &AckFacts, ledger: &Ledger) -> Verdict {
        let recover_reached = self.recover.is_none_or(|recover| ledger.snd_una() >= recover);
        if facts.acked > 0 {
            self.dup_acks = 0;
            if !self.in_recovery {
                self.left_network = 0;
                return Verdict::default();
            }
            if recover_reached {
                // RFC 6582, 3.2, step 3: full acknowledgment.
                self.in_recovery = false;
                self.left_network = 0;
                let episode = match self.variant.full_window {
                    FullWindow::Limited => Episode::Exit,
                    FullWindow::Ssthresh => Episode::Deflate,
                };
                return Verdict { episode, ..Verdict::default() };
            }
            // Step 3: partial acknowledgment. Deflate by what was acknowledged; if that is a
            // segment at least, add back SMSS.
            let back = if facts.acked >= facts.smss { facts.smss } else { 0 };
            self.left_network = self.left_network.saturating_sub(facts.acked - back);
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
        let may_enter = self.may_enter(ledger.snd_una());
        if self.in_recovery || may_enter || self.dup_acks < DUP_THRESH {
            // Outside recovery limited transmit stops at two segments (RFC 3042). One segment at
            // least is missing, however many duplicates come (RFC 5681, 3.2, step 4, last words).
            let most = ledger.flight_size().saturating_sub(facts.smss);
            self.left_network = (self.left_network + facts.smss).min(most);
        }
        if self.dup_acks == DUP_THRESH && !self.in_recovery && may_enter {
            self.in_recovery = true;
            self.partial = false;
            self.recover = Some(ledger.snd_nxt());
            return Verdict {
                lost: vec![first_segment(ledger, facts.smss)],
                episode: Episode::Enter,
                retransmit_now: true,
                ..Verdict::default()
            };
        }
        Verdict::default()
    }

    fn on_timeout(&mut self, ledger: &Ledger) {
        // Step 4: exit fast recovery, remember what was outstanding.
        *self = NewReno { recover: Some(ledger.snd_nxt()), ..NewReno::new(self.variant) };
    }

    fn in_recovery(&self) -> bool {
        self.in_recovery
    }

    fn in_flight(&self, ledger: &Ledger) -> u64 {
        ledger.pipe().saturating_sub(self.left_network)
    }
}

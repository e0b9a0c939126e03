//! Loss recovery: what is lost, what to send next, how much is in flight.
//!
//! A [`Recovery`] reads the [`Ledger`]'s facts and returns decisions; the sender applies them.
//! It never sees the congestion window. One file an algorithm.

mod algorithm;
mod fack;
mod newreno;
mod rack;
mod reno;
mod sack;
mod sack_reno;
mod tahoe;
#[cfg(test)]
mod tests;

pub use algorithm::RecoveryAlgorithm;
pub use fack::Fack;
pub use newreno::{
    FalseRetransmits, FullWindow, NewReno, NewRenoVariant, PartialTimer, PartialWindow,
};
pub use rack::Rack;
pub use reno::Reno;
pub use sack::Sack;
pub use sack_reno::SackReno;
pub use tahoe::Tahoe;

use super::cause::Cause;
use super::ledger::{Delivered, Ledger};
use crate::snapshot::Snapshot;
use crate::time::{Duration, Instant};
use crate::units::{Bytes, Offset};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// The number of duplicate acknowledgments that make a loss (RFC 5681): three.
pub const DUP_THRESH: u32 = 3;

/// The path's times as measured so far.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// The minimum round-trip time seen.
    pub min_rtt: Option<Duration>,
    /// The smoothed deviation of round-trip times.
    pub rttvar: Duration,
    /// The retransmission timeout.
    pub rto: Duration,
}

/// What one acknowledgment said, after the ledger has taken it.
#[derive(Debug, Clone)]
pub struct AckSummary {
    /// When it came.
    pub now: Instant,
    /// What it has changed in the ledger.
    pub delivered: Delivered,
    /// A duplicate acknowledgment as RFC 5681 defines it.
    pub duplicate: bool,
    /// It says what the last one said, whether or not anything was outstanding.
    pub repeated: bool,
    /// What the peer reports to have received twice (RFC 2883).
    pub dsack: Option<Range<Offset>>,
    /// It echoes the timestamp of the last segment that it newly acknowledges.
    pub echoes_last: bool,
    /// The path's times, this measurement included.
    pub timing: Timing,
    /// Sender maximum segment size, in bytes.
    pub smss: Bytes,
}

impl AckSummary {
    /// The round trip of the latest retransmission that it reports. If that is less than the
    /// minimum, the retransmission has not arrived: it is the original that was acknowledged (RFC
    /// 8985, 6.2, step 2).
    pub fn rtt_again(&self) -> Option<Duration> {
        let (sent_at, _) = self.delivered.arrived.again?;
        let rtt = self.now.saturating_since(sent_at);
        self.timing.min_rtt.is_none_or(|min| rtt >= min).then_some(rtt)
    }
}

/// A segment that has just left.
#[derive(Debug, Clone)]
pub struct SentFacts {
    /// When.
    pub now: Instant,
    /// Its offsets, the FIN counted.
    pub range: Range<Offset>,
    /// It was sent before.
    pub again: bool,
    /// The path's times.
    pub timing: Timing,
    /// Sender maximum segment size, in bytes.
    pub smss: Bytes,
}

/// Whether an acknowledgment or a timer begins or ends an episode of loss recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Episode {
    /// Nothing changes.
    #[default]
    Unchanged,
    /// A loss was found: the congestion window is to be reduced, once for the episode.
    Enter,
    /// A loss was found, and sending begins anew with one segment (Tahoe).
    Restart,
    /// All that was outstanding at the beginning has been acknowledged. No burst follows: the
    /// window is at most one segment above what is outstanding.
    Exit,
    /// A loss was found that a probe has repaired already (RFC 8985, 7.4): the congestion window
    /// is to be reduced, and that is all.
    Repaired,
    /// A retransmission of this episode was lost: a second sign of congestion, to be answered by a
    /// second reduction unless the first is proportional (RFC 8985, 9.3).
    LostAgain,
    /// Recovery is over and the window is the slow start threshold, whatever is outstanding
    /// (RFC 5681, 3.2, step 6).
    Deflate,
}

/// Which segment is sent to bring an acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Probe {
    /// New data, or else the last segment again (RFC 8985, 7.3).
    Last,
    /// The first that is outstanding.
    First,
}

/// What recovery concludes from an acknowledgment or a timer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Offsets that are lost from now on (what of them is sacked is not).
    pub lost: Vec<Range<Offset>>,
    /// Begin or end of an episode.
    pub episode: Episode,
    /// The first lost segment is to be retransmitted whatever the window says.
    pub retransmit_now: bool,
    /// A segment is to be sent whatever the window says, to bring an acknowledgment.
    pub probe: Option<Probe>,
    /// This acknowledgment does not restart the retransmission timer.
    pub keep_timer: bool,
    /// The retransmission timer runs anew from now (RFC 8985, 7.3).
    pub restart_timer: bool,
}

impl Verdict {
    /// Asks for nothing, but perhaps for the timer to run on.
    #[inline]
    pub fn is_idle(&self) -> bool {
        let Verdict { lost, episode, retransmit_now, probe, keep_timer: _, restart_timer } = self;
        lost.is_empty()
            && *episode == Episode::Unchanged
            && !(*retransmit_now || probe.is_some() || *restart_timer)
    }

    /// Fast retransmit without SACK: the first segment is lost, and an episode begins.
    fn fast_retransmit(ledger: &Ledger, smss: Bytes) -> Verdict {
        Verdict {
            lost: vec![first_segment(ledger, smss)],
            episode: Episode::Enter,
            retransmit_now: true,
            ..Verdict::default()
        }
    }
}

/// What to send next, if the window allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Send this part of the stream again, and why.
    Again(Range<Offset>, Cause),
    /// Send new data.
    New,
    /// Send nothing.
    Nothing,
}

/// A loss recovery algorithm.
pub trait Recovery: fmt::Debug + Snapshot + Send {
    /// Judges an acknowledgment that the ledger has taken.
    fn on_ack(&mut self, facts: &AckSummary, ledger: &Ledger) -> Verdict;

    /// What is lost because the retransmission timer has expired: all that is outstanding, unless
    /// the algorithm knows better. The first segment is always among it.
    fn lost_by_timeout(&self, _now: Instant, ledger: &Ledger) -> Vec<Range<Offset>> {
        vec![ledger.snd_una()..ledger.snd_nxt()]
    }

    /// The retransmission timer expired, and the ledger knows what is lost.
    fn on_timeout(&mut self, ledger: &Ledger);

    /// The last reduction was undone: nothing had been lost, and the ledger knows that. What it
    /// still holds lost was retransmitted.
    fn on_undo(&mut self, ledger: &Ledger);

    /// A segment has left; the ledger knows it.
    fn on_sent(&mut self, _sent: &SentFacts, _ledger: &Ledger) {}

    /// When [`Recovery::on_timer`] wants to be called, if ever.
    fn poll_timer(&self) -> Option<Instant> {
        None
    }

    /// A timer of the algorithm itself has expired.
    fn on_timer(&mut self, _now: Instant, _timing: &Timing, _ledger: &Ledger) -> Verdict {
        Verdict::default()
    }

    /// Whether an episode of fast recovery is under way.
    fn in_recovery(&self) -> bool;

    /// Bytes held to be in the network.
    fn in_flight(&self, ledger: &Ledger) -> Bytes {
        ledger.pipe()
    }

    /// Why a hole is retransmitted that is not the first of its episode.
    fn cause(&self) -> Cause {
        if self.in_recovery() { Cause::FastRecovery } else { Cause::AfterTimeout }
    }

    /// What to send next. `new_data` tells whether there is any that the peer's window allows.
    fn next(&self, ledger: &Ledger, new_data: bool, smss: Bytes) -> Next {
        match ledger.first_lost(smss) {
            Some(range) => Next::Again(range, self.cause()),
            None if new_data => Next::New,
            None => Next::Nothing,
        }
    }
}

/// What so many duplicate acknowledgments without SACK say has left the network, before they begin
/// a recovery: two segments at most (RFC 3042). One at least is missing, however many duplicates
/// come.
fn left_before_recovery(dup_acks: u32, ledger: &Ledger, smss: Bytes) -> Bytes {
    let reported = u64::from(dup_acks.min(DUP_THRESH - 1)) * smss;
    reported.min(ledger.flight_size().saturating_sub(smss))
}

/// The first outstanding segment: all that a duplicate acknowledgment without SACK tells of.
fn first_segment(ledger: &Ledger, smss: Bytes) -> Range<Offset> {
    let una = ledger.snd_una();
    una..(una + smss).min(ledger.snd_nxt())
}

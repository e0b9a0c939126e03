//! Probes: when acknowledgments stay away, a segment is sent to bring one, so that RACK can judge.
//!
//! - **Tail loss probes** (RFC 8985, section 7): one, after two round trips, outside recovery only.
//! - **Probe timeouts** after QUIC's (RFC 9002, section 6.2): after a round trip, its variation and
//!   what a receiver may wait; also in recovery, where a retransmission may have been the last
//!   segment in flight. Three in a row without a back-off, then the retransmission timer has its
//!   turn.
//! - **None**: the retransmission timer alone ends a silence.

use crate::tcp::ledger::Ledger;
use crate::tcp::recovery::{AckSummary, Probe as Kind, SentFacts, Timing};
use crate::time::{Duration, Instant};
use crate::units::{Bytes, Offset};
use serde::{Deserialize, Serialize};

/// The probe that is on its way.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Probe {
    /// TLP.end_seq: SND.NXT when it left.
    end: Offset,
    /// TLP.is_retrans.
    again: bool,
}

/// When probes are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) enum Style {
    /// RFC 8985.
    #[default]
    TailLoss,
    /// RFC 9002.
    Timeout,
    /// None is ever scheduled.
    Never,
}

/// See the module's head.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Probes {
    style: Style,
    /// Probe timeouts since RACK heard of something delivered.
    expired: u32,
    last_sent: Instant,
    probe: Option<Probe>,
    /// A probe has been asked for and not yet been sent.
    asked: bool,
    /// No round-trip time was measured since the last probe.
    unmeasured: bool,
    timer: Option<Instant>,
    /// Since when the retransmission timer runs, after which no probe is of use.
    rto_from: Option<Instant>,
}

impl Probes {
    /// TLP.max_ack_delay: how long a receiver may keep the acknowledgment of a lone segment.
    const MAX_ACK_DELAY: Duration = Duration::from_millis(200);

    /// max_ack_delay of RFC 9002: of all others, by what Linux and we do.
    const ACK_DELAY: Duration = Duration::from_millis(40);

    /// Probe timeouts in a row; more are the retransmission timer's.
    const IN_A_ROW: u32 = 3;

    pub(super) fn new(style: Style) -> Probes {
        Probes { style, ..Probes::default() }
    }

    /// Whether one may be scheduled, `open`: outside recovery. RFC 8985, 7.2, wants nothing sacked
    /// either.
    pub(super) fn may_be_sent(&self, open: bool, ledger: &Ledger) -> bool {
        match self.style {
            Style::TailLoss => {
                open && ledger.sacked().is_empty() && ledger.flight_size() > Bytes::ZERO
            }
            Style::Timeout => self.expired < Self::IN_A_ROW && ledger.pipe() > Bytes::ZERO,
            Style::Never => false,
        }
    }

    pub(super) fn poll_timer(&self) -> Option<Instant> {
        self.timer
    }

    pub(super) fn disarm(&mut self) {
        self.timer = None;
    }

    /// 7.1: fast recovery begins; the probe that found the loss is no repair of it.
    pub(super) fn init(&mut self) {
        self.probe = None;
        self.asked = false;
    }

    /// 7.1: the retransmission timer has expired.
    pub(super) fn time_out(&mut self) {
        self.init();
        self.expired = Self::IN_A_ROW;
        self.timer = None;
        self.rto_from = None;
    }

    /// 7.2: TLP_calc_PTO; or RFC 9002, 6.2.1.
    pub(super) fn schedule(&mut self, now: Instant, timing: &Timing, ledger: &Ledger, smss: Bytes) {
        let lone = ledger.flight_size() <= smss;
        // One that is over was set anew meanwhile, for another size of segments or after a mark.
        let rto_expiration = self.rto_from.map(|from| from + timing.rto);
        let rto_expiration = rto_expiration.filter(|at| *at > now).unwrap_or(now + timing.rto);
        let due = match (self.style, timing.srtt) {
            (_, None) => (now + Duration::from_secs(1)).min(rto_expiration),
            (Style::TailLoss | Style::Never, Some(srtt)) => {
                let delay = if lone { Self::MAX_ACK_DELAY } else { Duration::ZERO };
                (now + srtt * 2 + delay).min(rto_expiration)
            }
            (Style::Timeout, Some(srtt)) => {
                let delay = if lone { Self::MAX_ACK_DELAY } else { Self::ACK_DELAY };
                self.last_sent + srtt + (timing.rttvar * 4).max(srtt / 8) + delay
            }
        };
        self.timer = Some(due.max(now));
    }

    pub(super) fn on_sent(&mut self, sent: &SentFacts, ledger: &Ledger, may_probe: bool) {
        self.rto_from.get_or_insert(sent.now);
        self.last_sent = sent.now;
        let timeouts = self.style == Style::Timeout;
        if self.asked {
            self.asked = false;
            self.unmeasured = true;
            self.timer = None;
            // In the middle of the window it repairs nothing unseen.
            if sent.range.end == ledger.snd_nxt() {
                self.probe = Some(Probe { end: ledger.snd_nxt(), again: sent.again });
            }
            if !timeouts {
                return;
            }
        }
        if may_probe && (timeouts || !sent.again) {
            self.schedule(sent.now, &sent.timing, ledger, sent.smss);
        }
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.timer.is_some_and(|due| due <= now)
    }

    /// The timer has expired, `open`: outside recovery. Which probe is to be sent, if any. A tail
    /// loss probe is (7.3) if no other is in flight, and the round-trip time was measured since the
    /// last, or since the beginning.
    pub(super) fn expire(
        &mut self,
        now: Instant,
        open: bool,
        timing: &Timing,
        ledger: &Ledger,
    ) -> Option<Kind> {
        self.timer = None;
        self.rto_from = Some(now);
        let known = timing.srtt.is_some();
        self.asked = ledger.flight_size() > Bytes::ZERO
            && match self.style {
                Style::TailLoss | Style::Never => self.probe.is_none() && known && !self.unmeasured,
                Style::Timeout => {
                    self.expired += 1;
                    known
                }
            };
        // In recovery the first segment's retransmission may be lost, and it moves on what was
        // received.
        let kind = if open && ledger.sacked().is_empty() { Kind::Last } else { Kind::First };
        self.asked.then_some(kind)
    }

    /// An acknowledgment, of which RACK `has_learned`. By one of which it has not probes would go
    /// on, one answered segment each, while the rest is never found lost: the retransmission timer
    /// finds it.
    pub(super) fn note_ack(&mut self, facts: &AckSummary, ledger: &Ledger, has_learned: bool) {
        self.asked = false;
        self.unmeasured &= facts.delivered.rtt.is_none();
        if facts.delivered.acked + facts.delivered.sacked > Bytes::ZERO && has_learned {
            self.expired = 0;
        }
        if facts.delivered.acked > Bytes::ZERO {
            self.rto_from = (ledger.flight_size() > Bytes::ZERO).then_some(facts.now);
        }
    }

    /// 7.4.2: whether the acknowledgment shows that the probe has repaired a loss, which
    /// congestion control must hear of.
    pub(super) fn process_ack(&mut self, facts: &AckSummary, ledger: &Ledger) -> bool {
        let una = ledger.snd_una();
        let Some(probe) = self.probe.filter(|probe| una >= probe.end) else { return false };
        let came_twice = facts.dsack.as_ref().is_some_and(|dsack| dsack.end == probe.end);
        if !probe.again || came_twice {
            self.probe = None;
            return false;
        }
        let beyond = una > probe.end;
        if beyond || facts.repeated && ledger.sacked().is_empty() {
            self.probe = None;
        }
        beyond
    }
}

//! Tail loss probes (RFC 8985, section 7): when acknowledgments stay away for two round trips,
//! one segment is sent to bring one, so that RACK can judge.

use crate::tcp::ledger::Ledger;
use crate::tcp::recovery::{AckFacts, SentFacts, Timing};
use crate::time::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// The probe that is on its way.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Probe {
    /// TLP.end_seq: SND.NXT when it left.
    end: u64,
    /// TLP.is_retrans.
    again: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Tlp {
    probe: Option<Probe>,
    /// A probe has been asked for and not yet been sent.
    asked: bool,
    /// No round-trip time was measured since the last probe.
    unmeasured: bool,
    timer: Option<Instant>,
    /// Since when the retransmission timer runs, after which no probe is of use.
    rto_from: Option<Instant>,
}

impl Tlp {
    /// TLP.max_ack_delay: how long a receiver may keep the acknowledgment of a lone segment.
    const MAX_ACK_DELAY: Duration = Duration::from_millis(200);

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
        self.timer = None;
        self.rto_from = None;
    }

    /// 7.2: TLP_calc_PTO.
    pub(super) fn schedule(&mut self, now: Instant, timing: &Timing, ledger: &Ledger, smss: u64) {
        let mut pto = timing.srtt.map_or(Duration::from_secs(1), |srtt| srtt * 2);
        if timing.srtt.is_some() && ledger.flight_size() <= smss {
            pto += Self::MAX_ACK_DELAY;
        }
        let rto_expiration = self.rto_from.unwrap_or(now) + timing.rto;
        self.timer = Some((now + pto).min(rto_expiration).max(now));
    }

    pub(super) fn on_sent(&mut self, sent: &SentFacts, ledger: &Ledger, may_probe: bool) {
        self.rto_from.get_or_insert(sent.now);
        if self.asked {
            self.asked = false;
            self.unmeasured = true;
            self.probe = Some(Probe { end: ledger.snd_nxt(), again: sent.again });
            self.timer = None;
        } else if !sent.again && may_probe {
            self.schedule(sent.now, &sent.timing, ledger, sent.smss);
        }
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.timer.is_some_and(|due| due <= now)
    }

    /// The timer has expired. Whether a probe is to be sent (7.3): no other is in flight, and the
    /// round-trip time was measured since the last, or since the beginning.
    pub(super) fn expire(&mut self, now: Instant, timing: &Timing, ledger: &Ledger) -> bool {
        self.timer = None;
        self.rto_from = Some(now);
        let measured = !self.unmeasured && timing.srtt.is_some();
        self.asked = self.probe.is_none() && measured && ledger.flight_size() > 0;
        self.asked
    }

    pub(super) fn note_ack(&mut self, facts: &AckFacts, ledger: &Ledger) {
        self.asked = false;
        self.unmeasured &= facts.rtt.is_none();
        if facts.acked > 0 {
            self.rto_from = (ledger.flight_size() > 0).then_some(facts.now);
        }
    }

    /// 7.4.2: whether the acknowledgment shows that the probe has repaired a loss, which
    /// congestion control must hear of.
    pub(super) fn process_ack(&mut self, facts: &AckFacts, ledger: &Ledger) -> bool {
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

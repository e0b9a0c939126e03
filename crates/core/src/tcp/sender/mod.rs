//! The sending half: what of a stream goes out when (RFC 9293, 3.8; RFC 5681; RFC 6298).
//!
//! The sender knows offsets, not bytes: whoever holds the stream's buffer says how far it has
//! been written ([`Sender::extend`], [`Sender::finish`]) and fetches the bytes of what
//! [`Sender::poll_transmit`] names. Offsets below [`Sender::snd_una`] may be released.
//!
//! Drain order: after [`Sender::on_ack`] or [`Sender::on_timer`], call `poll_transmit` until it
//! gives nothing, then [`Sender::poll_timer`].

mod config;
mod ecn;
mod reduction;
#[cfg(test)]
mod tests;
mod timers;
mod transmit;

pub use config::{InitialWindow, SenderConfig};
pub use reduction::Reduction;
pub use transmit::Transmission;

use super::congestion::{Acked, Congested, Congestion};
use super::ledger::Ledger;
use super::pacing::Pacer;
use super::recovery::{AckFacts, Episode, Recovery, Timing, Verdict};
use super::rtt::RttEstimator;
use crate::time::{Duration, Instant};
use arrayvec::ArrayVec;
use std::ops::Range;

/// An acknowledgment, in offsets.
#[derive(Debug, Clone)]
pub struct Ack<'a> {
    /// Sequence number of the segment that carries it, in the peer's stream (for SND.WL1).
    pub segment: u64,
    /// The next offset that the peer expects. The caller has checked that it is not above
    /// [`Sender::snd_nxt`].
    pub ack: u64,
    /// The window behind `ack`, scaled to bytes.
    pub window: u64,
    /// SACK blocks as they came, DSACKs and nonsense included.
    pub sack: &'a [Range<u64>],
    /// Whether the segment carries data, SYN or FIN (then it is no duplicate acknowledgment).
    pub occupies: bool,
}

/// What an acknowledgment changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AckOutcome {
    /// Bytes newly acknowledged; they may be released.
    pub acked: u64,
    /// A round-trip time was measured.
    pub rtt: Option<Duration>,
}

/// Counters of one sender.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Segments sent, super-segments counted once.
    pub segments: u64,
    /// Bytes sent again.
    pub retransmitted_bytes: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Episodes of fast recovery.
    pub recoveries: u64,
}

/// The sending half of a connection or of a gateway's leg.
#[derive(Debug)]
pub struct Sender {
    config: SenderConfig,
    ledger: Ledger,
    recovery: Box<dyn Recovery>,
    congestion: Box<dyn Congestion>,
    course: reduction::Course,
    rtt: RttEstimator,
    pacer: Pacer,
    /// One past the last byte written to the stream.
    end: u64,
    /// The stream ends at `end` with a FIN.
    finished: bool,
    /// SND.UNA + SND.WND: one past the last offset that the peer allows.
    window_edge: u64,
    /// The largest window that the peer has offered.
    max_window: u64,
    /// SND.WL1 and SND.WL2.
    last_window_update: (u64, u64),
    rto_deadline: Option<Instant>,
    /// SND.UNA when the retransmission timer last expired.
    timed_out_at: Option<u64>,
    persist: Option<timers::Persist>,
    /// What must leave whatever the congestion window says.
    forced: Option<transmit::Forced>,
    /// Timer expiries since the peer was last heard of.
    unanswered: u32,
    last_sent: Option<Instant>,
    /// Round trips so far, and the offset whose acknowledgment ends this one.
    round: (u64, u64),
    /// The congestion window was what stopped the last transmission.
    window_limited: bool,
    /// Pacing was.
    paced_out: bool,
    stats: SenderStats,
}

impl Sender {
    /// A sender whose next byte is at offset `start`, towards a peer that has offered `window`
    /// bytes, after a handshake that took `rtt`.
    pub fn new(config: SenderConfig, start: u64, window: u64, rtt: Option<Duration>) -> Sender {
        let mut estimator = RttEstimator::new(config.rto);
        if let Some(rtt) = rtt {
            estimator.sample(rtt);
        }
        Sender {
            ledger: Ledger::new(start),
            recovery: config.algorithm.recovery(),
            congestion: config.congestion(),
            course: reduction::Course::default(),
            rtt: estimator,
            pacer: Pacer::default(),
            end: start,
            finished: false,
            window_edge: start + window,
            max_window: window,
            last_window_update: (0, start),
            rto_deadline: None,
            timed_out_at: None,
            persist: None,
            forced: None,
            unanswered: 0,
            last_sent: None,
            round: (0, start),
            window_limited: false,
            paced_out: false,
            stats: SenderStats::default(),
            config,
        }
    }

    /// The oldest unacknowledged offset.
    pub fn snd_una(&self) -> u64 {
        self.ledger.snd_una()
    }

    /// The next offset to be sent for the first time.
    pub fn snd_nxt(&self) -> u64 {
        self.ledger.snd_nxt()
    }

    /// One past the last offset that the peer allows.
    pub fn window_edge(&self) -> u64 {
        self.window_edge
    }

    /// The largest window that the peer has offered, in bytes.
    pub fn max_window(&self) -> u64 {
        self.max_window
    }

    /// Sender maximum segment size, in bytes.
    pub fn smss(&self) -> u64 {
        self.config.smss
    }

    /// The congestion window, in bytes.
    pub fn cwnd(&self) -> u64 {
        self.congestion.window()
    }

    /// The slow start threshold, in bytes.
    pub fn ssthresh(&self) -> u64 {
        self.congestion.ssthresh()
    }

    /// Bytes held to be in the network.
    pub fn in_flight(&self) -> u64 {
        self.recovery.in_flight(&self.ledger)
    }

    /// The round-trip time estimator.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Counters.
    pub fn stats(&self) -> SenderStats {
        SenderStats { retransmitted_bytes: self.ledger.retransmitted_bytes(), ..self.stats }
    }

    /// Bytes that this sender would keep in the network now: what it has to send, within its
    /// congestion window.
    pub fn demand(&self) -> u64 {
        (self.end.saturating_sub(self.snd_una())).min(self.cwnd())
    }

    /// Sending begins, anew or after a silence, on a path that others fill too: use no more than
    /// `window` bytes (at least one segment) until acknowledgments come.
    pub fn begin_within(&mut self, window: u64) {
        self.congestion.begin_within(window.max(self.config.smss));
    }

    /// The stream has been written up to `end` (exclusive).
    pub fn extend(&mut self, end: u64) {
        debug_assert!(!self.finished || end == self.end, "a finished stream does not grow");
        self.end = self.end.max(end);
    }

    /// The stream ends where it has been written to: a FIN follows the last byte.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// Whether all that was written, FIN included, has been acknowledged.
    pub fn is_done(&self) -> bool {
        self.snd_una() == self.stream_end()
    }

    /// Whether the FIN has been sent and acknowledged.
    pub fn fin_acked(&self) -> bool {
        self.finished && self.is_done()
    }

    /// Whether the peer has left too many retransmissions or probes without any answer
    /// (RFC 9293, 3.8.3: R2).
    pub fn gave_up(&self) -> bool {
        self.unanswered > self.config.max_unanswered
    }

    /// One past the last offset to be sent, the FIN counted.
    fn stream_end(&self) -> u64 {
        self.end + u64::from(self.finished)
    }

    /// Takes an acknowledgment.
    pub fn on_ack(&mut self, now: Instant, ack: &Ack<'_>) -> AckOutcome {
        self.unanswered = 0;
        let una = self.snd_una();
        if ack.ack < una {
            return AckOutcome::default();
        }
        let window_changed = self.update_window(ack);
        let in_flight = self.in_flight();
        let limited =
            self.window_limited || (self.cwnd() < self.ssthresh() && in_flight * 2 >= self.cwnd());
        let outstanding = self.ledger.flight_size() > 0;
        let nxt = self.snd_nxt();
        // DSACKs lie below; what is above snd_nxt was never sent (RFC 5961's spirit).
        let blocks: ArrayVec<Range<u64>, 4> = ack
            .sack
            .iter()
            .filter(|block| block.start >= ack.ack.max(una) && block.end <= nxt)
            // Most blocks repeat what earlier acknowledgments said.
            .filter(|block| !self.ledger.sacked().contains(block))
            .map(|block| self.whole_segments(block))
            .filter(|block| block.start < block.end)
            .take(4)
            .collect();
        let delivered = self.ledger.acknowledge(now, ack.ack, blocks);
        if let Some(rtt) = delivered.rtt {
            self.rtt.sample_at(now, rtt);
        }
        let facts = AckFacts {
            now,
            acked: delivered.acked,
            sacked: delivered.sacked,
            arrived: delivered.arrived,
            duplicate: delivered.acked == 0 && outstanding && !ack.occupies && !window_changed,
            dsack: self.duplicate_report(ack),
            rtt: delivered.rtt,
            timing: self.timing(),
            smss: self.config.smss,
        };
        if self.snd_una() >= self.round.1 && delivered.acked > 0 {
            self.round = (self.round.0 + 1, self.snd_nxt());
        }
        let keep_timer = self.judge(&facts, in_flight, limited);
        if delivered.acked > 0 {
            self.persist = None;
            if delivered.rtt.is_none() {
                self.rtt.end_back_off();
            }
            // RFC 6298, rules 5.2 and 5.3.
            if self.ledger.flight_size() == 0 {
                self.rto_deadline = None;
            } else if !keep_timer {
                self.rto_deadline = Some(self.rtt.deadline(now));
            }
        }
        AckOutcome { acked: delivered.acked, rtt: delivered.rtt }
    }

    /// What of a SACK block are whole segments as they were sent. Parts of segments count as not
    /// sacked: a peer that reports single bytes would otherwise cut the ledger's records, and
    /// with them our retransmissions, into single bytes (as in CVE-2019-11478).
    fn whole_segments(&self, block: &Range<u64>) -> Range<u64> {
        let smss = self.config.smss;
        let record = |offset| self.ledger.record_at(offset).map(|record| record.range.clone());
        let start = record(block.start).map_or(block.start, |sent| {
            let segments = (block.start - sent.start).div_ceil(smss);
            (sent.start + segments * smss).min(sent.end)
        });
        let end = record(block.end)
            .map_or(block.end, |sent| sent.start + (block.end - sent.start) / smss * smss);
        start..end
    }

    /// What the first SACK block says to have come twice, if it is a DSACK (RFC 2883, 4): it lies
    /// below the acknowledgment, or within the second block.
    fn duplicate_report(&self, ack: &Ack<'_>) -> Option<Range<u64>> {
        let first = ack.sack.first()?;
        let within_second = || {
            ack.sack
                .get(1)
                .is_some_and(|second| second.start <= first.start && first.end <= second.end)
        };
        (first.end <= ack.ack || within_second()).then(|| first.clone())
    }

    /// The path's times.
    pub(super) fn timing(&self) -> Timing {
        Timing { srtt: self.rtt.srtt(), min_rtt: self.rtt.min_rtt(), rto: self.rtt.rto() }
    }

    /// Lets recovery judge an acknowledgment, and congestion control hear of it. True if the
    /// retransmission timer is to run on.
    fn judge(&mut self, facts: &AckFacts, in_flight: u64, limited: bool) -> bool {
        let was_in_recovery = self.recovery.in_recovery();
        let flight_size = self.ledger.flight_size() + facts.acked;
        let verdict = self.recovery.on_ack(facts, &self.ledger);
        let unchanged = verdict.episode == Episode::Unchanged;
        let loss = !verdict.lost.is_empty();
        let keep_timer = verdict.keep_timer;
        self.apply(facts.now, verdict, flight_size);
        let (acked, duplicate) = (facts.acked, facts.duplicate);
        self.step_reduction(reduction::Step { acked, duplicate, loss });
        if unchanged && facts.acked > 0 && !was_in_recovery {
            self.congestion.on_ack(&Acked {
                now: facts.now,
                bytes: facts.acked,
                smss: facts.smss,
                rtt: facts.rtt,
                srtt: facts.timing.srtt,
                min_rtt: facts.timing.min_rtt,
                in_flight,
                round: self.round.0,
                window_limited: limited,
            });
        }
        keep_timer
    }

    /// Does what recovery has decided, with `flight_size` bytes outstanding before.
    fn apply(&mut self, now: Instant, verdict: Verdict, flight_size: u64) {
        for range in verdict.lost {
            self.ledger.mark_lost(range);
        }
        if verdict.retransmit_now {
            self.forced = Some(transmit::Forced::FirstLost);
        } else if verdict.probe {
            self.forced = Some(transmit::Forced::Probe);
            // RFC 8985, 7.3: the retransmission timer remains the last resort.
            self.rto_deadline = Some(now + self.rtt.rto());
        }
        let smss = self.config.smss;
        // What limited transmit has added does not count (RFC 5681, 3.2).
        let congested =
            Congested { now, flight_size: flight_size.min(self.congestion.window()), smss };
        match verdict.episode {
            Episode::Enter => {
                self.stats.recoveries += 1;
                self.congestion.on_loss(&congested);
                self.begin_reduction();
            }
            Episode::Restart => {
                self.stats.recoveries += 1;
                self.end_reduction();
                self.congestion.on_timeout(&congested, false);
            }
            Episode::Repaired => {
                self.congestion.on_loss(&congested);
                self.congestion.on_recovered(self.ledger.flight_size(), smss);
            }
            Episode::Exit => {
                // RFC 9937, 6.2: the window ends at ssthresh, as what is in flight does.
                let proportional = self.end_reduction();
                let flight_size = self.ledger.flight_size();
                let ssthresh = self.congestion.ssthresh();
                self.congestion
                    .on_recovered(if proportional { ssthresh } else { flight_size }, smss);
            }
            // As if all of ssthresh were outstanding.
            Episode::Deflate => {
                self.end_reduction();
                let flight_size = self.ledger.flight_size().max(self.congestion.ssthresh());
                self.congestion.on_recovered(flight_size, smss);
            }
            Episode::Unchanged => {}
        }
    }

    /// RFC 9293, 3.10.7.4: take the window from segments that are not older than the last that
    /// gave one. True if it changed the window.
    fn update_window(&mut self, ack: &Ack<'_>) -> bool {
        let update = (ack.segment, ack.ack);
        if update < self.last_window_update && ack.ack == self.snd_una() {
            return false;
        }
        self.last_window_update = update;
        let edge = ack.ack + ack.window;
        let changed = edge != self.window_edge;
        self.window_edge = edge;
        self.max_window = self.max_window.max(ack.window);
        changed
    }
}

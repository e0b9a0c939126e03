//! Choosing the next segment: retransmissions first, then new data within the windows, with
//! silly-window avoidance (RFC 9293, 3.8.6.2.1), Nagle's rule and pacing.

use super::{Sender, timers};
use crate::tcp::congestion::Probing;
use crate::tcp::pacing::Pacing;
use crate::tcp::recovery::{Next, SentFacts};
use crate::time::{Duration, Instant};
use crate::units::Rate;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A segment to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmission {
    /// The data's offsets; empty for a bare FIN or a probe. Longer than one segment if the
    /// sender may send super-segments.
    pub range: Range<u64>,
    /// The stream's FIN follows.
    pub fin: bool,
    /// Nothing is left behind it: PSH.
    pub push: bool,
    /// The range was sent before.
    pub retransmission: bool,
}

/// Why a segment leaves whatever the congestion window says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Forced {
    /// Fast retransmit, partial acknowledgment or timeout: the first lost segment.
    FirstLost,
    /// Recovery wants an acknowledgment: new data, or else the last segment again.
    Probe,
    /// The persist timer: what the window allows, or else a probe.
    Persist,
}

/// What the windows and recovery let a sender do next.
#[derive(Debug)]
enum Choice {
    /// Send this part again.
    Again(Range<u64>),
    /// Send this part for the first time (an empty one: the FIN alone).
    New(Range<u64>),
    /// Something waits, and the congestion window forbids it.
    WindowLimited,
    /// There is nothing to send, or the peer's window forbids it.
    Nothing,
}

impl Sender {
    /// The next segment to be sent now, if any.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmission> {
        self.paced_out = false;
        self.waits_for_link = false;
        self.window_limited = false;
        if self.is_quiet() {
            return None;
        }
        match self.forced.take() {
            Some(Forced::FirstLost) => {
                if let Some(range) = self.ledger.first_lost() {
                    return Some(self.again(now, range, self.config.smss));
                }
            }
            Some(Forced::Probe) => return self.tail_probe(now),
            Some(Forced::Persist) => return self.probe(now),
            None => {}
        }
        if self.is_held(now) {
            return None;
        }
        let paced = now < self.pacer.next();
        if paced || self.link_busy {
            let choice = self.choose();
            let waits = matches!(choice, Choice::Again(_) | Choice::New(_));
            (self.paced_out, self.waits_for_link) = (waits && paced, waits && !paced);
            self.window_limited = matches!(choice, Choice::WindowLimited);
            self.persist_if_stuck(now);
            return None;
        }
        self.restart_if_idle(now);
        match self.choose() {
            Choice::Again(range) => {
                let limit = range.end - range.start;
                Some(self.again(now, range, limit))
            }
            Choice::New(range) => Some(self.first_time(now, range)),
            Choice::WindowLimited => {
                self.window_limited = true;
                None
            }
            Choice::Nothing => {
                self.persist_if_stuck(now);
                None
            }
        }
    }

    /// New data, one segment of it, whatever the windows and the pacer say: the peer may have opened
    /// its window without our hearing of it. What it does not take is sent again when it has.
    pub fn transmit_regardless(&mut self, now: Instant) -> Option<Transmission> {
        let nxt = self.snd_nxt();
        let end = self.end.min(nxt + self.config.smss);
        if nxt >= end {
            return None;
        }
        if end > self.window_edge {
            self.beyond_window.get_or_insert(nxt.max(self.window_edge));
        }
        // The caller spaces these. By the window of after a timeout the pacer would hold back for minutes
        // what follows when the peer is heard again.
        let pacer = self.pacer;
        let sent = self.first_time(now, nxt..end);
        self.pacer = pacer;
        Some(sent)
    }

    /// Where a segment without data stands: at SND.NXT, or at the end of the peer's window if more has
    /// been sent than that allows. The peer would drop it, its acknowledgment included, if it stood
    /// behind that (RFC 9293, 3.10.7.4).
    pub fn bare_at(&self) -> u64 {
        let nxt = self.snd_nxt();
        self.beyond_window.map_or(nxt, |from| nxt.min(from.max(self.window_edge)))
    }

    /// Nothing waits to be sent and nothing is outstanding: the half of a connection that only
    /// receives is asked for segments as often as the other.
    fn is_quiet(&self) -> bool {
        self.forced.is_none()
            && self.ledger.flight_size() == 0
            && self.snd_nxt() >= self.stream_end()
    }

    /// What the next segment would be, pacing left aside.
    fn choose(&self) -> Choice {
        let smss = self.config.smss;
        let in_flight = self.in_flight();
        let room = self.room(in_flight);
        let new_data = self.new_data();
        let next = self.recovery.next(&self.ledger, new_data.is_some(), smss);
        let (range, again) = match (next, new_data) {
            (Next::Again(range), _) => match self.allowed_again(range) {
                Some(range) => (range, true),
                None => return Choice::Nothing,
            },
            (Next::New, Some(range)) => (range, false),
            (Next::New, None) | (Next::Nothing, _) => return Choice::Nothing,
        };
        let len = range.end - range.start;
        if room < len.min(smss) && in_flight > 0 {
            return Choice::WindowLimited;
        }
        let limit = whole_segments(room.min(self.burst_limit()), smss);
        let range = range.start..range.start + len.min(limit);
        if again { Choice::Again(range) } else { Choice::New(range) }
    }

    /// What of `range` may be sent again: not what was sent beyond the peer's window, as long as it is
    /// not within. (A retransmission timeout sends its first segment all the same.)
    fn allowed_again(&self, range: Range<u64>) -> Option<Range<u64>> {
        let limit = self.beyond_window.map_or(u64::MAX, |from| from.max(self.window_edge));
        (range.start < limit).then(|| range.start..range.end.min(limit))
    }

    /// What may be sent for the first time, as far as the peer's window, silly-window avoidance
    /// and Nagle are concerned. The range may be empty: then only a FIN is to be sent.
    fn new_data(&self) -> Option<Range<u64>> {
        let nxt = self.snd_nxt();
        let available = self.end.saturating_sub(nxt);
        let usable = self.window_edge.saturating_sub(nxt);
        let smss = self.config.smss;
        if nxt >= self.stream_end() {
            return None;
        }
        if available == 0 {
            // The FIN alone: it takes one offset of the window.
            return (usable > 0).then_some(nxt..nxt);
        }
        let sendable = available.min(usable);
        if sendable >= smss {
            let whole = whole_segments(sendable.min(self.config.max_burst), smss);
            // A short tail goes along if it is the stream's end for now and Nagle agrees.
            let tail = sendable == available && self.may_send_short();
            return Some(nxt..nxt + if tail { sendable } else { whole });
        }
        let all_fits = sendable == available && self.may_send_short();
        // Towards a peer whose largest window is tiny, half of it is worth sending.
        let half_window = sendable > 0 && sendable >= self.max_window.div_ceil(2);
        (all_fits || half_window).then_some(nxt..nxt + sendable)
    }

    /// Nagle: a short segment waits while anything is outstanding, unless the stream is over.
    fn may_send_short(&self) -> bool {
        !self.config.nagle || self.finished || self.ledger.flight_size() == 0
    }

    /// The longest run of bytes to be sent at once: a super-segment, but at most a millisecond
    /// of the pacing rate.
    fn burst_limit(&self) -> u64 {
        let smss = self.config.smss;
        let paced =
            self.pacing_rate().map_or(u64::MAX, |rate| rate.bytes_in(Duration::from_millis(1)));
        whole_segments(self.config.max_burst.min(paced), smss)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let Pacing::Window { cap } = self.config.pacing else { return None };
        let slow_start = self.congestion.window() < self.congestion.ssthresh();
        if slow_start && self.config.probing == Probing::AckRate {
            let overhead = 1.0 + self.config.overhead as f64 / self.config.smss as f64;
            let rate = self.ack_rate.probing(overhead);
            return rate.map(|rate| cap.map_or(rate, |cap| rate.min(cap))).or(cap);
        }
        let by_window = self.rtt.srtt().filter(|srtt| !srtt.is_zero()).map(|srtt| {
            let bytes = self.congestion.window() as f64 * self.congestion.pacing_gain();
            Rate::from_bits_per_sec((bytes * 8.0 / srtt.as_secs_f64()) as u64)
        });
        match (by_window, cap) {
            (Some(rate), Some(cap)) => Some(rate.min(cap)),
            (rate, cap) => rate.or(cap),
        }
    }

    fn restart_if_idle(&mut self, now: Instant) {
        let idle = self.last_sent.is_some_and(|at| now.saturating_since(at) > self.rtt.rto());
        if self.config.restart_after_idle && idle && self.ledger.flight_size() == 0 {
            self.congestion.on_idle();
        }
    }

    fn first_time(&mut self, now: Instant, range: Range<u64>) -> Transmission {
        let allowed = self.window_edge > range.end || self.beyond_window.is_some();
        let fin = self.finished && range.end == self.end && allowed;
        let sent = range.start..range.end + u64::from(fin);
        self.ledger.sent(now, sent.clone());
        self.tell_recovery(now, sent, false);
        let push = range.end == self.end;
        self.left(now, Transmission { range, fin, push, retransmission: false })
    }

    /// Sends the beginning of `range` again, at most `limit` bytes.
    fn again(&mut self, now: Instant, range: Range<u64>, limit: u64) -> Transmission {
        let range = range.start..range.end.min(range.start + limit);
        self.watch_retransmission(now, &range);
        self.ledger.resent(now, range.clone());
        self.tell_recovery(now, range.clone(), true);
        self.stats.retransmissions += 1;
        let fin = self.finished && range.end == self.stream_end();
        let data = range.start..range.end - u64::from(fin);
        let push = data.end == self.end;
        self.left(now, Transmission { range: data, fin, push, retransmission: true })
    }

    pub(super) fn tell_recovery(&mut self, now: Instant, range: Range<u64>, again: bool) {
        let (timing, smss) = (self.timing(), self.config.smss);
        self.recovery.on_sent(&SentFacts { now, range, again, timing, smss }, &self.ledger);
    }

    fn left(&mut self, now: Instant, sent: Transmission) -> Transmission {
        self.stats.segments += 1;
        self.sent_in_reduction(sent.range.end - sent.range.start);
        self.last_sent = Some(now);
        self.persist = None;
        // RFC 6298, rule 5.1.
        self.rto_deadline.get_or_insert_with(|| self.rtt.deadline(now));
        if let Some(rate) = self.pacing_rate() {
            let segments = (sent.range.end - sent.range.start).div_ceil(self.config.smss).max(1);
            let bytes = sent.range.end - sent.range.start + self.config.overhead * segments;
            self.pacer.sent(now, bytes, rate);
        }
        sent
    }

    /// Recovery's probe: new data if the peer's window allows, or else the last segment again.
    fn tail_probe(&mut self, now: Instant) -> Option<Transmission> {
        let smss = self.config.smss;
        if let Some(range) = self.new_data() {
            return Some(self.first_time(now, range.start..range.end.min(range.start + smss)));
        }
        // The segment as it was sent: the last of a super-segment, or a short one alone.
        let end = self.snd_nxt();
        let sent = self.ledger.record_at(end.checked_sub(1)?)?.range.clone();
        let start = end - ((end - sent.start - 1) % smss + 1);
        Some(self.again(now, start..end, smss))
    }

    /// The persist timer has expired: send what fits, though it be silly, or an empty segment
    /// below the window, which every receiver answers.
    fn probe(&mut self, now: Instant) -> Option<Transmission> {
        let nxt = self.snd_nxt();
        let usable = self.window_edge.saturating_sub(nxt);
        if usable > 0 && nxt < self.stream_end() {
            let end = self.end.min(nxt + usable.min(self.config.smss));
            let backoff = self.persist;
            let sent = self.first_time(now, nxt..end);
            self.persist = backoff;
            return Some(sent);
        }
        let at = self.snd_una().saturating_sub(1);
        Some(Transmission { range: at..at, fin: false, push: false, retransmission: false })
    }

    /// Data or a FIN is waiting, nothing is outstanding that would bring an acknowledgment, and
    /// the peer's window forbids sending: begin to probe (RFC 9293, 3.8.6.1).
    fn persist_if_stuck(&mut self, now: Instant) {
        let held = self.paced_out || self.waits_for_link;
        let waiting = self.snd_nxt() < self.stream_end() && !held;
        if waiting && self.ledger.flight_size() == 0 && self.persist.is_none() {
            self.persist = Some(timers::Persist::begin(now, &self.rtt));
        }
    }
}

/// As many whole segments as fit into `bytes`, at least one.
fn whole_segments(bytes: u64, smss: u64) -> u64 {
    // The commonest case of all costs no division.
    if bytes < 2 * smss { smss } else { bytes / smss * smss }
}

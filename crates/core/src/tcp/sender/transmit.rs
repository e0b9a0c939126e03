//! Choosing the next segment: retransmissions first, then new data within the windows, with
//! silly-window avoidance (RFC 9293, 3.8.6.2.1), Nagle's rule and pacing.

use super::{Sender, timers};
use crate::tcp::congestion::{Departed, PacingBasis};
use crate::tcp::pacing::Pacing;
use crate::tcp::recovery::{Next, Probe, SentFacts};
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
    /// Recovery wants an acknowledgment.
    Probe(Probe),
    /// The persist timer: what the window allows, or else a probe.
    Persist,
}

/// Why a sender sends nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Waits {
    /// All that was written has been sent.
    Application,
    /// Nagle's rule, or silly window avoidance: a short segment waits for more.
    Short,
    /// The peer's window is full.
    PeerWindow,
    /// The congestion window is.
    CongestionWindow,
    /// Recovery sends nothing for now.
    Recovery,
    /// The next segment's time has not come.
    Pacer,
    /// It is another sender's turn on the link.
    Link,
    /// A mark came while the window was one segment (RFC 3168, 6.1.2).
    Mark,
    /// Nothing: something may be sent when it is asked for.
    Asked,
}

/// What the windows and recovery let a sender do next.
#[derive(Debug)]
enum Choice {
    /// Send this part again.
    Again(Range<u64>),
    /// Send this part for the first time (an empty one: the FIN alone).
    New(Range<u64>),
}

impl Sender {
    /// The next segment to be sent now.
    ///
    /// # Errors
    /// Why there is none.
    pub fn poll_transmit(&mut self, now: Instant) -> Result<Transmission, Waits> {
        let sent = self.next_transmission(now);
        self.waits = sent.as_ref().map_or_else(|waits| *waits, |_| Waits::Asked);
        if self.waits == Waits::Application && self.in_flight() < self.cwnd() {
            self.ledger.set_app_limited();
        }
        sent
    }

    fn next_transmission(&mut self, now: Instant) -> Result<Transmission, Waits> {
        if self.is_quiet() {
            return Err(Waits::Application);
        }
        match self.forced.take() {
            Some(Forced::FirstLost) => {
                if let Some(range) = self.ledger.first_lost() {
                    return Ok(self.again(now, range, self.config.smss));
                }
            }
            Some(Forced::Probe(probe)) => {
                return self.recovery_probe(now, probe).ok_or(Waits::Recovery);
            }
            Some(Forced::Persist) => return Ok(self.probe(now)),
            None => {}
        }
        if self.is_held(now) {
            return Err(Waits::Mark);
        }
        let paced = now < self.pacer.next();
        if !paced && !self.link_busy {
            self.restart_if_idle(now);
        }
        let choice = self.choose();
        if matches!(choice, Err(Waits::PeerWindow | Waits::Short)) {
            self.persist_if_stuck(now);
        }
        match choice? {
            _ if paced => Err(Waits::Pacer),
            _ if self.link_busy => Err(Waits::Link),
            Choice::Again(range) => {
                let limit = range.end - range.start;
                Ok(self.again(now, range, limit))
            }
            Choice::New(range) => Ok(self.first_time(now, range)),
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
    fn choose(&self) -> Result<Choice, Waits> {
        let smss = self.config.smss;
        let in_flight = self.in_flight();
        let room = self.room(in_flight);
        let new_data = self.new_data();
        let next = self.recovery.next(&self.ledger, new_data.is_ok(), smss);
        let (range, again) = match (next, new_data) {
            (Next::Again(range), _) => match self.allowed_again(range) {
                Some(range) => (range, true),
                None => return Err(Waits::PeerWindow),
            },
            (Next::New, Ok(range)) => (range, false),
            (Next::New | Next::Nothing, Err(waits)) => return Err(waits),
            (Next::Nothing, Ok(_)) => return Err(Waits::Recovery),
        };
        let len = range.end - range.start;
        if room < len.min(smss) && in_flight > 0 {
            return Err(Waits::CongestionWindow);
        }
        let limit = whole_segments(room.min(self.burst_limit()), smss);
        let range = range.start..range.start + len.min(limit);
        Ok(if again { Choice::Again(range) } else { Choice::New(range) })
    }

    /// What of `range` may be sent again: not what was sent beyond the peer's window, as long as it is
    /// not within. (A retransmission timeout sends its first segment all the same.)
    fn allowed_again(&self, range: Range<u64>) -> Option<Range<u64>> {
        let limit = self.beyond_window.map_or(u64::MAX, |from| from.max(self.window_edge));
        (range.start < limit).then(|| range.start..range.end.min(limit))
    }

    /// What may be sent for the first time, as far as the peer's window, silly-window avoidance
    /// and Nagle are concerned. The range may be empty: then only a FIN is to be sent.
    fn new_data(&self) -> Result<Range<u64>, Waits> {
        let nxt = self.snd_nxt();
        let available = self.end.saturating_sub(nxt);
        let usable = self.window_edge.saturating_sub(nxt);
        let smss = self.config.smss;
        if nxt >= self.stream_end() {
            return Err(Waits::Application);
        }
        if usable == 0 {
            return Err(Waits::PeerWindow);
        }
        if available == 0 {
            // The FIN alone: it takes one offset of the window.
            return Ok(nxt..nxt);
        }
        let sendable = available.min(usable);
        if sendable >= smss {
            let whole = whole_segments(sendable.min(self.config.max_burst), smss);
            // A short tail goes along if it is the stream's end for now and Nagle agrees.
            let tail = sendable == available && self.may_send_short();
            return Ok(nxt..nxt + if tail { sendable } else { whole });
        }
        let all_fits = sendable == available && self.may_send_short();
        // Towards a peer whose largest window is tiny, half of it is worth sending.
        let half_window = sendable >= self.max_window.div_ceil(2);
        let waits = if sendable == available { Waits::Short } else { Waits::PeerWindow };
        (all_fits || half_window).then_some(nxt..nxt + sendable).ok_or(waits)
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
        let cap = match self.config.pacing {
            Pacing::Window { cap } => cap,
            Pacing::Off if self.congestion.needs_pacing() => None,
            Pacing::Off => return None,
        };
        let rate = match self.congestion.pacing() {
            PacingBasis::Window { gain } => self.window_rate(gain),
            // Headers are paced along.
            PacingBasis::Rate(payload) => payload.map(|payload| {
                let overhead = 1.0 + self.config.overhead as f64 / self.config.smss as f64;
                Rate::from_bits_per_sec((payload.bits_per_sec() as f64 * overhead) as u64)
            }),
        };
        match (rate, cap) {
            (Some(rate), Some(cap)) => Some(rate.min(cap)),
            (rate, cap) => rate.or(cap),
        }
    }

    /// `gain` windows each smoothed round trip.
    fn window_rate(&self, gain: f64) -> Option<Rate> {
        let srtt = self.rtt.srtt().filter(|srtt| !srtt.is_zero())?;
        let bytes = self.congestion.window() as f64 * gain;
        Some(Rate::from_bits_per_sec((bytes * 8.0 / srtt.as_secs_f64()) as u64))
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
        let bytes = sent.range.end - sent.range.start;
        self.sent_in_reduction(bytes);
        let in_flight = self.in_flight().saturating_sub(bytes + u64::from(sent.fin));
        let app_limited = self.ledger.is_app_limited();
        self.congestion.on_sent(&Departed { now, bytes, in_flight, app_limited });
        self.last_sent = Some(now);
        self.persist = None;
        // RFC 6298, rule 5.1.
        self.rto_deadline.get_or_insert_with(|| self.rtt.deadline(now));
        if let Some(rate) = self.pacing_rate() {
            let segments = bytes.div_ceil(self.config.smss).max(1);
            self.pacer.sent(now, bytes + self.config.overhead * segments, rate);
        }
        sent
    }

    fn recovery_probe(&mut self, now: Instant, probe: Probe) -> Option<Transmission> {
        let smss = self.config.smss;
        if probe == Probe::First {
            let first = self.ledger.record_at(self.snd_una())?.range.clone();
            return Some(self.again(now, first, smss));
        }
        if let Ok(range) = self.new_data() {
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
    fn probe(&mut self, now: Instant) -> Transmission {
        let nxt = self.snd_nxt();
        let usable = self.window_edge.saturating_sub(nxt);
        if usable > 0 && nxt < self.stream_end() {
            let end = self.end.min(nxt + usable.min(self.config.smss));
            let backoff = self.persist;
            let sent = self.first_time(now, nxt..end);
            self.persist = backoff;
            return sent;
        }
        let at = self.snd_una().saturating_sub(1);
        Transmission { range: at..at, fin: false, push: false, retransmission: false }
    }

    /// Data or a FIN is waiting, nothing is outstanding that would bring an acknowledgment, and
    /// the peer's window forbids sending: begin to probe (RFC 9293, 3.8.6.1).
    fn persist_if_stuck(&mut self, now: Instant) {
        let waiting = self.snd_nxt() < self.stream_end();
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

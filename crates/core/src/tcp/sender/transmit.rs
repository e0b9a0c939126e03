//! Choosing the next segment: retransmissions first, then new data within the windows, with
//! silly-window avoidance (RFC 9293, 3.8.6.2.1), Nagle's rule and pacing.

use super::Sender;
use super::gate::Forced;
use crate::tcp::cause::Cause;
use crate::tcp::congestion::Departed;
use crate::tcp::limiter::Limiter;
use crate::tcp::pacing::BURST;
use crate::tcp::recovery::{Next, Probe, SentFacts};
use crate::time::Instant;
use crate::units::{Bytes, Offset, Rate};
use std::ops::Range;

/// A segment to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmission {
    /// The data's offsets; empty for a bare FIN or a probe. Longer than one segment if the
    /// sender may send super-segments.
    pub range: Range<Offset>,
    /// The stream's FIN follows.
    pub fin: bool,
    /// Nothing is left behind it: PSH.
    pub push: bool,
    /// The range was sent before.
    pub retransmission: bool,
    /// Why it is sent.
    pub cause: Cause,
}

impl Transmission {
    /// Whether its cause is a retransmission's if it is one, and one of new data if not. A probe
    /// may be either.
    fn cause_fits(&self) -> bool {
        let probes = matches!(self.cause, Cause::TailLossProbe | Cause::ProbeTimeout);
        probes || self.cause.is_retransmission() == self.retransmission
    }
}

/// What the windows and recovery let a sender do next.
#[derive(Debug)]
pub(super) enum Choice {
    /// Retransmit this part.
    Old(Range<Offset>, Cause),
    /// Send this part for the first time (an empty one: the FIN alone).
    New(Range<Offset>),
}

impl Sender {
    /// The next segment to be sent now.
    ///
    /// # Errors
    /// Why there is none.
    pub fn poll_transmit(&mut self, now: Instant) -> Result<Transmission, Limiter> {
        let sent = self.next_transmission(now);
        match &sent {
            Ok(_) => self.gate.passed(),
            Err(limiter) => self.gate.stopped(*limiter),
        }
        self.cwnd.set_full(matches!(sent, Err(Limiter::Cwnd)));
        if matches!(sent, Err(Limiter::Application | Limiter::Closed))
            && (self.flight.size() == Bytes::ZERO || self.in_flight() < self.cwnd())
        {
            self.flight.set_app_limited();
        }
        debug_assert!(sent.as_ref().map_or(true, Transmission::cause_fits), "{sent:?}");
        // Recovery's probe that finds no segment leaves nothing to be seen.
        debug_assert!(
            matches!(sent, Ok(_) | Err(Limiter::Recovery))
                || self.limiter() == sent.as_ref().err().copied(),
            "{:?} is seen behind {sent:?}",
            self.limiter()
        );
        self.check();
        sent
    }

    fn next_transmission(&mut self, now: Instant) -> Result<Transmission, Limiter> {
        if self.is_quiet() {
            return Err(self.all_sent());
        }
        match self.gate.take_forced() {
            Some(Forced::FirstLost(cause)) => {
                if let Some(range) = self.flight.ledger().first_lost(self.sizes.smss) {
                    return Ok(self.retransmit(now, range, self.sizes.smss, cause));
                }
            }
            Some(Forced::Probe(probe)) => {
                return self.recovery_probe(now, probe).ok_or(Limiter::Recovery);
            }
            Some(Forced::Persist(cause)) => return Ok(self.window_probe(now, cause)),
            None => {}
        }
        if self.gate.is_held(now) {
            return Err(Limiter::Mark);
        }
        let turn = self.gate.turn(now);
        if turn.is_ok() && self.config.restart_after_idle && self.flight.size() == Bytes::ZERO {
            self.cwnd.restart_if_idle(now, self.timers.rtt().rto());
        }
        let choice = self.choose();
        if matches!(choice, Err(Limiter::PeerWindow | Limiter::Nagle)) {
            self.persist_if_stuck(now);
        }
        let choice = match choice {
            Ok(choice) => choice,
            // Nothing else is to be sent, or the peer would not take it.
            Err(limiter) if limiter != Limiter::Cwnd => {
                return self.spare_copy(now, turn).unwrap_or(Err(limiter));
            }
            Err(limiter) => return Err(limiter),
        };
        turn?;
        if let Some(sent) = self.copy_at_once(now) {
            return Ok(sent);
        }
        Ok(match choice {
            Choice::Old(range, cause) => {
                let limit = range.end - range.start;
                self.retransmit(now, range, limit, cause)
            }
            Choice::New(range) => self.first_time(now, range, self.gate.cause()),
        })
    }

    /// `range` of what is outstanding went out once more. Recovery and congestion control do not
    /// hear of it, but no round trip is measured by it.
    pub fn repeated(&mut self, range: Range<Offset>) {
        self.flight.repeated(range);
    }

    /// New data, one segment of it, whatever the windows and the pacer say: the peer may have
    /// opened its window without our hearing of it. What it does not take is retransmitted when it
    /// has.
    pub fn transmit_regardless(&mut self, now: Instant) -> Option<Transmission> {
        let nxt = self.snd_nxt();
        let end = self.stream.written().min(nxt + self.sizes.smss);
        if nxt >= end {
            return None;
        }
        self.window.exceed(&(nxt..end));
        // The caller spaces these. By the window of after a timeout the pacer would hold back for
        // minutes what follows when the peer is heard again.
        let sent = self.send_new(now, nxt..end, Cause::Blind);
        self.timers.sent(now);
        self.check();
        Some(sent)
    }

    /// Where a segment without data stands: at SND.NXT, or at the end of the peer's window if more
    /// has been sent than that allows, by a `unit` of the window's field or more. The peer would
    /// drop it, its acknowledgment included, if it stood behind that (RFC 9293, 3.10.7.4), and two
    /// hosts whose windows have both shrunk would never hear each other again. RFC 9293 has SND.NXT
    /// in any case; Linux does this (`tcp_acceptable_seq`).
    pub fn seq_without_data(&self, unit: Bytes) -> Offset {
        let (nxt, edge) = (self.snd_nxt(), self.window_edge());
        let nxt = nxt.min(self.window.retransmission_limit());
        if nxt >= edge + unit { edge.max(self.snd_una()) } else { nxt }
    }

    /// Why there is nothing more to send.
    pub(super) fn all_sent(&self) -> Limiter {
        if self.stream.is_finished() { Limiter::Closed } else { Limiter::Application }
    }

    /// Nothing waits to be sent and nothing is outstanding: the half of a connection that only
    /// receives is asked for segments as often as the other.
    pub(super) fn is_quiet(&self) -> bool {
        !self.gate.is_forced()
            && self.flight.size() == Bytes::ZERO
            && self.snd_nxt() >= self.stream.end()
    }

    /// What the next segment would be, pacing left aside. Each poll asks: a call would cost a
    /// hundredth of a simulation.
    #[inline(always)]
    pub(super) fn choose(&self) -> Result<Choice, Limiter> {
        let smss = self.sizes.smss;
        let in_flight = self.in_flight().saturating_sub(Bytes::from(self.syn_is_outstanding()));
        let room = self.cwnd.room(in_flight);
        let new_data = self.new_data();
        let next = self.flight.next(new_data.is_ok(), smss);
        let (range, again) = match (next, new_data) {
            (Next::Again(range, cause), _) => {
                let limit = self.window.retransmission_limit();
                if range.start >= limit {
                    return Err(Limiter::PeerWindow);
                }
                (range.start..range.end.min(limit), Some(cause))
            }
            (Next::New, Ok(range)) => (range, None),
            (Next::New | Next::Nothing, Err(limiter)) => return Err(limiter),
            (Next::Nothing, Ok(_)) => return Err(Limiter::Recovery),
        };
        // The window counts data; a SYN takes an offset before it, and leaves with its first
        // segment.
        let first =
            if range.end > Offset::SYN { range.start.max(Offset::FIRST) } else { range.start };
        let len = range.end - first;
        if room < len.min(smss) && in_flight > Bytes::ZERO {
            return Err(Limiter::Cwnd);
        }
        let limit = whole_segments(room.min(self.burst_limit()), smss);
        let range = range.start..first + len.min(limit);
        Ok(match again {
            Some(cause) => Choice::Old(range, cause),
            None => Choice::New(range),
        })
    }

    /// A SYN that goes with data (T/TCP) was sent and is not acknowledged.
    fn syn_is_outstanding(&self) -> bool {
        self.snd_una() == Offset::SYN && self.snd_nxt() > Offset::SYN
    }

    /// What may be sent for the first time, as far as the peer's window, silly-window avoidance
    /// and Nagle are concerned. The range may be empty: then only a FIN is to be sent.
    fn new_data(&self) -> Result<Range<Offset>, Limiter> {
        let nxt = self.snd_nxt();
        let available = self.stream.written().saturating_sub(nxt);
        let usable = self.window.usable(nxt);
        let smss = self.sizes.smss;
        // A SYN, at offset 0, goes with the first segment.
        let syn = Bytes::from(nxt == Offset::SYN);
        if nxt >= self.stream.end() {
            return Err(self.all_sent());
        }
        if usable == Bytes::ZERO {
            return Err(Limiter::PeerWindow);
        }
        if available == Bytes::ZERO {
            // The FIN alone: it takes one offset of the window.
            return Ok(nxt..nxt);
        }
        let sendable = available.min(usable);
        if sendable >= smss + syn {
            let whole = syn + whole_segments((sendable - syn).min(self.sizes.max_burst), smss);
            // A short tail goes along if it is the stream's end for now and Nagle agrees.
            let tail = sendable == available && self.may_send_short();
            return Ok(nxt..nxt + if tail { sendable } else { whole });
        }
        let all_fits = sendable == available && self.may_send_short();
        let worth_it = all_fits || self.window.is_half_of_largest(sendable);
        let limiter = if sendable == available { Limiter::Nagle } else { Limiter::PeerWindow };
        worth_it.then_some(nxt..nxt + sendable).ok_or(limiter)
    }

    /// Nagle: a short segment waits while anything is outstanding, unless the stream is over.
    fn may_send_short(&self) -> bool {
        !self.config.nagle || self.stream.is_finished() || self.flight.size() == Bytes::ZERO
    }

    /// The longest run of bytes to be sent at once: a super-segment, but at most a millisecond
    /// of the pacing rate, and what was set.
    fn burst_limit(&self) -> Bytes {
        let smss = self.sizes.smss;
        // Without super-segments the rate does not matter: one segment leaves in any case.
        if self.sizes.max_burst < 2 * smss {
            return smss;
        }
        let paced = self.pacing_rate().map_or(Bytes::MAX, |rate| Bytes::new(rate.bytes_in(BURST)));
        let paced = self.burst.map_or(paced, |burst| burst.min(paced));
        whole_segments(self.sizes.max_burst.min(paced), smss)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.cwnd.pacing_rate(&self.config, self.sizes.smss, self.timers.rtt().congestion_srtt())
    }

    fn first_time(&mut self, now: Instant, range: Range<Offset>, cause: Cause) -> Transmission {
        let sent = self.send_new(now, range, cause);
        self.timers.sent(now);
        self.pace(now, &sent);
        sent
    }

    /// Sends `range` for the first time, the FIN with it if it is next.
    fn send_new(&mut self, now: Instant, range: Range<Offset>, cause: Cause) -> Transmission {
        let push = range.end == self.stream.written();
        let fin = push && self.stream.is_finished() && self.window.allows_fin(range.end);
        self.note_sent(now, range.start..range.end + Bytes::from(fin), false);
        self.left(now, Transmission { range, fin, push, retransmission: false, cause })
    }

    /// Retransmits the beginning of `range`, at most `limit` bytes.
    fn retransmit(
        &mut self,
        now: Instant,
        range: Range<Offset>,
        limit: Bytes,
        cause: Cause,
    ) -> Transmission {
        let syn = Bytes::from(range.start == Offset::SYN);
        let range = range.start..range.end.min(range.start + limit + syn);
        self.cwnd.retransmits(now, &range, self.flight.ledger());
        let again = self.is_lost_again(&range, cause);
        self.note_sent(now, range.clone(), true);
        let sent = self.once_more(range.clone(), cause);
        self.tally.stats.retransmissions += 1;
        self.tally.stats.fin_retransmissions += u64::from(sent.range.is_empty());
        self.tally.fins += u64::from(sent.fin);
        let sent = self.left(now, sent);
        self.timers.sent(now);
        self.pace(now, &sent);
        if let Some(copies) = &mut self.spare_copies {
            copies.retransmitted(range, again, self.flight.ledger());
        }
        sent
    }

    /// The segment that has `range` once more, the FIN with it if that is a part of it.
    pub(super) fn once_more(&self, range: Range<Offset>, cause: Cause) -> Transmission {
        let fin = self.stream.is_finished() && range.end == self.stream.end();
        let range = range.start..range.end - Bytes::from(fin);
        let push = range.end == self.stream.written();
        Transmission { range, fin, push, retransmission: true, cause }
    }

    /// The flight has `range` from now on, or has it once more.
    pub(super) fn note_sent(&mut self, now: Instant, range: Range<Offset>, again: bool) {
        let (timing, smss) = (self.timers.timing(), self.sizes.smss);
        self.flight.sent(&SentFacts { now, range, again, timing, smss });
    }

    /// What the flight has taken is counted, and congestion control hears of it.
    fn left(&mut self, now: Instant, sent: Transmission) -> Transmission {
        self.tally.stats.segments += 1;
        let bytes = sent.range.end - sent.range.start;
        let in_flight = self.in_flight().saturating_sub(bytes + Bytes::from(sent.fin));
        let app_limited = self.flight.ledger().is_app_limited();
        self.cwnd.sent(&Departed { now, bytes, in_flight, app_limited });
        sent
    }

    /// The pacer lets the next one out when this one has left at its rate.
    pub(super) fn pace(&mut self, now: Instant, sent: &Transmission) {
        if let Some(rate) = self.pacing_rate() {
            let bytes = sent.range.end - sent.range.start;
            let segments = bytes.div_ceil(self.sizes.smss).max(1);
            self.gate.sent(now, bytes + self.config.overhead * segments, rate);
        }
    }

    fn recovery_probe(&mut self, now: Instant, probe: Probe) -> Option<Transmission> {
        let smss = self.sizes.smss;
        if probe == Probe::First {
            let first = self.flight.first()?;
            return Some(self.retransmit_to_probe(now, first, Cause::ProbeTimeout));
        }
        if let Ok(range) = self.new_data() {
            let range = range.start..range.end.min(range.start + smss);
            return Some(self.first_time(now, range, Cause::TailLossProbe));
        }
        let last = self.flight.last(smss)?;
        Some(self.retransmit_to_probe(now, last, Cause::TailLossProbe))
    }

    fn retransmit_to_probe(
        &mut self,
        now: Instant,
        range: Range<Offset>,
        cause: Cause,
    ) -> Transmission {
        let sent = self.retransmit(now, range, self.sizes.smss, cause);
        self.tally.stats.probes += u64::from(!sent.range.is_empty());
        sent
    }

    /// The persist timer has expired: send what fits, though it be silly, or an empty segment
    /// below the window, which every receiver answers.
    fn window_probe(&mut self, now: Instant, cause: Cause) -> Transmission {
        let nxt = self.snd_nxt();
        let usable = self.window.usable(nxt);
        if usable > Bytes::ZERO && nxt < self.stream.end() {
            let end = self.stream.written().min(nxt + usable.min(self.sizes.smss));
            let sent = self.send_new(now, nxt..end, cause);
            self.timers.sent_to_probe(now);
            self.pace(now, &sent);
            return sent;
        }
        let at = self.snd_una().previous();
        Transmission { range: at..at, fin: false, push: false, retransmission: false, cause }
    }

    /// Data or a FIN is waiting, nothing is outstanding that would bring an acknowledgment, and
    /// the peer's window forbids sending: begin to probe (RFC 9293, 3.8.6.1).
    fn persist_if_stuck(&mut self, now: Instant) {
        if self.snd_nxt() < self.stream.end() && self.flight.size() == Bytes::ZERO {
            self.timers.begin_to_persist(now);
        }
    }
}

/// As many whole segments as fit into `bytes`, at least one.
fn whole_segments(bytes: Bytes, smss: Bytes) -> Bytes {
    // The commonest case of all costs no division.
    if bytes < 2 * smss { smss } else { bytes / smss * smss }
}

//! Taking an acknowledgment: the flight notes it, recovery judges it, congestion control hears of
//! it, and what recovery decides is done.

use super::gate::Forced;
use super::reduction::Reduction;
use super::timers::Running;
use super::{Ack, Sender};
use crate::tcp::cause::Cause;
use crate::tcp::congestion::{AckEvent, CongestionEvent, RecoveryPhase};
use crate::tcp::recovery::{AckSummary, Episode, Verdict};
use crate::tcp::timestamps;
use crate::time::Instant;
use crate::units::{Bytes, Offset};
use std::ops::Range;

impl Ack<'_> {
    /// What the first SACK block says to have come twice, if it is a DSACK (RFC 2883, 4): it lies
    /// below the acknowledgment, or within the second block.
    pub(super) fn duplicate_report(&self) -> Option<Range<Offset>> {
        let first = self.sack.first()?;
        let within_second = || {
            self.sack
                .get(1)
                .is_some_and(|second| second.start <= first.start && first.end <= second.end)
        };
        (first.end <= self.ack || within_second()).then(|| first.clone())
    }
}

impl Sender {
    /// Takes an acknowledgment. The bytes that it newly acknowledges, which may be released.
    pub fn on_ack(&mut self, now: Instant, ack: &Ack<'_>) -> Bytes {
        let outstanding = self.flight.outstanding();
        // An old one is no answer: its sender cannot use what it is sent (RFC 1122, 4.2.3.5, counts
        // retransmissions of one segment).
        if ack.ack < outstanding.start {
            return Bytes::ZERO;
        }
        self.timers.heard();
        let window_changed = self.window.update(ack, &outstanding);
        if ack.occupies && outstanding.is_empty() && ack.sack.is_empty() {
            // Data from a peer that has acknowledged all: half of a one-way transfer's segments.
            return Bytes::ZERO;
        }
        let in_flight = self.in_flight();
        let limited =
            self.cwnd.is_full() || (self.cwnd() < self.ssthresh() && in_flight * 2 >= self.cwnd());
        let smss = self.sizes.smss;
        // A recovery without SACK counts duplicates: with both, the pipe would shrink twice.
        let selective = self.config.recovery.needs_sack();
        let mut delivered = self.flight.acknowledge(now, ack, selective, smss);
        if let Some(rtt) = delivered.rtt {
            let newest = delivered.arrived.once.map_or(Offset::SYN, |(_, end)| end);
            self.timers.measured(now, rtt, newest, outstanding.end);
        }
        let undone = self.undo_if_needless(ack, delivered.acked);
        if undone {
            // It was the original that has arrived, whenever it was retransmitted.
            delivered.arrived.again = None;
        }
        let repeated = delivered.acked == Bytes::ZERO && !ack.occupies && !window_changed;
        let dsack = ack.duplicate_report().filter(|twice| !self.has_copied(twice));
        let facts = AckSummary {
            now,
            delivered,
            duplicate: repeated && !outstanding.is_empty(),
            repeated,
            dsack,
            echoes_last: ack.echoed.is_some()
                && ack.echoed == delivered.last_sent.map(timestamps::tick),
            timing: self.timers.timing(),
            smss,
        };
        // The undone window does not grow at once.
        let keep_timer = self.judge(&facts, in_flight, limited && !undone);
        if delivered.acked > Bytes::ZERO {
            self.tally.acknowledged(now, self.snd_una());
            let next = match self.flight.size() {
                Bytes::ZERO => Running::Stop,
                _ if keep_timer => Running::Keep,
                _ => Running::Restart,
            };
            self.timers.acknowledged(now, delivered.rtt.is_some(), next);
        }
        self.check();
        delivered.acked
    }

    /// Lets recovery judge an acknowledgment, and congestion control hear of it. True if the
    /// retransmission timer is to run on.
    fn judge(&mut self, facts: &AckSummary, in_flight: Bytes, limited: bool) -> bool {
        let was_in_recovery = self.flight.in_recovery();
        let flight_size = self.flight.size() + facts.delivered.acked;
        let verdict = self.flight.judge(facts);
        let unchanged = verdict.episode == Episode::Unchanged;
        let loss = !verdict.lost.is_empty();
        let keep_timer = verdict.keep_timer;
        // Mostly it asks for nothing.
        if self.corruption.is_some() || !verdict.is_idle() {
            self.apply(facts.now, verdict, flight_size, was_in_recovery);
        }
        self.step(Some(facts), loss);
        let phase = match (unchanged, was_in_recovery) {
            (false, _) => RecoveryPhase::Turning { in_recovery: self.flight.in_recovery() },
            (true, false) => RecoveryPhase::Open,
            (true, true) if self.repairs_corruption() => RecoveryPhase::Corruption,
            (true, true) => RecoveryPhase::Recovery,
        };
        self.report_ack(facts, in_flight, limited, phase);
        keep_timer
    }

    /// A proportional reduction takes an acknowledgment (none: recovery's timer) after recovery has
    /// judged it, and whether that has shown a `loss`.
    pub(super) fn step(&mut self, ack: Option<&AckSummary>, loss: bool) {
        let selective = self.config.recovery.needs_sack();
        if selective && !self.cwnd.reduces_proportionally() {
            return;
        }
        self.cwnd.step(ack, loss, &self.flight, selective, self.sizes.smss);
    }

    /// Congestion control hears of an acknowledgment that acknowledges, reports or shows something
    /// new, and what it answers is done.
    fn report_ack(
        &mut self,
        facts: &AckSummary,
        in_flight_before: Bytes,
        window_limited: bool,
        phase: RecoveryPhase,
    ) {
        let (newly, lost) = self.cwnd.take_news(self.flight.ledger());
        if newly + lost + facts.delivered.acked == Bytes::ZERO {
            return;
        }
        let repairs = matches!(phase, RecoveryPhase::Recovery | RecoveryPhase::Corruption);
        let after_timeout = self.cwnd.is_after_timeout(self.flight.snd_una());
        let event = AckEvent {
            now: facts.now,
            smss: facts.smss,
            acked: if repairs { newly } else { facts.delivered.acked },
            newly,
            delivered: self.flight.ledger().delivered(),
            lost,
            in_flight_before,
            in_flight: self.in_flight(),
            rtt: facts.delivered.rtt,
            rtt_again: facts.rtt_again().filter(|_| !after_timeout),
            srtt: self.timers.rtt().congestion_srtt(),
            min_rtt: facts.timing.min_rtt,
            sample: facts.delivered.sample,
            round: self.flight.round(),
            next_send: self.gate.next_send(),
            window_limited,
            selective: self.config.recovery.needs_sack(),
            phase,
            after_timeout,
        };
        debug_assert_eq!(event.in_recovery(), self.flight.in_recovery(), "recovery says so");
        let response = self.cwnd.on_ack(&event);
        if response.reduced {
            self.tally.reduced();
        }
        if response.app_limited {
            self.flight.set_app_limited();
        }
    }

    /// A congestion signal, with `flight_size` bytes outstanding before it.
    pub(super) fn congestion_event(&self, now: Instant, flight_size: Bytes) -> CongestionEvent {
        let flight_size = match self.config.reduction {
            Reduction::OfWindow => self.cwnd(),
            // What limited transmit has added does not count (RFC 5681, 3.2).
            Reduction::Plain | Reduction::Prr | Reduction::PrrAsLinux => {
                flight_size.min(self.cwnd())
            }
        };
        CongestionEvent { now, flight_size, in_flight: self.in_flight(), smss: self.sizes.smss }
    }

    /// Does what recovery has decided, with `flight_size` bytes outstanding before, and an episode
    /// under way then if it was `recovering`.
    pub(super) fn apply(
        &mut self,
        now: Instant,
        verdict: Verdict,
        flight_size: Bytes,
        recovering: bool,
    ) {
        let heard = self.heard(&verdict, recovering);
        for range in verdict.lost {
            let cwnd = &mut self.cwnd;
            self.flight.mark_lost(now, range, |lost| cwnd.lost(lost));
        }
        if verdict.retransmit_now {
            let cause = match verdict.episode {
                Episode::Unchanged => Cause::PartialAck,
                _ => Cause::FastRetransmit,
            };
            self.gate.force(Forced::FirstLost(cause));
        } else if let Some(probe) = verdict.probe {
            self.gate.force(Forced::Probe(probe));
        }
        // A fast retransmission takes a round trip of its own, which a timer that runs since before
        // the duplicates does not wait for. RFC 6675, 6, lets one be set anew; BSD and Linux do so.
        let episode = verdict.episode;
        let retransmits = matches!(episode, Episode::Enter | Episode::Restart | Episode::LostAgain);
        if (verdict.restart_timer || retransmits) && self.flight.size() > Bytes::ZERO {
            self.timers.restart(now);
        }
        if matches!(episode, Episode::Enter | Episode::Restart) {
            self.tally.stats.recoveries += 1;
            self.tally.recovers(now, self.snd_nxt());
        }
        if heard != Episode::Unchanged {
            let event = self.congestion_event(now, flight_size);
            let before = self.cwnd();
            self.cwnd.on_episode(heard, &event, &self.flight, &self.config);
            if !matches!(heard, Episode::Exit | Episode::Deflate) {
                self.tally.window(before, self.cwnd());
            }
        }
    }

    /// Undoes the last reduction if the acknowledgment of `acked` new bytes, which the ledger has
    /// taken, shows that nothing had been lost. True if so.
    fn undo_if_needless(&mut self, ack: &Ack<'_>, acked: Bytes) -> bool {
        let outstanding = self.flight.outstanding();
        let Some(needless) = self.cwnd.needless(ack, acked, &outstanding) else { return false };
        self.tally.stats.spurious += 1;
        self.flight.undo();
        self.forget_unheard();
        self.gate.release_retransmission();
        let burst = acked.min(self.cwnd.initial_window(self.smss()));
        self.cwnd.undo(self.in_flight() + burst);
        if needless.timeout {
            self.timers.was_spurious(needless.point);
        }
        true
    }
}

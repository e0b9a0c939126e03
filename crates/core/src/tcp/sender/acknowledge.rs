//! Taking an acknowledgment: the ledger notes it, recovery judges it, congestion control hears of it,
//! and what recovery decides is done.

use super::{Ack, AckOutcome, Sender, Waits, reduction, transmit};
use crate::tcp::congestion::{Acked, Congested, Delivery, Lost};
use crate::tcp::recovery::{AckFacts, Episode, Timing, Verdict};
use crate::tcp::timestamps;
use crate::time::Instant;
use arrayvec::ArrayVec;
use std::mem;
use std::ops::Range;

impl Sender {
    /// Takes an acknowledgment.
    pub fn on_ack(&mut self, now: Instant, ack: &Ack<'_>) -> AckOutcome {
        // An old one is no answer: its sender cannot use what it is sent (RFC 1122, 4.2.3.5, counts
        // retransmissions of one segment).
        if ack.ack >= self.snd_una() {
            self.unanswered = 0;
        }
        let una = self.snd_una();
        if ack.ack < una {
            return AckOutcome::default();
        }
        let window_changed = self.update_window(ack);
        if ack.occupies && self.ledger.flight_size() == 0 && ack.sack.is_empty() {
            // Data from a peer that has acknowledged all: half of a one-way transfer's segments.
            return AckOutcome::default();
        }
        let in_flight = self.in_flight();
        let limited = self.waits == Waits::CongestionWindow
            || (self.cwnd() < self.ssthresh() && in_flight * 2 >= self.cwnd());
        let outstanding = self.ledger.flight_size() > 0;
        let nxt = self.snd_nxt();
        // A recovery without SACK counts duplicates: with both, the pipe would shrink twice.
        let heeded = self.config.algorithm.needs_sack();
        // DSACKs lie below; what is above snd_nxt was never sent (RFC 5961's spirit).
        let blocks: ArrayVec<Range<u64>, 4> = ack
            .sack
            .iter()
            .filter(|block| heeded && block.start >= ack.ack.max(una) && block.end <= nxt)
            // Most blocks repeat what earlier acknowledgments said.
            .filter(|block| !self.ledger.sacked().contains(block))
            .map(|block| self.whole_segments(block))
            .filter(|block| block.start < block.end)
            .take(4)
            .collect();
        let mut delivered = self.ledger.acknowledge(now, ack.ack, blocks);
        if let Some(rtt) = delivered.rtt {
            self.rtt.sample_at(now, rtt);
            let newest = delivered.arrived.once.map_or(0, |(_, end)| end);
            if self.adopt_rtt_beyond.take_if(|point| newest > *point).is_some() {
                self.rtt.adopt(rtt);
            }
        }
        let undone = self.undo_if_needless(ack, &delivered);
        if undone {
            // It was the original that has arrived, whenever it was sent again.
            delivered.arrived.again = None;
        }
        let repeated = delivered.acked == 0 && !ack.occupies && !window_changed;
        let facts = AckFacts {
            now,
            acked: delivered.acked,
            sacked: delivered.sacked,
            arrived: delivered.arrived,
            duplicate: repeated && outstanding,
            repeated,
            dsack: self.duplicate_report(ack),
            echoes_last: ack.echoed.is_some()
                && ack.echoed == delivered.last_sent.map(timestamps::tick),
            rtt: delivered.rtt,
            sample: delivered.sample,
            timing: self.timing(),
            smss: self.config.smss,
        };
        if self.snd_una() >= self.round.1 && delivered.acked > 0 {
            self.round = (self.round.0 + 1, self.snd_nxt());
        }
        // The undone window does not grow at once.
        let keep_timer = self.judge(&facts, in_flight, limited && !undone);
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
    pub(super) fn duplicate_report(&self, ack: &Ack<'_>) -> Option<Range<u64>> {
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
        let rtt = &self.rtt;
        Timing { srtt: rtt.srtt(), min_rtt: rtt.min_rtt(), rttvar: rtt.rttvar(), rto: rtt.rto() }
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
        let newly = self.tell_delivery(facts, in_flight);
        // In recovery what is acknowledged was often reported before.
        let bytes = if was_in_recovery { newly } else { facts.acked };
        let grows = !was_in_recovery || self.congestion.grows_in_recovery();
        if unchanged && bytes > 0 && grows {
            self.congestion.on_ack(&Acked {
                now: facts.now,
                bytes,
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

    /// Congestion control hears of every acknowledgment that reports or shows something. The bytes that
    /// it newly reports.
    fn tell_delivery(&mut self, facts: &AckFacts, in_flight_before: u64) -> u64 {
        let (delivered, lost) = (self.ledger.delivered(), self.ledger.lost_bytes());
        let (delivered_before, lost_before) = mem::replace(&mut self.told, (delivered, lost));
        let (newly, lost) = (delivered - delivered_before, lost - lost_before);
        if newly + lost == 0 {
            return 0;
        }
        let una = self.snd_una();
        self.timeout_until.take_if(|until| una >= *until);
        self.congestion.on_delivery(&Delivery {
            now: facts.now,
            smss: facts.smss,
            newly,
            delivered,
            lost,
            in_flight: self.in_flight(),
            in_flight_before,
            next_send: self.pacer.next(),
            sample: facts.sample,
            rtt: facts.rtt,
            srtt: facts.timing.srtt,
            min_rtt: facts.timing.min_rtt,
            selective: self.config.algorithm.needs_sack(),
            in_recovery: self.recovery.in_recovery(),
            after_timeout: self.timeout_until.is_some(),
        });
        if self.congestion.limits_itself() {
            self.ledger.set_app_limited();
        }
        newly
    }

    /// Holds `range` lost, of which congestion control hears.
    pub(super) fn hold_lost(&mut self, now: Instant, range: Range<u64>) {
        let (congestion, delivered) = (&mut self.congestion, self.ledger.delivered());
        self.ledger.mark_lost_telling(range, |sample| {
            congestion.on_lost(&Lost { now, delivered, sample });
        });
    }

    /// A congestion signal, with `flight_size` bytes outstanding before it.
    pub(super) fn congested(&self, now: Instant, flight_size: u64) -> Congested {
        // What limited transmit has added does not count (RFC 5681, 3.2).
        let flight_size = flight_size.min(self.congestion.window());
        Congested { now, flight_size, in_flight: self.in_flight(), smss: self.config.smss }
    }

    /// Does what recovery has decided, with `flight_size` bytes outstanding before.
    pub(super) fn apply(&mut self, now: Instant, verdict: Verdict, flight_size: u64) {
        for range in verdict.lost {
            self.hold_lost(now, range);
        }
        if verdict.retransmit_now {
            self.forced = Some(transmit::Forced::FirstLost);
        } else if let Some(probe) = verdict.probe {
            self.forced = Some(transmit::Forced::Probe(probe));
        }
        // A fast retransmission takes a round trip of its own, which a timer that runs since before
        // the duplicates does not wait for. RFC 6675, 6, lets one be set anew; BSD and Linux do so.
        let retransmits =
            matches!(verdict.episode, Episode::Enter | Episode::Restart | Episode::LostAgain);
        if verdict.restart_timer || retransmits {
            self.rto_deadline = Some(self.rtt.deadline(now));
        }
        let smss = self.config.smss;
        let congested = self.congested(now, flight_size);
        self.reduced |= matches!(
            verdict.episode,
            Episode::Enter | Episode::Restart | Episode::Repaired | Episode::LostAgain
        );
        match verdict.episode {
            Episode::Enter => {
                self.stats.recoveries += 1;
                self.watch_reduction(false);
                self.congestion.on_loss(&congested);
                self.begin_reduction();
            }
            Episode::Restart => {
                self.stats.recoveries += 1;
                self.end_reduction();
                self.watch_reduction(true);
                self.timeout_until = Some(self.snd_nxt());
                self.congestion.on_timeout(&congested, false);
            }
            Episode::Repaired => {
                self.end_watch();
                self.congestion.on_loss(&congested);
                self.congestion.on_recovered(self.ledger.flight_size(), smss);
            }
            Episode::LostAgain => self.reduce_again(&congested),
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
        self.beyond_window.take_if(|_| edge >= self.ledger.snd_nxt());
        self.max_window = self.max_window.max(ack.window);
        changed
    }
}

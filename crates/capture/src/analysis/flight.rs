//! One direction's data as its sender would see it: what is outstanding, sacked, and sent how
//! often; and by that, why a segment was retransmitted. The causes are those that RFC 5681, 6675,
//! 8985 (RACK-TLP) and 6298 give a sender.

use super::marks::{Mark, Marks};
use super::ranges::Ranges;
use super::round_trip::RoundTrip;
use crate::connection::{Flags, Segment};
use std::collections::VecDeque;

/// Why a segment was retransmitted, as inferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Three duplicate ACKs (RFC 5681).
    DuplicateAcks,
    /// Three segments behind it were sacked (RFC 6675).
    Sacked,
    /// A segment that was sent after it was delivered (RACK).
    Later,
    /// An ACK in the course of a recovery.
    Recovery,
    /// The retransmission timer expired.
    Timeout,
    /// In the course of a recovery that a timeout began.
    AfterTimeout,
    /// A probe of the tail (TLP).
    TailProbe,
    /// None of these.
    Unknown,
}

impl Cause {
    /// All.
    pub const ALL: [Cause; 8] = [
        Cause::DuplicateAcks,
        Cause::Sacked,
        Cause::Later,
        Cause::Recovery,
        Cause::Timeout,
        Cause::AfterTimeout,
        Cause::TailProbe,
        Cause::Unknown,
    ];

    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Cause::DuplicateAcks => "fast retransmit: three duplicate ACKs",
            Cause::Sacked => "fast retransmit: three segments behind it were sacked",
            Cause::Later => "fast retransmit: a later segment was delivered (RACK)",
            Cause::Recovery => "retransmitted in recovery",
            Cause::Timeout => "retransmission timeout",
            Cause::AfterTimeout => "retransmitted after a timeout",
            Cause::TailProbe => "tail loss probe",
            Cause::Unknown => "unknown",
        }
    }
}

/// What an ACK says.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Answer {
    pub(super) round_trip: Option<i64>,
    pub(super) dsack: bool,
    pub(super) delayed: bool,
}

/// What was sent, for the first time.
#[derive(Debug, Clone, Copy)]
struct Sent {
    begin: i64,
    end: i64,
    at: i64,
}

/// An ACK that came this much later than the fastest, for a lone segment, was delayed: hosts wait
/// 40 ms or more.
const DELAYED: i64 = 25_000_000;
/// An answer to an ACK comes this soon after it, even where the capture is not at the sender.
const AT_ONCE: i64 = 10_000_000;

/// One direction.
#[derive(Debug)]
pub(super) struct Flight {
    mss: i64,
    /// SND.UNA and SND.NXT. `None` before anything.
    una: Option<i64>,
    next: i64,
    /// First transmissions that are not acknowledged, in the order of the stream and of time.
    sent: VecDeque<Sent>,
    sacked: Ranges,
    retransmitted: Ranges,
    duplicates: u32,
    round_trip: RoundTrip,
    /// When the newest of what was delivered had been sent.
    delivered: i64,
    last_ack_at: i64,
    last_sent_at: i64,
    /// When the timer started: an ACK of new data, or a transmission with nothing outstanding.
    timer: i64,
    /// A recovery goes on until this is acknowledged.
    recovery: Option<(i64, Cause)>,
}

impl Flight {
    pub(super) fn new(mss: u32) -> Flight {
        Flight {
            mss: i64::from(mss),
            una: None,
            next: 0,
            sent: VecDeque::new(),
            sacked: Ranges::default(),
            retransmitted: Ranges::default(),
            duplicates: 0,
            round_trip: RoundTrip::default(),
            delivered: i64::MIN,
            last_ack_at: i64::MIN,
            last_sent_at: i64::MIN,
            timer: i64::MIN,
            recovery: None,
        }
    }

    /// Bytes that are sent and not acknowledged.
    pub(super) fn outstanding(&self) -> u64 {
        self.una.map_or(0, |una| (self.next - una).max(0) as u64)
    }

    /// The peer acknowledges up to `ack` and sacks these.
    pub(super) fn on_ack(&mut self, segment: &Segment, ack: i64, sacks: &[(i64, i64)]) -> Answer {
        let mut answer = Answer::default();
        self.last_ack_at = segment.at;
        let una = *self.una.get_or_insert(ack);
        // RFC 2883: below the acknowledgment, or within the second block.
        answer.dsack = sacks.first().is_some_and(|&(left, right)| {
            let inside = |&(begin, end): &(i64, i64)| begin <= left && right <= end;
            right <= ack || sacks.get(1).is_some_and(inside)
        });
        if ack > una {
            self.acknowledged(segment, una, ack, &mut answer);
        } else if ack == una && segment.len == 0 && self.next > una {
            self.duplicates += u32::from(!segment.flags.any(&[Flags::SYN, Flags::FIN]));
        }
        for &(left, right) in sacks.iter().skip(usize::from(answer.dsack)) {
            let (left, right) = (left.max(ack), right.min(self.next));
            if left < right && !self.sacked.contains(left, right) {
                self.sacked.insert(left, right);
                self.delivered_up_to(right);
            }
        }
        answer
    }

    fn acknowledged(&mut self, segment: &Segment, una: i64, ack: i64, answer: &mut Answer) {
        self.delivered_up_to(ack);
        let mut newest = None;
        let mut covered = 0;
        while let Some(&sent) = self.sent.front() {
            if sent.end > ack {
                break;
            }
            self.sent.pop_front();
            newest = Some(sent);
            covered += 1;
        }
        // Karn's rule, for all that it covers: a hole that was filled says nothing of the data
        // behind it. What was sacked before was delivered before.
        let fresh = newest.filter(|sent| {
            !self.retransmitted.overlaps(una, ack) && !self.sacked.overlaps(sent.begin, sent.end)
        });
        if let Some(sent) = fresh {
            let sample = segment.at.saturating_sub(sent.at).max(0);
            self.round_trip.measured(sample);
            answer.round_trip = Some(sample);
            let fastest = self.round_trip.min.unwrap_or(sample);
            answer.delayed = covered == 1
                && sent.end - sent.begin <= self.mss
                && segment.len == 0
                && sample - fastest > DELAYED
                && self.next <= ack;
        }
        self.una = Some(ack);
        self.next = self.next.max(ack);
        self.sacked.forget_before(ack);
        self.retransmitted.forget_before(ack.min(una.max(ack)));
        self.duplicates = 0;
        self.timer = segment.at;
        if self.recovery.is_some_and(|(until, _)| ack >= until) {
            self.recovery = None;
        }
    }

    /// Everything up to here may have been delivered: when was the newest of it sent?
    fn delivered_up_to(&mut self, end: i64) {
        let number = self.sent.partition_point(|sent| sent.end <= end);
        let newest = number.checked_sub(1).and_then(|number| self.sent.get(number));
        if let Some(sent) = newest
            && !self.retransmitted.overlaps(sent.begin, sent.end)
        {
            self.delivered = self.delivered.max(sent.at);
        }
    }

    /// The sender sends. Returns why, if it is a retransmission.
    pub(super) fn on_data(&mut self, segment: &Segment, seq: i64, marks: Marks) -> Option<Cause> {
        let space = i64::from(segment.space());
        if space == 0 {
            return None;
        }
        let (begin, end) = (seq, seq + space);
        let una = *self.una.get_or_insert(begin);
        if self.next == una || self.sent.is_empty() {
            self.timer = self.timer.max(segment.at);
        }
        // Wireshark's rules call what is retransmitted within a round trip out of order. Data that
        // passed here before did not come late.
        let again = marks.retransmitted() || (marks.has(Mark::OutOfOrder) && self.passed(begin));
        let cause = again.then(|| self.cause(segment, begin, end));
        if again {
            self.retransmitted.insert(begin.max(una), end);
            self.timer = self.timer.max(segment.at);
        }
        if end > self.next {
            self.sent.push_back(Sent { begin: begin.max(self.next), end, at: segment.at });
            self.next = end;
        }
        self.last_sent_at = segment.at;
        cause
    }

    /// Whether the capture has the first transmission of this byte, which is not acknowledged.
    fn passed(&self, at: i64) -> bool {
        let number = self.sent.partition_point(|sent| sent.end <= at);
        self.sent.get(number).is_some_and(|sent| sent.begin <= at)
    }

    fn cause(&mut self, segment: &Segment, begin: i64, end: i64) -> Cause {
        let una = self.una.unwrap_or(begin);
        let since = |then: i64| segment.at.saturating_sub(then);
        let at_once = AT_ONCE.max(self.round_trip.smoothed().unwrap_or(0) / 8);
        let answers = since(self.last_ack_at) <= at_once;
        // Nine tenths: what a capture sees of a timer is not exact, nor is its estimate.
        let expired = since(self.timer) >= self.round_trip.timeout() / 10 * 9;
        let evidence = self.evidence(begin, end);
        let cause = match (self.recovery, evidence) {
            _ if begin <= una && expired && !answers => Cause::Timeout,
            (Some((_, Cause::Timeout)), _) => Cause::AfterTimeout,
            (_, Some(evidence)) => evidence,
            (Some(_), None) => Cause::Recovery,
            (None, None) if begin <= una && expired => Cause::Timeout,
            (None, None) if self.probes_tail(segment, end) => Cause::TailProbe,
            (None, None) => Cause::Unknown,
        };
        match cause {
            Cause::Timeout => self.recovery = Some((self.next, Cause::Timeout)),
            Cause::DuplicateAcks | Cause::Sacked | Cause::Later => {
                self.recovery.get_or_insert((self.next, cause));
            }
            _ => {}
        }
        cause
    }

    /// What says that this is lost.
    fn evidence(&self, begin: i64, end: i64) -> Option<Cause> {
        // Three blocks, or three segments' worth: a look at three is enough.
        let mut bytes = 0;
        let mut blocks = 0;
        for (left, right) in self.sacked.behind(end).take(3) {
            bytes += right - left;
            blocks += 1;
        }
        if blocks >= 3 || bytes > 2 * self.mss {
            return Some(Cause::Sacked);
        }
        if self.duplicates >= 3 && self.una.is_some_and(|una| begin <= una) {
            return Some(Cause::DuplicateAcks);
        }
        let number = self.sent.partition_point(|sent| sent.end <= begin);
        let first = self.sent.get(number)?;
        (first.at < self.delivered).then_some(Cause::Later)
    }

    /// RFC 8985, 7.2 and 7.3: the last segment, after two round trips without an ACK.
    fn probes_tail(&self, segment: &Segment, end: i64) -> bool {
        let quiet = self.last_sent_at.max(self.last_ack_at);
        let silence = segment.at.saturating_sub(quiet);
        let Some(smoothed) = self.round_trip.smoothed() else { return false };
        end == self.next && silence >= smoothed.saturating_mul(2) / 10 * 9
    }
}

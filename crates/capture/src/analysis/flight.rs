//! One direction's data as its sender would see it. It shows what is outstanding and sacked, and by
//! that, which data was retransmitted, and why.

use super::cause::Cause;
use super::marks::{Mark, Marks};
use super::ranges::Ranges;
use super::repeat::{Proof, Repeat};
use super::round_trip::{self, RoundTrip};
use super::survey::Survey;
use crate::connection::{Flags, Segment};
use std::collections::VecDeque;

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
    ip_id: u16,
    /// TSval.
    stamp: Option<u32>,
}

/// An ACK that came later than the fastest by a time between these, for a lone segment, was
/// delayed: hosts wait 40 ms or more, and never 500 ms (RFC 1122, 4.2.3.2).
const DELAYED: (i64, i64) = (25_000_000, 500_000_000);
/// A first transmission that comes late is kept among so many of an end.
const ASIDE: usize = 4096;
/// So much of what was acknowledged is remembered.
const ACKED: usize = 256;
/// A host answers an ACK so soon, plus the time to the capture and back.
const AT_ONCE: i64 = 1_000_000;

/// One direction.
#[derive(Debug)]
pub(super) struct Flight {
    mss: i64,
    /// True if IP IDs tell the order of sending.
    ids: bool,
    /// How soon the sender answers, as the capture sees it.
    reaction: i64,
    /// SND.UNA and SND.NXT. `None` before anything.
    una: Option<i64>,
    next: i64,
    /// True if any ACK was heard.
    heard: bool,
    /// First transmissions that are not acknowledged, in the order of the stream and of time.
    sent: VecDeque<Sent>,
    /// The last of those that were acknowledged, in the order of the stream.
    acked: VecDeque<Sent>,
    sacked: Ranges,
    retransmitted: Ranges,
    duplicates: u32,
    /// The last window of the other end, not scaled.
    window: u16,
    round_trip: RoundTrip,
    /// When the newest of what was delivered had been sent, and its end: a super-segment's have one
    /// time (RFC 8985, 6.2 step 2).
    delivered: (i64, i64),
    last_ack_at: i64,
    last_sent_at: i64,
    /// When the timer started: an ACK of new data, or a transmission with nothing outstanding.
    timer: i64,
    /// A timer expired since the last new ACK.
    expired: bool,
    /// A recovery goes on until this is acknowledged.
    recovery: Option<(i64, Cause)>,
}

impl Flight {
    pub(super) fn new(survey: &Survey) -> Flight {
        Flight {
            mss: i64::from(survey.mss),
            ids: survey.ids,
            reaction: survey.reaction,
            una: None,
            next: 0,
            heard: false,
            sent: VecDeque::new(),
            acked: VecDeque::new(),
            sacked: Ranges::default(),
            retransmitted: Ranges::default(),
            duplicates: 0,
            window: 0,
            round_trip: RoundTrip::default(),
            delivered: (i64::MIN, i64::MIN),
            last_ack_at: i64::MIN,
            last_sent_at: i64::MIN,
            timer: i64::MIN,
            expired: false,
            recovery: None,
        }
    }

    /// Bytes that are sent and not acknowledged; 0 as long as no ACK says what is.
    pub(super) fn outstanding(&self) -> u64 {
        self.una.filter(|_| self.heard).map_or(0, |una| (self.next - una).max(0) as u64)
    }

    /// The peer acknowledges up to `ack` and sacks these.
    pub(super) fn on_ack(&mut self, segment: &Segment, ack: i64, sacks: &[(i64, i64)]) -> Answer {
        let mut answer = Answer::default();
        self.last_ack_at = segment.at;
        self.heard = true;
        let una = *self.una.get_or_insert(ack);
        // RFC 2883: below the acknowledgment, or within the second block.
        answer.dsack = sacks.first().is_some_and(|&(left, right)| {
            let inside = |&(begin, end): &(i64, i64)| begin <= left && right <= end;
            right <= ack || sacks.get(1).is_some_and(inside)
        });
        if ack > una {
            self.acknowledged(segment, una, ack, &mut answer);
        } else if ack == una && segment.len == 0 && self.next > una {
            // RFC 5681, 2, and RFC 6675, 2: of an update of the window nothing was lost.
            let repeats = self.window == segment.window || !sacks.is_empty();
            let control = segment.flags.any(&[Flags::SYN, Flags::FIN]);
            self.duplicates += u32::from(repeats && !control);
        }
        self.window = segment.window;
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
            if self.acked.len() == ACKED {
                self.acked.pop_front();
            }
            self.acked.push_back(sent);
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
            let jitter = self.round_trip.variation();
            self.round_trip.measured(sample);
            answer.round_trip = Some(sample);
            let waited = sample - self.round_trip.min.unwrap_or(sample);
            // Of a path whose round trips vary as much nothing is told.
            answer.delayed = covered == 1
                && sent.end - sent.begin <= self.mss
                && segment.len == 0
                && waited > DELAYED.0.max(jitter * 4)
                && waited < DELAYED.1
                && self.next <= ack;
        }
        self.una = Some(ack);
        self.expired = false;
        self.next = self.next.max(ack);
        self.sacked.forget_before(ack);
        self.retransmitted.forget_before(ack);
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
            self.delivered = self.delivered.max((sent.at, sent.end));
        }
    }

    /// The sender sends. Returns whether its data is repeated, and why it was retransmitted.
    pub(super) fn on_data(
        &mut self,
        segment: &Segment,
        seq: i64,
        marks: Marks,
    ) -> (Repeat, Option<Cause>) {
        let space = i64::from(segment.space());
        // Probes are of no account: what they send again, or ahead, is sent for its own sake.
        let idle = self.una.is_none_or(|una| una >= self.next);
        let probes = marks.has(Mark::ZeroWindowProbe) || (marks.has(Mark::KeepAlive) && idle);
        if space == 0 || probes {
            return (Repeat::New, None);
        }
        let (begin, end) = (seq, seq + space);
        let una = *self.una.get_or_insert(begin);
        if self.next == una || self.sent.is_empty() {
            self.timer = self.timer.max(segment.at);
        }
        let repeat = self.repeat(segment, begin);
        let cause = repeat.is_retransmission().then(|| self.cause(segment, begin, end));
        if !matches!(repeat, Repeat::New | Repeat::Late(_)) {
            self.retransmitted.insert(begin.max(una), end);
            if begin <= una {
                self.timer = self.timer.max(segment.at);
            }
        }
        self.first_transmission(segment, begin, end);
        self.last_sent_at = segment.at;
        (repeat, cause)
    }

    /// True if data that begins here was sent before, comes late, or is new.
    fn repeat(&self, segment: &Segment, begin: i64) -> Repeat {
        if begin >= self.next {
            return Repeat::New;
        }
        let before = |other: u16| (segment.ip_id.wrapping_sub(other) as i16) < 0;
        if self.heard && self.una.is_some_and(|una| begin < una) {
            // The first transmission may come behind one that has filled the hole.
            let number = self.acked.partition_point(|sent| sent.begin <= begin);
            let behind = self.acked.get(number).or(self.sent.front());
            return match behind {
                Some(behind) if self.ids && before(behind.ip_id) => Repeat::Late(Proof::IpId),
                _ => Repeat::Retransmitted(Proof::Acknowledged),
            };
        }
        let number = self.sent.partition_point(|sent| sent.end <= begin);
        let Some(behind) = self.sent.get(number) else { return Repeat::Undecided };
        if behind.begin <= begin {
            return match self.ids && before(behind.ip_id) {
                true => Repeat::Late(Proof::IpId),
                false => Repeat::Retransmitted(Proof::Passed),
            };
        }
        // The data behind the hole was sent after the hole's, and before what fills it again.
        let is_later = |later, proof| {
            if later { Repeat::Retransmitted(proof) } else { Repeat::Late(proof) }
        };
        if self.ids {
            return is_later(!before(behind.ip_id), Proof::IpId);
        }
        match (segment.timestamps, behind.stamp) {
            (Some((stamp, _)), Some(other)) => {
                is_later((stamp.wrapping_sub(other) as i32) > 0, Proof::Timestamp)
            }
            _ => Repeat::Undecided,
        }
    }

    /// Keeps what was not seen before of a segment, in the order of the stream.
    fn first_transmission(&mut self, segment: &Segment, begin: i64, end: i64) {
        let una = self.una.unwrap_or(begin);
        let number = self.sent.partition_point(|sent| sent.end <= begin);
        let before = self.sent.get(number).map(|behind| behind.begin);
        let sent = Sent {
            begin: begin.max(una),
            end: before.map_or(end, |before| end.min(before)),
            at: segment.at,
            ip_id: segment.ip_id,
            stamp: segment.timestamps.map(|(value, _)| value),
        };
        // Of what comes very late, among very much that is outstanding, nothing is kept: inserting
        // is slow there.
        let aside = number.min(self.sent.len() - number);
        if sent.begin < sent.end && aside <= ASIDE {
            self.sent.insert(number, sent);
        }
        // What goes beyond the highest, where it begins below that.
        if end > self.next {
            if before.is_some() {
                self.sent.push_back(Sent { begin: self.next, end, ..sent });
            }
            self.next = end;
        }
    }

    fn cause(&mut self, segment: &Segment, begin: i64, end: i64) -> Cause {
        let una = self.una.unwrap_or(begin);
        let since = |then: i64| segment.at.saturating_sub(then);
        let answers = since(self.last_ack_at) <= AT_ONCE + self.reaction;
        // Nine tenths: what a capture sees of a timer is not exact, nor is its estimate.
        let smoothed = self.round_trip.smoothed().unwrap_or(i64::MAX / 2);
        let overdue = since(self.timer) >= self.round_trip.timeout() / 10 * 9;
        // What was retransmitted before, and is the first again so late, is not found by an ACK.
        let again = self.retransmitted.overlaps(una, una + 1);
        let expired = overdue
            // A retransmission that is lost, too, is found by the timer where no ACK came just now.
            || (since(self.timer) >= round_trip::MIN && again)
            // No ACK starts a retransmission later than the time that RACK waits for reordering.
            || (since(self.timer) >= smoothed.max(round_trip::MIN)
                && since(self.last_ack_at) > smoothed / 4);
        let evidence = self.evidence(begin, end);
        let cause = match (self.recovery, evidence) {
            _ if begin <= una && expired && !answers && self.may_probe(end) => {
                Cause::TimeoutOrProbe
            }
            _ if begin <= una && expired && !answers => Cause::Timeout,
            _ if begin <= una && overdue && again => Cause::Timeout,
            (Some((_, Cause::Timeout)), _) => Cause::AfterTimeout,
            (_, Some(evidence)) => evidence,
            (Some(_), None) => Cause::Recovery,
            (None, None) if begin <= una && expired => Cause::Timeout,
            (None, None) if self.probes_tail(segment, end) && begin <= una => Cause::TimeoutOrProbe,
            (None, None) if self.probes_tail(segment, end) => Cause::TailProbe,
            (None, None) if begin <= una && self.is_long(segment.at) => Cause::TimeoutOrProbe,
            (None, None) => Cause::Unknown,
        };
        self.expired |= matches!(cause, Cause::Timeout | Cause::TimeoutOrProbe);
        match cause {
            Cause::Timeout => self.recovery = Some((self.next, Cause::Timeout)),
            Cause::DuplicateAcks | Cause::Sacked | Cause::Later => {
                self.recovery.get_or_insert((self.next, cause));
            }
            _ => {}
        }
        cause
    }

    /// True if it was quiet for so long that nothing but a timer can have made the sender send.
    fn is_long(&self, at: i64) -> bool {
        let quiet = self.timer.max(self.last_sent_at).max(self.last_ack_at);
        let shortest = self.round_trip.smoothed().unwrap_or(0).max(round_trip::MIN);
        at.saturating_sub(quiet) >= shortest
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
        ((first.at, first.end) < self.delivered).then_some(Cause::Later)
    }

    /// True if it is the only segment outstanding, of which a probe cannot be told from a timeout:
    /// unless it is the second in a row.
    fn may_probe(&self, end: i64) -> bool {
        end == self.next && !self.expired && self.recovery.is_none()
    }

    /// RFC 8985, 7.2 and 7.3: the last segment, after two round trips without an ACK.
    fn probes_tail(&self, segment: &Segment, end: i64) -> bool {
        let quiet = self.last_sent_at.max(self.last_ack_at);
        let silence = segment.at.saturating_sub(quiet);
        let Some(smoothed) = self.round_trip.smoothed() else { return false };
        end == self.next && silence >= smoothed.saturating_mul(2) / 10 * 9
    }
}

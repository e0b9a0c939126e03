//! A sender as the capture shows it: what it has sent and heard.

mod conclusion;

use super::Trigger;
use super::habits::{BACK_TO_BACK, Habits};
use crate::analysis::{AT_THE_END, Fact, Mark, NOWHERE_ELSE, Vantage};
use crate::connection::{Flags, Segment};

/// A host answers so soon, in nanoseconds, plus the time to the capture and back.
const AT_ONCE: i64 = 1_000_000;
/// So much of a round trip is too long for an answer.
const RHYTHM: i64 = 16;
/// A sender that is further away from the capture is not near.
const BACK_MAX: i64 = 50_000_000;

/// What the sender heard last.
#[derive(Debug, Clone, Copy)]
struct Heard {
    at: i64,
    frame: u32,
    ack: i64,
    duplicates: u32,
    sacked: Option<i64>,
    /// It carries data.
    data: bool,
    /// The segments that it acknowledged all, if it did so, were no full one.
    short: bool,
}

/// The end of the peer's window.
#[derive(Debug, Clone, Copy)]
struct Edge {
    frame: u32,
    place: i64,
    /// Its scale is known, or does not matter: else it is at least there.
    exact: bool,
    closed: bool,
}

/// A sender, as the capture shows it.
#[derive(Debug)]
pub(super) struct Sender {
    vantage: Vantage,
    mss: i64,
    /// SND.UNA and SND.NXT.
    una: i64,
    next: i64,
    edge: Option<Edge>,
    /// When an ACK came that found the window full, and what said how far it went.
    full: Option<(i64, Edge)>,
    heard: Option<Heard>,
    pub(super) last_sent: Option<i64>,
    last_len: u32,
    /// Its last segment had PSH.
    pushed: bool,
    /// When the last byte outstanding was acknowledged, and the packet that did.
    idle: Option<(i64, u32)>,
    /// What is retransmitted began an episode that goes on until this is acknowledged, and the
    /// packet that began it.
    recovery: Option<(i64, u32)>,
    /// The peer's data came since it sent last.
    asked: bool,
    /// It has sent its FIN.
    ended: bool,
    /// Until this is acknowledged what is in flight is not known: the capture has a gap.
    gap: i64,
    /// The peer's window had room for one more when it sent last, for certain.
    had_room: bool,
    /// A recovery was going on when it sent last.
    in_recovery: bool,
    /// Bytes in flight when it sent last.
    in_flight: i64,
    /// How it behaves as a whole, if that is known already.
    known: Habits,
    /// What it has shown of that until now.
    shown: Habits,
    /// The smallest round trip to the other end.
    trip: Option<i64>,
    /// The smallest one from the capture to the sender.
    back: i64,
    /// What it answers with leaves within this.
    at_once: i64,
}

impl Sender {
    pub(super) fn new(
        mss: u32,
        vantage: Vantage,
        trip: Option<i64>,
        back: Option<i64>,
        known: Habits,
    ) -> Sender {
        let back = back.unwrap_or(0).min(BACK_MAX);
        let answer = known.answer().map(|answer| answer * 2);
        // At the host, what takes a good part of a round trip is an application's own rhythm.
        let rhythm = trip.filter(|_| back <= NOWHERE_ELSE).map_or(i64::MAX, |trip| trip / RHYTHM);
        let vantage = match vantage {
            // Further away it has to be seen that answers always take about as long.
            Vantage::Sender if back > AT_THE_END && answer.is_none() => Vantage::Between,
            vantage => vantage,
        };
        Sender {
            vantage,
            mss: i64::from(mss),
            una: 0,
            next: 0,
            edge: None,
            full: None,
            heard: None,
            last_sent: None,
            last_len: 0,
            pushed: false,
            idle: None,
            recovery: None,
            asked: false,
            ended: false,
            gap: 0,
            had_room: false,
            in_recovery: false,
            in_flight: 0,
            known,
            shown: Habits::default(),
            trip,
            back,
            at_once: answer.unwrap_or(0).min(rhythm).max(AT_ONCE + back),
        }
    }

    /// The connection is open: what it may send waits for nothing but its application.
    pub(super) fn opens(&mut self, at: i64, frame: u32) {
        self.last_sent = Some(at);
        self.idle = Some((at, frame));
        self.una = self.una.max(1);
        self.next = self.next.max(1);
    }

    /// The peer acknowledges.
    pub(super) fn hears(
        &mut self,
        segment: &Segment,
        fact: &Fact,
        at: i64,
        ack: i64,
        sacks: &[(i64, i64)],
    ) {
        let same = segment.len == 0 && !segment.flags.any(&[Flags::SYN, Flags::FIN]);
        let duplicates = match self.heard {
            Some(before) if before.ack == ack && same => before.duplicates.saturating_add(1),
            _ => 0,
        };
        let sacked = sacks.iter().map(|&(_, right)| right).max().filter(|&right| right > ack);
        let frame = segment.frame;
        let short = ack >= self.next && ack > self.una && self.next - self.una < self.mss;
        let data = segment.len > 0;
        self.asked |= data;
        self.heard = Some(Heard { at, frame, ack, duplicates, sacked, data, short });
        if let Some(edge) = self.edge.filter(|_| self.is_full()) {
            self.full = Some((at, edge));
        }
        if ack > self.una {
            self.una = ack;
            if ack >= self.next {
                self.idle = Some((at, frame));
            }
        }
        self.opens_window(segment, fact, ack);
        if self.recovery.is_some_and(|(until, _)| ack >= until) {
            self.recovery = None;
        }
    }

    /// Where the peer's window ends now. Without its scale it is at least as wide as the number
    /// that it announces.
    fn opens_window(&mut self, segment: &Segment, fact: &Fact, ack: i64) {
        let width = fact.window.unwrap_or(u64::from(segment.window));
        let place = ack.saturating_add(i64::try_from(width).unwrap_or(i64::MAX));
        let exact = fact.window.is_some();
        self.edge = Some(Edge { frame: segment.frame, place, exact, closed: width == 0 });
    }

    /// It sends data that ends at `end`.
    pub(super) fn sends(&mut self, segment: &Segment, fact: &Fact, at: i64, end: i64, again: bool) {
        if let Some(heard) =
            self.heard.filter(|heard| !heard.data && Some(heard.at) > self.last_sent)
        {
            self.shown.answers_after(at.saturating_sub(heard.at));
        }
        self.shows(segment, at, again);
        if again && fact.cause.is_some() {
            self.recovery.get_or_insert((self.next, segment.frame));
        }
        if end > self.next {
            self.idle = None;
        }
        self.next = self.next.max(end);
        self.last_sent = Some(at);
        self.last_len = segment.len;
        self.pushed = segment.flags.has(Flags::PSH);
        self.ended |= segment.flags.has(Flags::FIN);
        self.full = None;
        self.asked = false;
        self.in_flight = self.next - self.una;
        self.in_recovery = self.recovery.is_some();
        self.had_room = self.has_room();
        self.shown.pushes |= self.pushed && i64::from(self.last_len) >= self.mss;
        if fact.marks.has(Mark::LostSegment) {
            self.gap = self.next;
        }
        // What of a gap in the capture was acknowledged is not known.
        if self.una >= self.gap {
            self.shown.max_in_flight = self.shown.max_in_flight.max(self.in_flight);
        }
    }

    /// What this segment says of it as a whole.
    fn shows(&mut self, segment: &Segment, at: i64, again: bool) {
        // Behind a full one it may be the rest of a write.
        if !again && i64::from(self.last_len) < self.mss {
            self.shown.shortest = self.shown.shortest.min(segment.len);
        }
        if again || self.next <= self.una {
            return;
        }
        if i64::from(segment.len) < self.mss {
            let behind_short = i64::from(self.last_len) < self.mss;
            self.shown.nodelay |= behind_short && !segment.flags.has(Flags::FIN);
            return;
        }
        let since = |then: Option<i64>| then.map_or(i64::MAX, |then| at.saturating_sub(then));
        let heard = since(self.heard.map(|heard| heard.at));
        // What leaves back to back leaves for the reason of the first.
        let alone =
            since(self.last_sent) > BACK_TO_BACK && heard > BACK_TO_BACK + self.back / 4 * 5;
        *(if alone { &mut self.shown.alone } else { &mut self.shown.clocked }) += 1;
    }

    /// What it has shown of how it behaves as a whole.
    pub(super) fn habits(&self) -> Habits {
        self.shown
    }

    /// True if the peer's window has no room for a segment, and that is certain.
    fn is_full(&self) -> bool {
        let known = self.edge.filter(|edge| edge.exact);
        let room = known.map(|edge| edge.place.saturating_sub(self.next));
        self.last_sent.is_some() && room.is_some_and(|room| room < self.mss)
    }

    /// True if the peer's window is closed.
    pub(super) fn is_closed(&self) -> bool {
        self.edge.is_some_and(|edge| edge.closed)
    }

    /// True if the peer's window has room for a segment, and that is certain.
    fn has_room(&self) -> bool {
        self.edge.is_some_and(|edge| edge.exact || edge.place - self.next >= self.mss)
    }

    /// What seems to have made it retransmit now.
    pub(super) fn trigger(&self, at: i64) -> Option<Trigger> {
        if self.vantage != Vantage::Sender {
            return None;
        }
        let since = |then: i64| at.saturating_sub(then);
        match self.heard {
            Some(Heard { at: then, frame, ack, duplicates, sacked, .. })
                if since(then) <= self.at_once =>
            {
                Some(Trigger::Ack { frame, ack, duplicates, sacked })
            }
            Some(heard) => Some(Trigger::Quiet { nanos: since(heard.at), acked: true }),
            None => Some(Trigger::Quiet { nanos: since(self.last_sent?), acked: false }),
        }
    }
}

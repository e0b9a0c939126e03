//! What keeps a sender from sending, as its segments and the ACKs that it hears tell.

use super::Trigger;
use crate::analysis::Fact;
use crate::connection::{Flags, Segment};
use crate::silence::Limiter;
use bentpipe_core::tcp::cause::Cause as SenderCause;

impl Limiter {
    /// What the cause of the segment that ended a silence says of it: new data leaves because its
    /// limiter has gone.
    fn ended_by(cause: SenderCause) -> Option<Limiter> {
        match cause {
            SenderCause::Written => Some(Limiter::Application),
            SenderCause::Coalesced => Some(Limiter::Nagle),
            SenderCause::WindowOpened | SenderCause::WindowProbe => Some(Limiter::PeerWindow),
            SenderCause::Paced => Some(Limiter::Pacer),
            SenderCause::LinkTurn => Some(Limiter::Link),
            SenderCause::MarkOver => Some(Limiter::Mark),
            SenderCause::KeepAlive => Some(Limiter::Application),
            SenderCause::AfterTimeout
            | SenderCause::FastRecovery
            | SenderCause::Rack
            | SenderCause::PartialAck
            | SenderCause::Rescue => Some(Limiter::Recovery),
            _ => None,
        }
    }
}

/// An answer comes this soon after what it answers, or an eighth of a round trip, in nanoseconds.
const AT_ONCE: i64 = 10_000_000;

/// An ACK that the sender heard.
#[derive(Debug, Clone, Copy)]
struct Heard {
    at: i64,
    frame: u32,
    ack: i64,
    duplicates: u32,
    sacked: Option<i64>,
}

/// A sender, as the capture shows it.
#[derive(Debug)]
pub(super) struct Sender {
    /// The capture is far from it: ACKs pass long before it hears them.
    far: bool,
    mss: i64,
    /// One past the last byte that it will ever send.
    last_place: i64,
    /// SND.UNA and SND.NXT.
    una: i64,
    next: i64,
    /// The end of the peer's window.
    edge: Option<i64>,
    /// When an ACK came that found the window full.
    full: Option<i64>,
    heard: Option<Heard>,
    pub(super) last_sent: Option<i64>,
    last_len: u32,
    /// When the last byte outstanding was acknowledged.
    idle: Option<i64>,
    /// What is retransmitted began an episode that goes on until this is acknowledged.
    recovery: Option<i64>,
    /// The smallest round trip.
    trip: Option<i64>,
}

impl Sender {
    pub(super) fn new(mss: u32, last_place: i64, far: bool) -> Sender {
        Sender {
            far,
            mss: i64::from(mss),
            last_place,
            una: 0,
            next: 0,
            edge: None,
            full: None,
            heard: None,
            last_sent: None,
            last_len: 0,
            idle: None,
            recovery: None,
            trip: None,
        }
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
        self.trip = [self.trip, fact.round_trip].into_iter().flatten().min();
        let same = segment.len == 0 && !segment.flags.any(&[Flags::SYN, Flags::FIN]);
        let duplicates = match self.heard {
            Some(before) if before.ack == ack && same => before.duplicates.saturating_add(1),
            _ => 0,
        };
        let sacked = sacks.iter().map(|&(_, right)| right).max().filter(|&right| right > ack);
        self.heard = Some(Heard { at, frame: segment.frame, ack, duplicates, sacked });
        if ack > self.una {
            self.una = ack;
            if ack >= self.next {
                self.idle = Some(at);
            }
        }
        if self.is_full() {
            self.full = Some(at);
        }
        if let Some(window) = fact.window {
            self.edge = Some(ack.saturating_add(i64::try_from(window).unwrap_or(i64::MAX)));
        }
        if self.recovery.is_some_and(|until| ack >= until) {
            self.recovery = None;
        }
    }

    /// It sends data that ends at `end`.
    pub(super) fn sends(&mut self, fact: &Fact, at: i64, end: i64, len: u32, again: bool) {
        if again && fact.cause.is_some() {
            self.recovery.get_or_insert(self.next);
        }
        if end > self.next {
            self.idle = None;
        }
        self.next = self.next.max(end);
        self.last_sent = Some(at);
        self.last_len = len;
    }

    /// Whether the peer's window has no room for a segment.
    fn is_full(&self) -> bool {
        let room = self.edge.map(|edge| edge.saturating_sub(self.next));
        self.last_sent.is_some() && room.is_some_and(|room| room < self.mss)
    }

    fn at_once(&self) -> i64 {
        AT_ONCE.max(self.trip.unwrap_or(0) / 8)
    }

    /// What seems to have made it retransmit now.
    pub(super) fn trigger(&self, at: i64) -> Option<Trigger> {
        if self.far {
            return None;
        }
        let quiet = self.heard.map_or(self.last_sent, |heard| Some(heard.at))?;
        let since = at.saturating_sub(quiet);
        match self.heard.filter(|_| since <= self.at_once()) {
            Some(Heard { frame, ack, duplicates, sacked, .. }) => {
                Some(Trigger::Ack { frame, ack, duplicates, sacked })
            }
            None => Some(Trigger::Quiet(since)),
        }
    }

    /// What kept it from sending until now, and whether that is inferred.
    pub(super) fn limiter(
        &self,
        segment: &Segment,
        fact: &Fact,
        at: i64,
        again: bool,
    ) -> (Limiter, bool) {
        let known = segment.recorded.and_then(Limiter::ended_by);
        if let Some(limiter) = known {
            return (limiter, false);
        }
        // Cwnd and recovery both wait for ACKs: whether an episode goes on is inferred.
        if segment.recorded == Some(SenderCause::AckClock) {
            return match self.recovery {
                Some(_) => (Limiter::Recovery, true),
                None => (Limiter::CongestionWindow, false),
            };
        }
        let limiter = if self.far { Limiter::Unknown } else { self.inferred(fact, at, again) };
        (limiter, true)
    }

    fn inferred(&self, fact: &Fact, at: i64, again: bool) -> Limiter {
        let since = |then: i64| at.saturating_sub(then);
        let answers = self.heard.is_some_and(|heard| since(heard.at) <= self.at_once());
        let opened = self.full.is_some_and(|full| since(full) <= self.at_once());
        if (opened || self.is_full()) && self.last_place > self.next {
            return Limiter::PeerWindow;
        }
        if self.idle.is_some_and(|idle| since(idle) > self.at_once()) {
            return Limiter::Application;
        }
        if self.recovery.is_some() {
            return Limiter::Recovery;
        }
        if again {
            // What comes later shows that there was more to send.
            let more = self.last_place > self.next;
            return if more { Limiter::CongestionWindow } else { Limiter::Application };
        }
        match answers {
            true if i64::from(self.last_len) < self.mss && fact.seq <= self.una => Limiter::Nagle,
            true => Limiter::CongestionWindow,
            false => Limiter::Application,
        }
    }
}

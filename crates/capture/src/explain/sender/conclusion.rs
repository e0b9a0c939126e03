//! Conclusions from a sender's state: what it shows of a silence.

use super::{Heard, Sender};
use crate::analysis::{Fact, Mark, NOWHERE_ELSE};
use crate::class::{Class, ClassKind};
use crate::connection::Segment;
use crate::evidence::{Evidence, Reason};
use crate::explain::habits::BACK_TO_BACK;
use crate::explain::too_far;
use crate::limiter::Limiter;
use crate::silence::Basis;
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
            SenderCause::AckClock => Some(Limiter::CongestionWindow),
            SenderCause::AfterTimeout
            | SenderCause::FastRecovery
            | SenderCause::Rack
            | SenderCause::PartialAck
            | SenderCause::Rescue => Some(Limiter::Recovery),
            _ => None,
        }
    }
}

/// A segment that Nagle's rule held back leaves sooner after the ACK.
const NAGLE: i64 = 1_000_000;
/// A segment that a host holds back leaves so soon behind the ACK, as no application is woken.
const RELEASE: i64 = 50_000;
/// Where no round trip is known all has to be acknowledged for so long.
const IDLE: i64 = 1_000_000_000;
/// And at least for so long.
const IDLE_MIN: i64 = 1_000_000;
/// Away from the host, where the ACK may have queued on its way.
const IDLE_AWAY: i64 = 200_000_000;

impl Sender {
    /// What kept it from sending until now.
    pub(in crate::explain) fn limiter(
        &mut self,
        segment: &Segment,
        fact: &Fact,
        at: i64,
        class: Class,
    ) -> Basis {
        match segment.recorded.and_then(Limiter::ended_by) {
            Some(limiter) => Basis::Recorded(limiter),
            None => Basis::Inferred(self.evidence(segment, fact, at, class)),
        }
    }

    /// What the capture shows of the silence that this segment ends.
    fn evidence(&mut self, segment: &Segment, fact: &Fact, at: i64, class: Class) -> Evidence {
        if fact.marks.has(Mark::LostSegment) {
            return Evidence::None(Reason::Missing);
        }
        // Probes of a closed window tell the same wherever they are seen.
        if let (Class::Probe, Some(edge)) = (class, self.edge.filter(|edge| edge.closed)) {
            return Evidence::WindowZero { packet: edge.frame };
        }
        if let Some(reason) = too_far(self.vantage) {
            return Evidence::None(reason);
        }
        if self.ended && !self.in_recovery {
            return Evidence::Ended;
        }
        let window = self.window(at);
        if class.kind() == ClassKind::Again {
            let evidence =
                window.map(|_| Evidence::WindowAndLoss).or_else(|| self.idle(segment, at));
            return evidence.unwrap_or(Evidence::None(Reason::Retransmission));
        }
        if let Some(evidence) = window.or_else(|| self.idle(segment, at)) {
            return evidence;
        }
        match self.heard {
            Some(heard) if at.saturating_sub(heard.at) <= self.at_once => {
                self.upon(heard, segment, at)
            }
            _ => self.unprompted(at),
        }
    }

    /// What it shows that the segment left when this was heard.
    fn upon(&mut self, heard: Heard, segment: &Segment, at: i64) -> Evidence {
        let (packet, bytes) = (heard.frame, self.in_flight);
        let all = self.una >= self.next;
        let short = i64::from(segment.len) < self.mss;
        if heard.data && !self.has_more() {
            if !all && !self.had_room {
                return Evidence::None(Reason::UnknownScale);
            }
            // What was held back leaves before an application could be woken.
            let at_once = at.saturating_sub(heard.at) <= RELEASE + self.back.min(RELEASE);
            let held = self.known.nagle() || (at_once && !self.known.nodelay);
            let nagle = short && all && heard.short && held;
            return Evidence::PeersData { packet, all, nagle };
        }
        if short && all && at.saturating_sub(heard.at) <= NAGLE + self.back && !self.known.nodelay {
            self.shown.waited += u32::from(heard.short);
            // Behind full segments it may have waited for cwnd as well.
            let times = if heard.short { self.known.waited } else { 0 };
            let writes = segment.len / self.known.shortest.max(1);
            return Evidence::ShortSegments { packet, times, writes, asked: self.asked };
        }
        // Neither a window nor a pacer divides what was written into short segments.
        if i64::from(self.last_len) < self.mss {
            return match self.in_recovery {
                true => Evidence::None(Reason::Several),
                false => Evidence::AllSent { packet, bytes },
            };
        }
        if short {
            return match self.pushed {
                true => Evidence::AllSent { packet, bytes },
                false => Evidence::ShortBehindFull { packet, bytes },
            };
        }
        self.clock(packet, at.saturating_sub(heard.at))
    }

    /// An ACK has made room, so long ago.
    fn clock(&self, packet: u32, nanos: i64) -> Evidence {
        let flights = (self.in_flight, self.known.max_in_flight.max(self.in_flight));
        // A segment more or less is chance: ACKs and segments are whole.
        let less = flights.0 < flights.1 - self.mss;
        let (room, paced) = (self.had_room, self.known.paces());
        // What is paced leaves just behind an ACK by chance, too.
        if paced && !less && nanos > BACK_TO_BACK + self.back {
            return Evidence::None(Reason::Several);
        }
        let recovery = self.recovery.map(|(_, began)| began);
        Evidence::AckClock { packet, flights, less, room, recovery, paced }
    }

    /// True if more than it had sent was written: its last segment is full, and has no PSH (RFC
    /// 9293, 3.9.1.2). With Nagle's rule that may be less than a segment.
    fn has_more(&self) -> bool {
        i64::from(self.last_len) >= self.mss && !self.pushed
    }

    /// Nothing that was heard has made it send.
    fn unprompted(&self, at: i64) -> Evidence {
        // What it heard may have queued on the way, or was lost.
        if self.back > NOWHERE_ELSE {
            return Evidence::None(Reason::Between);
        }
        let heard = self.heard.map(|heard| heard.at).or(self.last_sent);
        let nanos = at.saturating_sub(heard.unwrap_or(at));
        // RFC 8985, 7.2: after two round trips.
        let quiet = self.last_sent.map_or(0, |sent| at.saturating_sub(sent));
        let quiet = self.trip.is_some_and(|trip| quiet >= trip.saturating_mul(2));
        let probe = quiet && self.una < self.next && !self.known.paces();
        if self.has_more() && self.known.nodelay && self.known.pushes && !probe {
            return Evidence::MoreWritten { nanos };
        }
        let nagle = self.known.nagle() && !self.known.paces();
        Evidence::Unprompted { nanos, nagle, probe }
    }

    /// True if the peer's window was full, or closed.
    fn window(&self, at: i64) -> Option<Evidence> {
        // A pacer may have had the rest of the time.
        let most = |then: i64| self.last_sent.is_some_and(|sent| then - sent >= at - then);
        let opened =
            self.full.filter(|&(then, _)| at.saturating_sub(then) <= self.at_once || most(then));
        let edge = match opened {
            Some((_, edge)) => edge,
            None if self.is_full() => self.edge?,
            None => return None,
        };
        // What is shorter than a segment, and does not end at the edge, was all that was written.
        let all_written = i64::from(self.last_len) < self.mss && edge.place != self.next;
        if all_written && !edge.closed {
            return None;
        }
        let packet = opened.and(self.heard).map(|heard| heard.frame);
        let episode = self.recovery.is_some() || self.in_recovery;
        Some(match edge.closed {
            true => Evidence::WindowZero { packet: edge.frame },
            false => Evidence::WindowFull { packet, episode },
        })
    }

    /// True if there was nothing to send, as all was acknowledged.
    fn idle(&self, segment: &Segment, at: i64) -> Option<Evidence> {
        let (then, packet) = self.idle?;
        let nanos = at.saturating_sub(then).saturating_sub(self.back);
        // More was written, and nothing was in flight: a pacer has kept it.
        let kept = self.has_more() && self.known.paces() && self.in_flight > 0;
        if kept && !self.in_recovery {
            let full = i64::from(segment.len) >= self.mss;
            return (nanos > self.at_once).then_some(match full {
                true => Evidence::MoreWritten { nanos },
                false => Evidence::None(Reason::Several),
            });
        }
        // Where nothing was in flight before, no window and no pacer has kept anything back.
        let away = self.back > NOWHERE_ELSE;
        let min = if away { IDLE_AWAY } else { IDLE_MIN };
        if nanos >= self.trip.unwrap_or(IDLE).max(min) || self.in_flight == 0 {
            return Some(Evidence::AllAcknowledged { packet, nanos });
        }
        if away {
            return Some(Evidence::None(Reason::Between));
        }
        let evidence = match self.heard.filter(|heard| heard.data) {
            Some(heard) => Evidence::PeersData { packet: heard.frame, all: true, nagle: false },
            None => Evidence::BrieflyIdle { packet, nanos },
        };
        (nanos > self.at_once).then_some(evidence)
    }
}

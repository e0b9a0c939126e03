//! The story of one direction: runs of segments with their cause, and silences with their limiter.
//!
//! A cause or a limiter that an end has recorded is told as such. Others follow from what the
//! capture shows ([`Evidence`], [`Repeat`]), and are unknown where it does not. A
//! silence is a time without data, of more than half of the smallest round trip (1 to 500 ms).

mod habits;
mod handshake;
mod sender;
mod sums;
pub mod telling;

pub use handshake::{Handshake, Outcome};
pub use sums::{Shares, Sums, Waits};

use crate::analysis::{Analysis, Cause, Fact, Mark, Repeat, Vantage};
use crate::class::{Class, ClassKind};
use crate::connection::{Connection, Flags, Segment};
use crate::direction::Direction;
use crate::evidence::{Evidence, Reason};
use crate::limiter::Limiter;
use crate::silence::{Basis, Silence};
use bentpipe_core::tcp::cause::Cause as SenderCause;
use habits::{BACK_TO_BACK, Habits};
use sender::Sender;
use std::collections::BTreeMap;

/// Why segments were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// Their sender has recorded it.
    Recorded(SenderCause),
    /// It is inferred: a retransmission's cause.
    Inferred(Cause),
    /// It was retransmitted, and why cannot be told.
    Untold(Reason),
    /// New data, of which nothing more is known.
    New,
    /// It came late: out of order.
    Late,
    /// It came late, or was sent before.
    Undecided,
    /// A probe of a closed window.
    WindowProbe,
    /// A keep-alive.
    KeepAlive,
}

/// What an ACK said that seems to have made the sender retransmit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// This ACK, which came just before.
    Ack {
        /// The number of its packet in the file.
        frame: u32,
        /// What it acknowledges.
        ack: i64,
        /// The duplicates of that number so far.
        duplicates: u32,
        /// Up to where data behind the hole is sacked.
        sacked: Option<i64>,
    },
    /// Nothing was heard.
    Quiet {
        /// For so long, in nanoseconds.
        nanos: i64,
        /// Since an ACK; or else since the sender's last segment, as none came before.
        acked: bool,
    },
}

/// Segments that left one after the other for the same reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// When the first left, in nanoseconds since the connection's first segment.
    pub begin: i64,
    /// When the last did.
    pub end: i64,
    /// The numbers of the first packet in the file and of the last.
    pub frames: (u32, u32),
    /// How many.
    pub segments: u64,
    /// Their data, in bytes.
    pub bytes: u64,
    /// The first place in the stream, and one past the last.
    pub seq: (i64, i64),
    /// Why.
    pub why: Why,
    /// True if all of it is data that was sent before, or a probe.
    pub again: bool,
    /// Of data below the highest: what the first of it is, and the proof.
    pub repeat: Repeat,
    /// Of retransmitted data: what seems to have made the sender send the first of it.
    pub trigger: Option<Trigger>,
}

/// A part of a story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Segments.
    Run(Run),
    /// None.
    Silence(Silence),
    /// Data that was sent is not in the capture.
    Missing {
        /// When that shows, in nanoseconds since the connection's first segment.
        at: i64,
        /// The packet that shows it: the data behind it, or an ACK of it.
        packet: u32,
        /// How much, in bytes.
        bytes: i64,
    },
    /// The sender says that it has reduced its window, as marks came (CWR; RFC 3168, 6.1.2).
    Reduced {
        /// When, in nanoseconds since the connection's first segment.
        at: i64,
        /// Its packet.
        packet: u32,
        /// The first ACK since the last time that says that a mark came (ECE).
        echo: Option<u32>,
    },
}

/// What a direction's sender did, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Story {
    /// Runs and silences.
    pub events: Vec<Event>,
    /// For how long it sent nothing, silences and shorter times alike.
    pub waits: Waits,
    /// How many of the other end's ACKs alone are of which class.
    pub acks: BTreeMap<Option<Class>, u64>,
    /// True if the sender has recorded its causes.
    pub recorded: bool,
    /// True if the other end has recorded its ACKs'.
    pub acks_recorded: bool,
}

impl Story {
    /// Its silences.
    pub fn silences(&self) -> impl Iterator<Item = &Silence> {
        self.events.iter().filter_map(|event| match event {
            Event::Silence(silence) => Some(silence),
            _ => None,
        })
    }

    /// Its runs.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.events.iter().filter_map(|event| match event {
            Event::Run(run) => Some(run),
            _ => None,
        })
    }
}

/// The shortest silence and the longest that may count as none, in nanoseconds.
const SILENCE: (i64, i64) = (1_000_000, 500_000_000);
/// Where no round trip is known.
const UNKNOWN: i64 = 10_000_000;

/// The beginning of a connection. `None` if its SYN is not in the capture.
#[must_use]
pub fn handshake(connection: &Connection, analysis: &Analysis) -> Option<Handshake> {
    handshake::of(connection, analysis)
}

/// Tells the story of what `direction` sent.
#[must_use]
pub fn explain(connection: &Connection, analysis: &Analysis, direction: Direction) -> Story {
    let opened = handshake(connection, analysis).and_then(|handshake| match handshake.outcome {
        Outcome::Opened { at, packet } => Some((at, packet)),
        _ => None,
    });
    let tell = |habits| {
        let mut teller = Teller::new(connection, analysis, direction, opened, habits);
        for (index, segment, fact) in analysis.facts_of(connection) {
            if segment.direction == direction {
                teller.sends(segment, fact);
            } else {
                teller.hears(segment, fact, analysis.sacks_of(index));
            }
        }
        teller
    };
    let habits = tell(Habits::default()).sender.habits();
    tell(habits).story
}

/// A story while it is told.
struct Teller<'a> {
    connection: &'a Connection,
    direction: Direction,
    /// When the connection's first segment passed.
    origin: i64,
    /// The shortest silence.
    shortest: i64,
    /// The third segment of the handshake.
    opened: Option<(i64, u32)>,
    vantage: Vantage,
    sender: Sender,
    /// One past the highest place that was sent.
    next: i64,
    /// True if ECE and CWR are bits of a counter.
    accurate_ecn: bool,
    /// The first ECE since the last CWR.
    echo: Option<u32>,
    story: Story,
}

impl<'a> Teller<'a> {
    fn new(
        connection: &'a Connection,
        analysis: &Analysis,
        direction: Direction,
        opened: Option<(i64, u32)>,
        habits: Habits,
    ) -> Teller<'a> {
        let (own, peer) = (direction.index(), direction.reverse().index());
        let (trip, back) = (analysis.trips[own], analysis.trips[peer]);
        let (mss, vantage) = (analysis.mss[own], analysis.vantage[own]);
        Teller {
            connection,
            direction,
            origin: connection.segments.first().map_or(0, |segment| segment.at),
            shortest: trip.map_or(UNKNOWN, |trip| (trip / 2).clamp(SILENCE.0, SILENCE.1)),
            opened,
            vantage,
            sender: Sender::new(mss, vantage, trip, back, habits),
            next: 0,
            accurate_ecn: connection.accurate_ecn(),
            echo: None,
            story: Story::default(),
        }
    }

    /// The other end sends.
    fn hears(&mut self, segment: &Segment, fact: &Fact, sacks: &[(i64, i64)]) {
        let at = segment.at.saturating_sub(self.origin);
        self.opens(at);
        if fact.marks.has(Mark::AckLostSegment)
            && let Some(bytes) = fact.ack.map(|ack| ack - self.next).filter(|&bytes| bytes > 0)
        {
            self.story.events.push(Event::Missing { at, packet: segment.frame, bytes });
        }
        if let Some(ack) = fact.ack {
            self.sender.hears(segment, fact, at, ack, sacks);
        }
        let control = segment.flags.any(&[Flags::SYN, Flags::FIN, Flags::RST]);
        if segment.flags.has(Flags::ECE) && !control && !self.accurate_ecn {
            self.echo.get_or_insert(segment.frame);
        }
        if segment.len == 0 && !control {
            self.story.acks_recorded |= segment.recorded.is_some();
            *self.story.acks.entry(Class::of(segment, fact)).or_default() += 1;
        }
    }

    /// Until now nothing could be sent: the connection was being opened.
    fn opens(&mut self, now: i64) {
        let Some((at, packet)) = self.opened.filter(|&(at, _)| at <= now) else { return };
        self.opened = None;
        if at >= self.shortest && self.direction == Direction::Forward {
            let basis = Basis::Inferred(Evidence::Opening);
            self.waits(Silence { begin: 0, end: at, basis });
        }
        self.sender.opens(at, packet);
    }

    /// It has sent nothing: what is long enough is a silence.
    fn waits(&mut self, silence: Silence) {
        self.story.waits.add(silence.said(), silence.begin, silence.duration());
        if silence.duration() >= self.shortest {
            self.story.events.push(Event::Silence(silence));
        }
    }

    /// The sender sends.
    fn sends(&mut self, segment: &Segment, fact: &Fact) {
        let at = segment.at.saturating_sub(self.origin);
        self.opens(at);
        let class = Class::of(segment, fact).unwrap_or(Class::New);
        let carries = segment.len > 0 || class == Class::Probe;
        if !carries || segment.flags.any(&[Flags::SYN, Flags::RST]) {
            return;
        }
        self.story.recorded |= segment.recorded.is_some();
        let again = class.kind() == ClassKind::Again;
        if let Some(begin) =
            self.sender.last_sent.filter(|&last| at.saturating_sub(last) > BACK_TO_BACK)
        {
            let known = main_limiter(&self.connection.limits[self.direction.index()], begin, at);
            let shown = self.sender.limiter(segment, fact, at, class);
            let basis = known.map_or(shown, Basis::Recorded);
            self.waits(Silence { begin, end: at, basis });
        }
        let gap = fact.seq - self.next;
        if fact.marks.has(Mark::LostSegment) && self.vantage == Vantage::Sender && gap > 0 {
            let packet = segment.frame;
            self.story.events.push(Event::Missing { at, packet, bytes: gap });
        }
        if segment.flags.has(Flags::CWR) && !self.accurate_ecn {
            let echo = self.echo.take();
            self.story.events.push(Event::Reduced { at, packet: segment.frame, echo });
        }
        let end = fact.seq.saturating_add(i64::from(segment.len));
        let run = Run {
            begin: at,
            end: at,
            frames: (segment.frame, segment.frame),
            segments: 1,
            bytes: u64::from(segment.len),
            seq: (fact.seq, end),
            why: self.why(segment, fact),
            again,
            repeat: fact.repeat,
            trigger: again.then(|| self.sender.trigger(at)).flatten(),
        };
        join(&mut self.story.events, run);
        self.sender.sends(segment, fact, at, end, again);
        self.next = self.next.max(end);
    }

    /// Why a segment is sent.
    fn why(&self, segment: &Segment, fact: &Fact) -> Why {
        if let Some(cause) = segment.recorded {
            return Why::Recorded(cause);
        }
        let marked = |mark| fact.marks.has(mark);
        match fact.repeat {
            Repeat::Retransmitted(_) => self.why_again(fact),
            _ if marked(Mark::ZeroWindowProbe) => Why::WindowProbe,
            // Linux probes a closed window with what a keep-alive is.
            _ if marked(Mark::KeepAlive) && self.sender.is_closed() => Why::WindowProbe,
            _ if marked(Mark::KeepAlive) => Why::KeepAlive,
            Repeat::New => Why::New,
            Repeat::Late(_) => Why::Late,
            Repeat::Undecided => Why::Undecided,
        }
    }

    /// Why a segment is retransmitted.
    fn why_again(&self, fact: &Fact) -> Why {
        match too_far(self.vantage) {
            Some(reason) => Why::Untold(reason),
            None => Why::Inferred(fact.cause.unwrap_or(Cause::Unknown)),
        }
    }
}

/// The reason why nothing is said of a sender, unless the capture is near it.
fn too_far(vantage: Vantage) -> Option<Reason> {
    match vantage {
        Vantage::Sender => None,
        Vantage::OneWay => Some(Reason::OneDirection),
        Vantage::Receiver => Some(Reason::NearReceiver),
        Vantage::Between => Some(Reason::Between),
        Vantage::Unknown => Some(Reason::UnknownPlace),
    }
}

/// What limited the end for most of a silence, as it has recorded. `limits` are sorted, and do not
/// overlap.
fn main_limiter(limits: &[Silence], begin: i64, end: i64) -> Option<Limiter> {
    let first = limits.partition_point(|limit| limit.end <= begin);
    let within = limits[first..].iter().take_while(|limit| limit.begin < end);
    let mut sums: BTreeMap<Limiter, i64> = BTreeMap::new();
    for limit in within {
        if let Basis::Recorded(limiter) = limit.basis {
            let shared = limit.end.min(end).saturating_sub(limit.begin.max(begin));
            *sums.entry(limiter).or_default() += shared;
        }
    }
    sums.into_iter().max_by_key(|&(_, sum)| sum).map(|(limiter, _)| limiter)
}

/// Adds a run of one segment to the last run, if it goes on with that.
fn join(events: &mut Vec<Event>, one: Run) {
    match events.last_mut() {
        Some(Event::Run(run)) if run.why == one.why && run.again == one.again => {
            run.end = one.end;
            run.frames.1 = one.frames.1;
            run.segments += 1;
            run.bytes += one.bytes;
            run.seq = (run.seq.0.min(one.seq.0), run.seq.1.max(one.seq.1));
        }
        _ => events.push(Event::Run(one)),
    }
}

#[cfg(test)]
mod tests;

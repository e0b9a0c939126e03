//! The story of one direction: runs of segments with their cause, and the silences between them
//! with what kept the sender from sending.
//!
//! A cause or a limiter that an end has recorded is told as such. Others are inferred by rule, and
//! marked so. A silence is a time without a segment of data that is longer than half of the
//! connection's smallest round trip (1 ms to 500 ms).

mod limiter;
pub mod telling;

pub use crate::silence::{Limiter, Silence};

use crate::analysis::{Analysis, Cause};
use crate::class::{Class, ClassKind};
use crate::connection::{Connection, Flags, Segment};
use crate::direction::Direction;
use bentpipe_core::tcp::cause::Cause as SenderCause;
use limiter::Sender;
use std::collections::BTreeMap;

/// Why segments were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// Their sender has recorded it.
    Recorded(SenderCause),
    /// It is inferred: a retransmission's cause.
    Inferred(Cause),
    /// New data, of which nothing more is known.
    New,
    /// It came late: out of order.
    Late,
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
    /// Nothing was heard for so long, in nanoseconds.
    Quiet(i64),
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
    /// Whether all of it is data that was sent before, or a probe.
    pub again: bool,
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
}

/// What a direction's sender did, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Story {
    /// Runs and silences.
    pub events: Vec<Event>,
    /// How many of the other end's ACKs alone are of which class.
    pub acks: BTreeMap<Option<Class>, u64>,
    /// Whether the sender has recorded its causes.
    pub recorded: bool,
    /// Whether the other end has recorded its ACKs'.
    pub acks_recorded: bool,
}

impl Story {
    /// Its silences.
    pub fn silences(&self) -> impl Iterator<Item = &Silence> {
        self.events.iter().filter_map(|event| match event {
            Event::Silence(silence) => Some(silence),
            Event::Run(_) => None,
        })
    }
}

/// The shortest silence and the longest that may count as none, in nanoseconds.
const SILENCE: (i64, i64) = (1_000_000, 500_000_000);
/// Where no round trip is known.
const UNKNOWN: i64 = 10_000_000;

/// Tells the story of what `direction` sent.
#[must_use]
pub fn explain(connection: &Connection, analysis: &Analysis, direction: Direction) -> Story {
    let origin = connection.segments.first().map_or(0, |segment| segment.at);
    let trip = analysis.summary(connection, direction).min_round_trip;
    let shortest = trip.map_or(UNKNOWN, |trip| (trip / 2).clamp(SILENCE.0, SILENCE.1));
    let end = last_place(connection, analysis, direction);
    // Near the receiver its answers come at once, and the sender's take the path's whole round
    // trip.
    let back = analysis.summary(connection, direction.reverse()).min_round_trip;
    let far = trip.zip(back).is_some_and(|(trip, back)| trip < back / 4);
    let mut sender = Sender::new(analysis.mss[direction.index()], end, far);
    let mut story = Story::default();
    for (index, (segment, fact)) in connection.segments.iter().zip(&analysis.facts).enumerate() {
        let at = segment.at.saturating_sub(origin);
        if segment.direction != direction {
            if let Some(ack) = fact.ack {
                sender.hears(segment, fact, at, ack, analysis.sacks_of(index));
            }
            if segment.len == 0 && !segment.flags.any(&[Flags::SYN, Flags::FIN, Flags::RST]) {
                story.acks_recorded |= segment.recorded.is_some();
                *story.acks.entry(Class::of(segment, fact)).or_default() += 1;
            }
            continue;
        }
        let class = Class::of(segment, fact);
        let carries = segment.len > 0 || class == Some(Class::Probe);
        if !carries || segment.flags.any(&[Flags::SYN, Flags::RST]) {
            continue;
        }
        story.recorded |= segment.recorded.is_some();
        let again = class.is_some_and(|class| class.kind() == ClassKind::Again);
        let why = why(segment, fact.cause, again);
        if let Some(last) = sender.last_sent
            && at.saturating_sub(last) >= shortest
        {
            let known = most_of(&connection.limits[direction.index()], last, at);
            let (limiter, inferred) = known
                .map_or_else(|| sender.limiter(segment, fact, at, again), |known| (known, false));
            story.events.push(Event::Silence(Silence { begin: last, end: at, limiter, inferred }));
        }
        let trigger = again.then(|| sender.trigger(at)).flatten();
        let end = fact.seq.saturating_add(i64::from(segment.len));
        join(
            &mut story.events,
            Run {
                begin: at,
                end: at,
                frames: (segment.frame, segment.frame),
                segments: 1,
                bytes: u64::from(segment.len),
                seq: (fact.seq, end),
                why,
                again,
                trigger,
            },
        );
        sender.sends(fact, at, end, segment.len, again);
    }
    story
}

/// What limited the end for most of a silence, as it has recorded. `limits` are sorted, and do not
/// overlap.
fn most_of(limits: &[Silence], begin: i64, end: i64) -> Option<Limiter> {
    let first = limits.partition_point(|limit| limit.end <= begin);
    let within = limits[first..].iter().take_while(|limit| limit.begin < end);
    let mut sums: BTreeMap<Limiter, i64> = BTreeMap::new();
    for limit in within {
        let shared = limit.end.min(end).saturating_sub(limit.begin.max(begin));
        *sums.entry(limit.limiter).or_default() += shared;
    }
    sums.into_iter().max_by_key(|&(_, sum)| sum).map(|(limiter, _)| limiter)
}

fn why(segment: &Segment, inferred: Option<Cause>, again: bool) -> Why {
    match (segment.recorded, inferred) {
        (Some(cause), _) => Why::Recorded(cause),
        (None, Some(cause)) => Why::Inferred(cause),
        (None, None) if again => Why::Late,
        (None, None) => Why::New,
    }
}

/// One past the last byte that the direction ever sends.
fn last_place(connection: &Connection, analysis: &Analysis, direction: Direction) -> i64 {
    let own = connection.segments.iter().zip(&analysis.facts);
    let own = own.filter(|(segment, _)| segment.direction == direction);
    own.map(|(segment, fact)| fact.seq.saturating_add(i64::from(segment.len))).max().unwrap_or(0)
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

//! What can be inferred of a connection from the capture alone. All of this is inference: a capture
//! shows what passed one place, not what an end thought.
//!
//! Two models go over the segments once, in their order. [`expert`] marks them by the rules of
//! Wireshark's user's guide (7.5, TCP analysis), so that marks agree with
//! `tshark -Y tcp.analysis.flags`. [`flight`] keeps each direction's scoreboard, as its sender
//! would, for round-trip times, outstanding data, and why a segment was retransmitted.

mod cause;
mod expert;
mod flight;
mod marks;
pub(crate) mod ranges;
mod repeat;
mod round_trip;
mod sums;
mod survey;
mod unwrap;
mod vantage;

pub use cause::Cause;
pub use marks::{Mark, Marks};
pub use repeat::{Proof, Repeat};
pub use sums::{RoundTrips, Summary};
pub use vantage::Vantage;
pub(crate) use vantage::{AT_THE_END, NOWHERE_ELSE};

use crate::connection::{Connection, Flags, Segment};
use crate::direction::Direction;
use flight::Flight;
use survey::Survey;
use unwrap::Unwrap;

/// What is inferred of one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fact {
    /// Its place in its sender's stream: the SYN, or the first segment, is at 0.
    pub seq: i64,
    /// What it acknowledges, as a place in the peer's stream. `None` without ACK.
    pub ack: Option<i64>,
    /// Marks as Wireshark has them.
    pub marks: Marks,
    /// True if its data was sent before, or comes late.
    pub repeat: Repeat,
    /// Why it was retransmitted, if it was shown to be.
    pub cause: Option<Cause>,
    /// The round-trip time that it measures, in nanoseconds: from the newest segment that it
    /// acknowledges, if that was sent once.
    pub round_trip: Option<i64>,
    /// Bytes that each end ([`Direction::index`]) had outstanding after it: sent, not acknowledged.
    /// 0 as long as no ACK of the other end's was seen.
    pub outstanding: [u64; 2],
    /// The window that it announces, scaled. `None` if its scale is not known, as that is not in
    /// the capture.
    pub window: Option<u64>,
    /// True if its first SACK block is a DSACK (RFC 2883).
    pub dsack: bool,
    /// True if it is an ACK that waited for more data, by its round-trip time.
    pub delayed: bool,
    /// How many packets it was on the wire: more than one where a card divided a super-segment, or
    /// joined one.
    pub packets: u32,
}

/// What is inferred of a connection.
#[derive(Debug, Default)]
pub struct Analysis {
    /// One for each segment, in their order.
    pub facts: Vec<Fact>,
    /// SACK blocks as places in the peer's stream: of each segment as many as it has, in their
    /// order.
    pub sacks: Vec<(i64, i64)>,
    /// Where those of a segment begin.
    pub(crate) sack_at: Vec<u32>,
    /// The maximum segment size of each direction: as offered, or as seen.
    pub mss: [u32; 2],
    /// The place of each direction's sender.
    pub vantage: [Vantage; 2],
    /// The smallest round trip of each direction's data, in nanoseconds.
    pub(crate) trips: [Option<i64>; 2],
}

impl Analysis {
    /// The SACK blocks of segment number `index`, as places in the peer's stream.
    #[must_use]
    pub fn sacks_of(&self, index: usize) -> &[(i64, i64)] {
        let begin = self.sack_at.get(index).copied().unwrap_or(0) as usize;
        let end = self.sack_at.get(index + 1).map_or(self.sacks.len(), |&at| at as usize);
        self.sacks.get(begin..end).unwrap_or_default()
    }

    /// Far from the sender a cause is a guess: what it heard, and when, is not in the capture.
    fn forget_guesses(&mut self, connection: &Connection) {
        let told = self.vantage.map(|vantage| vantage == Vantage::Sender);
        for (segment, fact) in connection.segments.iter().zip(&mut self.facts) {
            if fact.cause.is_some() && !told[segment.direction.index()] {
                fact.cause = Some(Cause::Unknown);
            }
        }
    }

    /// The segments that count, with their numbers and facts, in their order.
    pub fn facts_of<'a>(
        &'a self,
        connection: &'a Connection,
    ) -> impl Iterator<Item = (usize, &'a Segment, &'a Fact)> {
        let all = connection.segments.iter().zip(&self.facts).enumerate();
        let all = all.filter(|(_, (segment, _))| segment.counts());
        all.map(|(index, (segment, fact))| (index, segment, fact))
    }
}

/// Analyses a connection.
#[must_use]
pub fn analyse(connection: &Connection) -> Analysis {
    let surveys = Direction::BOTH.map(|direction| Survey::of(connection, direction));
    let mut places = Direction::BOTH.map(|d| Unwrap::new(connection.first_seq[d.index()]));
    let mut flights = surveys.each_ref().map(Flight::new);
    let mut expert = expert::Expert::new(connection);
    let mut analysis = Analysis { mss: surveys.map(|survey| survey.mss), ..Analysis::default() };
    analysis.facts.reserve(connection.segments.len());
    let mut blocks = Vec::new();
    for segment in &connection.segments {
        analysis.sack_at.push(u32::try_from(analysis.sacks.len()).unwrap_or(u32::MAX));
        if !segment.counts() {
            analysis.facts.push(Fact::default());
            continue;
        }
        let (own, peer) = (segment.direction.index(), segment.direction.reverse().index());
        let seq = places[own].place(segment.seq);
        let ack = segment.flags.has(Flags::ACK).then(|| places[peer].ack(segment.ack));
        blocks.clear();
        let block =
            |sack: &crate::Sack| (places[peer].near(sack.left), places[peer].near(sack.right));
        blocks.extend(connection.sacks(segment).iter().map(block));
        let marks = expert.on_segment(segment);
        let answer = ack.map(|ack| flights[peer].on_ack(segment, ack, &blocks)).unwrap_or_default();
        let (repeat, cause) = flights[own].on_data(segment, seq, marks);
        let trip = &mut analysis.trips[peer];
        *trip = [*trip, answer.round_trip].into_iter().flatten().min();
        analysis.facts.push(Fact {
            seq,
            ack,
            marks,
            repeat,
            cause,
            round_trip: answer.round_trip,
            outstanding: [flights[0].outstanding(), flights[1].outstanding()],
            window: window(connection, segment),
            dsack: answer.dsack,
            delayed: answer.delayed,
            packets: segment.len.div_ceil(analysis.mss[own].max(1)).max(1),
        });
        analysis.sacks.extend(&blocks);
    }
    for direction in Direction::BOTH {
        let (own, peer) = (direction.index(), direction.reverse().index());
        let back = analysis.trips[peer].or(surveys[own].echo);
        analysis.vantage[own] = Vantage::new(surveys[peer].seen, analysis.trips[own], back);
    }
    analysis.forget_guesses(connection);
    analysis
}

/// The window that a segment announces. Those in SYNs are not scaled (RFC 7323, 2.2), and none is
/// none whatever the scale.
fn window(connection: &Connection, segment: &Segment) -> Option<u64> {
    let unscaled = segment.flags.has(Flags::SYN) || segment.window == 0;
    let shift = if unscaled { Some(0) } else { connection.shift(segment.direction) };
    shift.map(|shift| u64::from(segment.window) << shift)
}

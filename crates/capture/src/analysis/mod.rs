//! What can be inferred of a connection from the capture alone. All of this is inference: a capture
//! shows what passed one place, not what an end thought.
//!
//! Two models go over the segments once, in their order. [`expert`] marks them by the rules of
//! Wireshark's user's guide (7.5, TCP analysis), so that marks agree with
//! `tshark -Y tcp.analysis.flags`. [`flight`] keeps each direction's scoreboard, as its sender
//! would, for round-trip times, outstanding data, and why a segment was retransmitted.

mod expert;
mod flight;
mod marks;
mod ranges;
mod round_trip;
mod unwrap;

pub use flight::Cause;
pub use marks::{Mark, Marks};

use crate::connection::{Connection, Flags};
use crate::direction::Direction;
use flight::Flight;
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
    /// Why it was retransmitted.
    pub cause: Option<Cause>,
    /// The round-trip time that it measures, in nanoseconds: from the newest segment that it
    /// acknowledges, if that was sent once.
    pub round_trip: Option<i64>,
    /// What each end ([`Direction::index`]) had outstanding after it: bytes sent, not acknowledged.
    pub outstanding: [u64; 2],
    /// The window that it announces, scaled. `None` if its scale is not known: the SYNs are
    /// missing.
    pub window: Option<u64>,
    /// Whether its first SACK block is a DSACK (RFC 2883).
    pub dsack: bool,
    /// Whether it is an ACK that waited for more data, by its round-trip time beside the others.
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
}

/// The sums of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Packets as captured.
    pub packets: u64,
    /// Bytes of data, retransmissions included.
    pub bytes: u64,
    /// Segments that are marked as retransmissions (not as out of order).
    pub retransmissions: u64,
    /// Their bytes.
    pub retransmitted_bytes: u64,
    /// The smallest round-trip time, in nanoseconds.
    pub min_round_trip: Option<i64>,
}

impl Analysis {
    /// The SACK blocks of segment number `index`, as places in the peer's stream.
    #[must_use]
    pub fn sacks_of(&self, index: usize) -> &[(i64, i64)] {
        let begin = self.sack_at.get(index).copied().unwrap_or(0) as usize;
        let end = self.sack_at.get(index + 1).map_or(self.sacks.len(), |&at| at as usize);
        self.sacks.get(begin..end).unwrap_or_default()
    }

    /// The sums of a direction: of its data, and of the ACKs that answer it.
    #[must_use]
    pub fn summary(&self, connection: &Connection, direction: Direction) -> Summary {
        let mut sums = Summary::default();
        for (segment, fact) in connection.segments.iter().zip(&self.facts) {
            if segment.direction != direction {
                let both = [sums.min_round_trip, fact.round_trip];
                sums.min_round_trip = both.into_iter().flatten().min();
                continue;
            }
            sums.packets += 1;
            sums.bytes += u64::from(segment.len);
            if fact.marks.retransmitted() {
                sums.retransmissions += 1;
                sums.retransmitted_bytes += u64::from(segment.len);
            }
        }
        sums
    }
}

/// Analyses a connection.
#[must_use]
pub fn analyse(connection: &Connection) -> Analysis {
    let mss = Direction::BOTH.map(|direction| mss(connection, direction));
    let mut places = Direction::BOTH.map(|d| Unwrap::new(connection.first_seq[d.index()]));
    let mut flights = mss.map(Flight::new);
    let mut expert = expert::Expert::new(connection);
    let mut analysis = Analysis { mss, ..Analysis::default() };
    analysis.facts.reserve(connection.segments.len());
    let mut blocks = Vec::new();
    for segment in &connection.segments {
        let (own, peer) = (segment.direction.index(), segment.direction.reverse().index());
        let seq = places[own].place(segment.seq);
        let ack = segment.flags.has(Flags::ACK).then(|| places[peer].ack(segment.ack));
        blocks.clear();
        let block =
            |sack: &crate::Sack| (places[peer].near(sack.left), places[peer].near(sack.right));
        blocks.extend(connection.sacks(segment).iter().map(block));
        let marks = expert.on_segment(segment);
        let answer = ack.map(|ack| flights[peer].on_ack(segment, ack, &blocks)).unwrap_or_default();
        let cause = flights[own].on_data(segment, seq, marks);
        // Windows in SYNs are not scaled (RFC 7323, 2.2).
        let shift = if segment.flags.has(Flags::SYN) {
            Some(0)
        } else {
            connection.shift(segment.direction)
        };
        analysis.facts.push(Fact {
            seq,
            ack,
            marks,
            cause,
            round_trip: answer.round_trip,
            outstanding: [flights[0].outstanding(), flights[1].outstanding()],
            window: shift.map(|shift| u64::from(segment.window) << shift),
            dsack: answer.dsack,
            delayed: answer.delayed,
            packets: segment.len.div_ceil(mss[own].max(1)).max(1),
        });
        analysis.sack_at.push(u32::try_from(analysis.sacks.len()).unwrap_or(u32::MAX));
        analysis.sacks.extend(&blocks);
    }
    analysis
}

/// The largest segment of a direction on the wire: what its peer's SYN offers, less what timestamps
/// take; without SYNs the most common length among the larger ones.
fn mss(connection: &Connection, direction: Direction) -> u32 {
    let offer = connection.offers[direction.reverse().index()];
    let mut timestamps = false;
    let mut times: std::collections::BTreeMap<u32, u32> = std::collections::BTreeMap::new();
    for segment in connection.segments.iter().filter(|s| s.direction == direction) {
        timestamps |= segment.timestamps.is_some();
        // Those above are super-segments on any link that is common.
        if (500..=9000).contains(&segment.len) && times.len() < 10_000 {
            *times.entry(segment.len).or_default() += 1;
        }
    }
    let common = times.into_iter().max_by_key(|&(len, times)| (times, len)).map(|(len, _)| len);
    let offered =
        offer.mss.map(|mss| u32::from(mss).saturating_sub(if timestamps { 12 } else { 0 }));
    match (offered, common) {
        (Some(offered), Some(common)) => offered.min(common).max(1),
        (offered, common) => offered.or(common).unwrap_or(1460).max(1),
    }
}

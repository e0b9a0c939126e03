//! The sums of one direction, for lists of connections and the beginnings of stories.

use super::{Analysis, Mark, Repeat};
use crate::connection::{Connection, Flags, Standing};
use crate::direction::Direction;

/// Congestion experienced, as a codepoint of ECN (RFC 3168, 5).
const CE: u8 = 3;

/// The sums of one direction. Copies, and what is of an earlier sequence space, are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Packets.
    pub packets: u64,
    /// Copies of them, which are not among those.
    pub copies: u64,
    /// Bytes of data, retransmissions included.
    pub bytes: u64,
    /// Segments of data that were shown to be sent before.
    pub retransmissions: u64,
    /// Their bytes.
    pub retransmitted_bytes: u64,
    /// Segments of data that came late.
    pub late: u64,
    /// Segments of data that were sent before or came late.
    pub undecided: u64,
    /// Round-trip times, in nanoseconds.
    pub round_trips: RoundTrips,
    /// Duplicate ACKs that it heard.
    pub duplicate_acks: u64,
    /// Segments with SACK blocks that it heard, and those that begin with a DSACK.
    pub sacks: (u64, u64),
    /// Windows of zero that it heard.
    pub zero_windows: u64,
    /// Its initial window: bytes that it sent before the first ACK of data. None if that did not
    /// come, or the beginning is missing.
    pub initial_window: Option<u64>,
    /// The time that its first answer took, as the capture saw it, in nanoseconds. It counts from
    /// the last data of the other end before. None if it has spoken first.
    pub first_answer: Option<i64>,
    /// Its packets with CE, ECE and CWR (RFC 3168): marked on their way, telling that marks came,
    /// and telling that its window is reduced. With Accurate ECN the latter two are bits of a
    /// counter, and none are counted.
    pub ecn: [u64; 3],
}

/// Of some round-trip times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoundTrips {
    /// How many.
    pub samples: u64,
    /// The shortest.
    pub min: Option<i64>,
    /// The longest.
    pub max: Option<i64>,
    sum: i128,
}

impl RoundTrips {
    fn add(&mut self, nanos: i64) {
        self.samples += 1;
        self.min = Some(self.min.map_or(nanos, |min| min.min(nanos)));
        self.max = Some(self.max.map_or(nanos, |max| max.max(nanos)));
        self.sum += i128::from(nanos);
    }

    /// Adds those of another.
    fn join(&mut self, other: &RoundTrips) {
        self.samples += other.samples;
        self.min = [self.min, other.min].into_iter().flatten().min();
        self.max = self.max.max(other.max);
        self.sum += other.sum;
    }

    /// Their mean.
    #[must_use]
    pub fn mean(&self) -> Option<i64> {
        let mean = self.sum.checked_div(i128::from(self.samples))?;
        i64::try_from(mean).ok()
    }
}

impl Analysis {
    /// The sums of a direction: of its data, and of what answers it.
    #[must_use]
    pub fn summary(&self, connection: &Connection, direction: Direction) -> Summary {
        let mut sums = Summary::default();
        let mut first_ack = None;
        let mut asked = None;
        let counter = connection.accurate_ecn();
        for (segment, fact) in connection.segments.iter().zip(&self.facts) {
            if segment.standing == Standing::Copy && segment.direction == direction {
                sums.copies += 1;
            }
            if !segment.counts() {
                continue;
            }
            if segment.direction == direction {
                if segment.len > 0 && sums.bytes == 0 {
                    sums.first_answer = asked.map(|at: i64| segment.at.saturating_sub(at));
                }
                sums.sends(segment, fact, counter);
                continue;
            }
            if segment.len > 0 {
                asked = Some(segment.at);
            }
            let mark = |mark| u64::from(fact.marks.has(mark));
            if let Some(nanos) = fact.round_trip {
                sums.round_trips.add(nanos);
            }
            sums.duplicate_acks += mark(Mark::DuplicateAck);
            sums.zero_windows += mark(Mark::ZeroWindow);
            sums.sacks.0 += u64::from(segment.sack_count > 0);
            sums.sacks.1 += u64::from(fact.dsack);
            let data = fact.ack.is_some_and(|ack| ack > 1) && sums.bytes > 0;
            if data && !segment.flags.has(Flags::SYN) {
                first_ack.get_or_insert(sums.bytes);
            }
        }
        sums.initial_window = first_ack.filter(|_| connection.offers[direction.index()].syn);
        sums
    }
}

impl Summary {
    /// Adds the sums of another direction. What is not a sum is none then.
    pub(crate) fn join(&mut self, other: &Summary) {
        let counts = [
            (&mut self.packets, other.packets),
            (&mut self.copies, other.copies),
            (&mut self.bytes, other.bytes),
            (&mut self.retransmissions, other.retransmissions),
            (&mut self.retransmitted_bytes, other.retransmitted_bytes),
            (&mut self.late, other.late),
            (&mut self.undecided, other.undecided),
            (&mut self.duplicate_acks, other.duplicate_acks),
            (&mut self.sacks.0, other.sacks.0),
            (&mut self.sacks.1, other.sacks.1),
            (&mut self.zero_windows, other.zero_windows),
        ];
        for (sum, count) in counts {
            *sum += count;
        }
        for (sum, count) in self.ecn.iter_mut().zip(other.ecn) {
            *sum += count;
        }
        self.round_trips.join(&other.round_trips);
        (self.initial_window, self.first_answer) = (None, None);
    }

    /// It sends. `counter` is true if ECE and CWR are bits of one.
    fn sends(&mut self, segment: &crate::Segment, fact: &super::Fact, counter: bool) {
        self.packets += 1;
        self.bytes += u64::from(segment.len);
        self.ecn[0] += u64::from(segment.ecn == CE);
        if !segment.flags.has(Flags::SYN) && !counter {
            self.ecn[1] += u64::from(segment.flags.has(Flags::ECE));
            self.ecn[2] += u64::from(segment.flags.has(Flags::CWR));
        }
        if segment.len == 0 {
            return;
        }
        match fact.repeat {
            Repeat::New => {}
            Repeat::Retransmitted(_) => {
                self.retransmissions += 1;
                self.retransmitted_bytes += u64::from(segment.len);
            }
            Repeat::Late(_) => self.late += 1,
            Repeat::Undecided => self.undecided += 1,
        }
    }
}

//! A connection at one place, in the numbers and directions of the first.

use super::{Paired, Place};
use crate::connection::{Connection, Flags, Sack, Segment, Standing};
use crate::direction::Direction;

/// Where more than one of so many packets is a copy, the capture saw them twice. Fewer were
/// duplicated on the way.
const COPIES: usize = 4;

/// A connection at a place.
pub(super) struct View<'c> {
    connection: &'c Connection,
    flipped: bool,
    /// What is added to the sequence numbers of each direction.
    shifts: [u32; 2],
    /// The sequence number that is place 0 of each stream.
    bases: [u32; 2],
    /// True if copies are packets that were duplicated on the way.
    duplicates: [bool; 2],
    /// From when to when the file has packets.
    pub(super) span: (i64, i64),
}

impl<'c> View<'c> {
    /// Of both places.
    pub(super) fn both(first: Place<'c>, second: Place<'c>, paired: &Paired) -> [View<'c>; 2] {
        let bases = Direction::BOTH.map(|direction| {
            let own = first.connection.first_seq[direction.index()];
            let other = second.connection.first_seq[paired.second(direction).index()];
            let shift = paired.shifts[direction.index()];
            own.or(other.map(|other| other.wrapping_add(shift))).unwrap_or(0)
        });
        let view = |place: Place<'c>, flipped, shifts| View {
            connection: place.connection,
            flipped,
            shifts,
            bases,
            duplicates: Direction::BOTH.map(|way| duplicates(place.connection, flipped, way)),
            span: place.span,
        };
        [view(first, false, [0; 2]), view(second, paired.flipped, paired.shifts)]
    }

    /// The segment at an index.
    pub(super) fn segment(&self, index: u32) -> &'c Segment {
        &self.connection.segments[index as usize]
    }

    /// How many segments there are.
    pub(super) fn len(&self) -> usize {
        self.connection.segments.len()
    }

    /// The direction of a segment.
    pub(super) fn direction(&self, segment: &Segment) -> Direction {
        turned(segment.direction, self.flipped)
    }

    /// Its sequence number.
    pub(super) fn seq(&self, segment: &Segment) -> u32 {
        segment.seq.wrapping_add(self.shifts[self.direction(segment).index()])
    }

    /// Its acknowledgment number, if it has one.
    pub(super) fn ack(&self, segment: &Segment) -> Option<u32> {
        let shift = self.shifts[self.direction(segment).reverse().index()];
        segment.flags.has(Flags::ACK).then(|| segment.ack.wrapping_add(shift))
    }

    /// Its SACK blocks.
    pub(super) fn sacks(&self, segment: &Segment) -> impl Iterator<Item = Sack> + '_ {
        let shift = self.shifts[self.direction(segment).reverse().index()];
        let add = move |number: u32| number.wrapping_add(shift);
        let blocks = self.connection.sacks(segment).iter();
        blocks.map(move |block| Sack { left: add(block.left), right: add(block.right) })
    }

    /// True if options of any packet were cut off.
    pub(super) fn cuts_options(&self) -> bool {
        self.connection.segments.iter().any(|segment| segment.options_cut)
    }

    /// What passed this place in a direction, with the index of each.
    pub(super) fn sent(&self, way: Direction) -> impl Iterator<Item = (u32, &'c Segment)> + '_ {
        let all = self.connection.segments.iter().enumerate();
        all.filter(move |(_, segment)| self.direction(segment) == way && self.takes(segment))
            .map(|(index, segment)| (index as u32, segment))
    }

    /// The same, with the place in the stream of each one's first byte.
    pub(super) fn placed(
        &self,
        way: Direction,
    ) -> impl Iterator<Item = (u32, &'c Segment, i64)> + '_ {
        let mut places = Places::new(self.bases[way.index()]);
        self.sent(way).map(move |(index, segment)| {
            let place = places.of(self.seq(segment));
            // A SYN takes a number, its data begins behind it.
            let syn = i64::from(segment.flags.has(Flags::SYN));
            (index, segment, place + syn)
        })
    }

    /// When each place in the stream of a direction was acknowledged here, as that grows: time and
    /// place.
    pub(super) fn acknowledged(&self, way: Direction) -> impl Iterator<Item = (i64, i64)> + '_ {
        let mut places = Places::new(self.bases[way.index()]);
        let mut highest = i64::MIN;
        self.sent(way.reverse()).filter_map(move |(_, segment)| {
            let refuses = segment.flags.has(Flags::RST);
            let place = places.of(self.ack(segment).filter(|_| !refuses)?);
            (place > highest).then(|| {
                highest = place;
                (segment.at, place)
            })
        })
    }

    /// True if this place saw the beginning of a direction.
    pub(super) fn begins(&self, way: Direction) -> bool {
        self.connection.offers[turned(way, self.flipped).index()].syn
    }

    /// The data of a full segment in a direction, as the SYNs allow it.
    pub(super) fn smss(&self, way: Direction) -> Option<u32> {
        let mss = u32::from(self.connection.offered_mss(turned(way, self.flipped))?);
        let options = if self.sent(way).any(|(_, one)| one.timestamps.is_some()) { 12 } else { 0 };
        Some(mss.saturating_sub(options).max(1))
    }

    fn takes(&self, segment: &Segment) -> bool {
        match segment.standing {
            Standing::Counts => true,
            Standing::Copy => self.duplicates[self.direction(segment).index()],
            Standing::Earlier => false,
        }
    }
}

/// Places in a stream, of numbers that wrap.
struct Places {
    base: u32,
    last: i64,
}

impl Places {
    fn new(base: u32) -> Places {
        Places { base, last: 0 }
    }

    /// The place of a number, near the last one.
    fn of(&mut self, number: u32) -> i64 {
        let number = number.wrapping_sub(self.base);
        let apart = number.wrapping_sub(self.last as u32) as i32;
        self.last += i64::from(apart);
        self.last
    }
}

pub(super) fn turned(direction: Direction, flipped: bool) -> Direction {
    if flipped { direction.reverse() } else { direction }
}

/// True if copies in a direction are few enough to be duplicates that came so. Those of a place
/// that is apart came nowhere else.
fn duplicates(connection: &Connection, flipped: bool, way: Direction) -> bool {
    let (mut all, mut copies) = (0, 0);
    for segment in &connection.segments {
        if turned(segment.direction, flipped) == way {
            all += 1;
            copies += usize::from(segment.standing == Standing::Copy);
        }
    }
    connection.apart.is_none() && copies * COPIES < all
}

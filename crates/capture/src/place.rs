//! Places of one path in one file, such as both ends of a link. A packet is seen at each of them.
//! Data that counts at one and ACKs that count at the other lack half of each round trip.

use crate::connection::{Connection, Segment};
use crate::direction::Direction;
use crate::via::{Tag, Via};
use std::collections::BTreeMap;

/// A router forwards sooner. Its interfaces are one place, in nanoseconds.
const FORWARDS: i64 = 3_000_000;
/// So many segments tell how far places are apart.
const SAMPLES: usize = 20_000;

/// An interface: its number in the file, and the kernel's where files have several.
type Place = (u32, Option<u32>);
/// The fields that a packet has at both places.
type Header = (usize, [u32; 3], [u16; 3], Option<(u32, u32)>);
/// When each place saw a packet first.
type Sightings = BTreeMap<Header, BTreeMap<Place, i64>>;

/// The place whose segments count, if the connection was seen at several that are apart.
pub(crate) struct Counting<'v> {
    vias: &'v [Via],
    place: Place,
    /// The time of packets to the furthest place, in nanoseconds.
    pub(crate) apart: i64,
}

impl Counting<'_> {
    /// That of the place next to the end that sends most. It has seen both directions.
    pub(crate) fn of<'v>(connection: &Connection, vias: &'v [Via]) -> Option<Counting<'v>> {
        let mut seen: BTreeMap<Place, [usize; 2]> = BTreeMap::new();
        for segment in &connection.segments {
            seen.entry(place(vias, segment)).or_default()[segment.direction.index()] += 1;
        }
        let (&base, _) = seen.iter().max_by_key(|(_, counts)| counts.iter().sum::<usize>())?;
        if seen.len() == 1 {
            return None;
        }
        let sightings = sightings(connection, vias);
        let distance = |other: Place| match other == base {
            true => Some(0),
            false => distance(&sightings, base, other),
        };
        let distances: BTreeMap<Place, i64> =
            seen.keys().filter_map(|&place| Some((place, distance(place)?))).collect();
        let most = |way: usize| seen.values().map(|counts| counts[way]).max().unwrap_or(0);
        let whole = |place: &Place| (0..2).all(|way| seen[place][way] * 2 >= most(way));
        let towards = match connection.main_direction() {
            Direction::Forward => 1,
            Direction::Backward => -1,
        };
        let candidates = distances.iter().filter(|(place, _)| whole(place));
        let (&place, &own) = candidates.min_by_key(|(_, distance)| *distance * towards)?;
        let apart = distances.values().map(|distance| (distance - own).abs()).max()?;
        (apart > FORWARDS).then_some(Counting { vias, place, apart })
    }

    /// True if a segment is one of those that count.
    pub(crate) fn has(&self, segment: &Segment) -> bool {
        place(self.vias, segment) == self.place
    }
}

fn place(vias: &[Via], segment: &Segment) -> Place {
    let Some(via) = vias.get(usize::from(segment.via)) else { return (u32::MAX, None) };
    let device = via.tags.iter().find_map(|tag| match tag {
        Tag::Device(number) => Some(*number),
        _ => None,
    });
    (via.interface, device)
}

fn sightings(connection: &Connection, vias: &[Via]) -> Sightings {
    let mut sightings = Sightings::new();
    for segment in connection.segments.iter().take(SAMPLES) {
        let Segment { seq, ack, len, window, flags, ip_id, timestamps, .. } = *segment;
        let direction = segment.direction.index();
        let header = (direction, [seq, ack, len], [window, flags.bits(), ip_id], timestamps);
        let places = sightings.entry(header).or_default();
        places.entry(place(vias, segment)).or_insert(segment.at);
    }
    sightings
}

/// The time of the first end's packets from `base` to `other`, in nanoseconds. It is half of what
/// both directions differ by, as the clocks of two captures do not agree.
fn distance(sightings: &Sightings, base: Place, other: Place) -> Option<i64> {
    let later = Direction::BOTH.map(|direction| {
        let of_direction = sightings.iter().filter(|(header, _)| header.0 == direction.index());
        let pairs = of_direction.filter_map(|(_, at)| at.get(&other)?.checked_sub(*at.get(&base)?));
        median(pairs.collect())
    });
    match later {
        [Some(forward), Some(backward)] => Some(forward.saturating_sub(backward) / 2),
        [Some(forward), None] => Some(forward),
        [None, backward] => Some(backward?.saturating_neg()),
    }
}

fn median(mut values: Vec<i64>) -> Option<i64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

//! Packets that are in a file more than once. A router, a bridge or `-i any` sees each come and go,
//! a mirror port sees it twice. Copies say nothing of what their sender did.

use crate::connection::{Connection, Segment, Standing};
use crate::direction::Direction;
use crate::place::Counting;
use crate::via::Via;

/// Copies stand within so many packets of their connection, a power of two.
const SLOTS: usize = 1 << 13;
/// A queue between two places that were captured holds packets no longer, in nanoseconds.
const APART_MAX: i64 = 5_000_000_000;
/// Without an IP ID copies are closer than a round trip; this where none is known.
const APART_UNKNOWN: i64 = 1_000_000;
/// Of a sender whose IP IDs tell its packets apart, so many of 100 neighbors have different ones.
const TOLD_APART: u64 = 90;

/// Marks those of a connection: all but the first of equal packets. If it was seen at places that
/// are apart, all that the others saw.
pub(crate) fn mark(connection: &mut Connection, vias: &[Via]) {
    if !any_is_repeated(&connection.segments) {
        return;
    }
    if let Some(counting) = Counting::of(connection, vias) {
        connection.apart = Some(counting.apart);
        for segment in connection.segments.iter_mut().filter(|segment| !counting.has(segment)) {
            segment.standing = Standing::Copy;
        }
    }
    let tells = Direction::BOTH.map(|direction| ids_tell(&connection.segments, direction));
    let apart = shortest_answer(&connection.segments).unwrap_or(APART_UNKNOWN);
    let slots = SLOTS.min(connection.segments.len().next_power_of_two() * 2);
    let mut seen = vec![u32::MAX; slots];
    // Whether this direction's data was copied: then its ACKs were, too.
    let mut copied = [false; 2];
    for index in 0..connection.segments.len() {
        let segment = connection.segments[index];
        if segment.standing == Standing::Copy {
            continue;
        }
        let slot = &mut seen[slot(&segment, slots)];
        let before = connection.segments.get(*slot as usize);
        let own = segment.direction.index();
        let is_copy = before.is_some_and(|before| {
            let since = segment.at.saturating_sub(before.at).saturating_abs();
            same_header(before, &segment)
                && if tells[own] && segment.ip_id != 0 {
                    before.ip_id == segment.ip_id && since <= APART_MAX
                } else {
                    let elsewhere = before.ttl != segment.ttl || before.via != segment.via;
                    since < apart
                        && connection.sacks(before) == connection.sacks(&segment)
                        && (elsewhere || segment.space() > 0 || copied[own])
                }
        });
        if is_copy {
            copied[own] |= segment.space() > 0;
            connection.segments[index].standing = Standing::Copy;
        } else {
            *slot = index as u32;
        }
    }
}

/// True if anything could be a copy: numbers that are not new. Most connections have few.
fn any_is_repeated(segments: &[Segment]) -> bool {
    let mut last: [Option<(u32, u32)>; 2] = [None; 2];
    segments.iter().any(|segment| {
        let place = (segment.seq.wrapping_add(segment.space()), segment.ack);
        let before = last[segment.direction.index()].replace(place);
        before.is_some_and(|(seq, ack)| {
            (place.0.wrapping_sub(seq) as i32) <= 0 && (place.1.wrapping_sub(ack) as i32) <= 0
        })
    })
}

/// True if neighbors of this direction that differ have different IP IDs, as most systems give.
fn ids_tell(segments: &[Segment], direction: Direction) -> bool {
    let (mut pairs, mut differ) = (0_u64, 0_u64);
    let mut last: Option<&Segment> = None;
    for segment in candidates(segments).filter(|segment| segment.direction == direction) {
        if let Some(last) = last
            && !same_header(last, segment)
        {
            pairs += 1;
            differ += u64::from(last.ip_id != segment.ip_id);
        }
        last = Some(segment);
    }
    differ * 100 >= pairs * TOLD_APART
}

/// The shortest time from a segment to the one that acknowledges all of it, among neighbors.
fn shortest_answer(segments: &[Segment]) -> Option<i64> {
    let answers =
        candidates(segments).zip(candidates(segments).skip(1)).filter(|(sent, answer)| {
            let end = sent.seq.wrapping_add(sent.space());
            sent.space() > 0 && sent.direction != answer.direction && answer.ack == end
        });
    answers.map(|(sent, answer)| answer.at.saturating_sub(sent.at)).filter(|&time| time > 0).min()
}

/// Those that are not known to be copies yet.
fn candidates(segments: &[Segment]) -> impl Iterator<Item = &Segment> {
    segments.iter().filter(|segment| segment.standing != Standing::Copy)
}

/// True if all is equal that no router changes: it lowers the TTL, and may change what the SYN
/// offers and the codepoint of ECN.
fn same_header(a: &Segment, b: &Segment) -> bool {
    let header = |s: &Segment| (s.direction, s.seq, s.ack, s.len, s.flags.bits(), s.window);
    header(a) == header(b) && a.timestamps == b.timestamps
}

/// Its place among so many, a power of two.
fn slot(segment: &Segment, slots: usize) -> usize {
    let header = u64::from(segment.seq) << 32 | u64::from(segment.ack);
    let rest = u64::from(segment.ip_id) << 20 ^ u64::from(segment.len) ^ u64::from(segment.window);
    // A multiplier of Fibonacci hashing: the upper bits are mixed best.
    let mixed = (header ^ rest.rotate_left(7)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> (64 - slots.trailing_zeros())) as usize
}

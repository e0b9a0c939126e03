//! Super-segments: a sender's card divides them (GSO), a receiver's joins packets (GRO).
//!
//! Segments of other lengths at the two places are compared by their bytes.

use super::packets::{Matched, NONE};
use super::view::View;
use crate::analysis::ranges::Ranges;
use crate::connection::Segment;
use crate::direction::Direction;

/// Behind the first segment that may overlap so many are looked at.
const OVERLAPS: usize = 256;

/// A segment of data, and where it is in the stream.
struct Piece {
    index: u32,
    begin: i64,
    end: i64,
}

/// Links what has no partner yet.
pub(super) fn resolve(matched: &mut Matched, views: &[View<'_>; 2], way: Direction, by_id: bool) {
    let places = matched.places(way);
    let [up, down] = places;
    let free = |place: usize, matched: &Matched| -> Vec<Piece> {
        let placed = views[place].placed(way);
        let data = placed.filter(|(_, segment, _)| segment.len > 0);
        let free = data.filter(|(index, ..)| matched.partners[place][*index as usize] == NONE);
        let piece = |(index, segment, begin): (u32, &Segment, i64)| Piece {
            index,
            begin,
            end: begin + i64::from(segment.len),
        };
        free.map(piece).collect()
    };
    let (mut sent, came) = (free(up, matched), free(down, matched));
    if sent.is_empty() || came.is_empty() {
        return;
    }
    sent.sort_by_key(|piece| (piece.begin, piece.index));
    let longest = sent.iter().map(|piece| piece.end - piece.begin).max().unwrap_or(0);
    // What of each has come.
    let mut arrived: Vec<Ranges> = sent.iter().map(|_| Ranges::default()).collect();
    for piece in &came {
        let mut first = None;
        let from = sent.partition_point(|one| one.begin <= piece.begin - longest);
        let overlapping = (from..sent.len()).take(OVERLAPS);
        let overlapping = overlapping.take_while(|&at| sent[at].begin < piece.end);
        for at in overlapping.filter(|&at| sent[at].end > piece.begin) {
            let one = &sent[at];
            let (whole, part) = (views[up].segment(one.index), views[down].segment(piece.index));
            if !may_be_of(whole, part, (one, piece), by_id) {
                continue;
            }
            let (begin, end) = (piece.begin.max(one.begin), piece.end.min(one.end));
            let covered = begin < end && !arrived[at].contains(begin, end);
            arrived[at].insert(begin, end);
            if covered && matched.partners[up][one.index as usize] == NONE {
                matched.partners[up][one.index as usize] = piece.index;
            }
            if covered || first.is_none() {
                first = Some((one.index, covered || first.is_some_and(|(_, covered)| covered)));
            }
            if covered && one.begin <= piece.begin && piece.end <= one.end {
                break;
            }
        }
        if let Some((index, covered)) = first {
            matched.partners[down][piece.index as usize] = index;
            if !covered {
                matched.duplicates[down].insert(piece.index);
            }
        }
    }
    for (piece, arrived) in sent.iter().zip(arrived) {
        let left = arrived.gaps(piece.begin, piece.end);
        if !left.is_empty() && matched.partners[up][piece.index as usize] != NONE {
            matched.parts[up].insert(piece.index, left);
        }
    }
}

/// True if a segment may have been divided into, or joined to, another one. `lies`: where both are.
fn may_be_of(sent: &Segment, came: &Segment, lies: (&Piece, &Piece), by_id: bool) -> bool {
    let same_length = sent.len == came.len && lies.0.begin == lies.1.begin;
    let acks = sent.ack == came.ack || sent.timestamps.is_some();
    if same_length || sent.timestamps != came.timestamps || !acks {
        return false;
    }
    // Those of a super-segment have numbers that count on from its own.
    let (larger, smaller) = if sent.len >= came.len { (sent, came) } else { (came, sent) };
    let apart = smaller.ip_id.wrapping_sub(larger.ip_id);
    let within = u32::from(apart) <= larger.len / smaller.len.max(1) + 1;
    match (sent.ip_id != 0 && came.ip_id != 0, sent.timestamps) {
        (true, None) => within,
        (true, Some(_)) => within || !by_id,
        (false, None) => sent.window == came.window,
        (false, Some(_)) => true,
    }
}

//! Runs of lost packets, and their retransmissions.

use super::{Bounds, Lost, Way, carries, on_the_wire};
use crate::analysis::ranges::Ranges;
use crate::direction::Direction;
use crate::pair::packets::{Matched, NONE};
use crate::pair::view::View;

/// The data of a full segment on Ethernet, over IPv4 without options.
const ETHERNET: u32 = 1460;

/// Packets that were lost one after the other: between them, none of their direction came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// When the first and the last passed upstream, in nanoseconds since 1970 by that clock.
    pub times: (i64, i64),
    /// The time of the first by the first place's clock.
    pub at: i64,
    /// Its packets and bytes.
    pub lost: Lost,
    /// The place in the stream of the first byte of data, if there is data.
    pub place: Option<i64>,
    /// The bytes of that data that were retransmitted upstream.
    pub retransmitted: u64,
}

/// Data that did not come.
struct Missing {
    /// Its packet's index upstream.
    index: u32,
    begin: i64,
    end: i64,
    packets: u64,
    again: bool,
}

/// Finds what of a direction did not come.
pub(super) fn find(way: &mut Way, views: &[View<'_>; 2], matched: &Matched, bounds: &Bounds) {
    let [up, down] = way.places;
    let direction = way.direction;
    let smss = smss(views, direction);
    let mut missing: Vec<Missing> = Vec::new();
    let came = views[up].sent(direction).map(|(index, _)| index);
    let came = came.filter(|&index| matched.partners[up][index as usize] != NONE);
    let last_came = came.last().unwrap_or(0);
    for (index, segment, begin) in views[up].placed(direction) {
        let is_part = matched.partners[up][index as usize] != NONE;
        let parts = if is_part { matched.parts[up].get(&index).cloned() } else { None };
        if is_part && parts.is_none() {
            continue;
        }
        if !bounds.downstream_has(segment.at, index > last_came) {
            way.outside[0] += 1;
            continue;
        }
        let whole = || vec![(begin, begin + i64::from(segment.len))];
        for (begin, end) in parts.unwrap_or_else(whole) {
            let packets = on_the_wire((end - begin) as u64, smss);
            missing.push(Missing { index, begin, end, packets, again: false });
        }
    }
    if missing.is_empty() {
        return;
    }
    retransmissions(&mut missing, &views[up], direction);
    let holes = holes(&views[down], direction);
    let mut last: Option<u32> = None;
    let partners = &matched.partners[up];
    for one in &missing {
        let bytes = (one.end - one.begin) as u64;
        if bytes > 0 && !one.again && holes.contains(one.begin, one.end) {
            way.unrecorded.add(one.packets, bytes);
            continue;
        }
        way.lost.add(one.packets, bytes);
        let segment = views[up].segment(one.index);
        let goes_on =
            last.is_some_and(|last| !any_came(&views[up], partners, direction, [last, one.index]));
        last = Some(one.index);
        if !goes_on {
            let at = if up == 0 { segment.at } else { segment.at.saturating_add(bounds.delays.0) };
            let times = (segment.at, segment.at);
            let lost = Lost::default();
            way.losses.push(Loss { times, at, lost, place: None, retransmitted: 0 });
        }
        let Some(run) = way.losses.last_mut() else { continue };
        run.times.1 = segment.at;
        run.lost.add(one.packets, bytes);
        run.retransmitted += if one.again { bytes } else { 0 };
        if bytes > 0 && run.place.is_none() {
            run.place = Some(one.begin);
        }
    }
}

/// True if any of a direction came between two indices.
fn any_came(view: &View<'_>, partners: &[u32], direction: Direction, between: [u32; 2]) -> bool {
    (between[0] + 1..between[1]).any(|index| {
        partners[index as usize] != NONE && view.direction(view.segment(index)) == direction
    })
}

/// Marks what was transmitted again later. `missing` is in the order of the file.
fn retransmissions(missing: &mut [Missing], view: &View<'_>, direction: Direction) {
    let mut sent: Vec<_> = view.placed(direction).filter(|it| carries(it.1)).collect();
    let mut later = Ranges::default();
    for one in missing.iter_mut().rev() {
        while let Some((_, segment, begin)) = sent.pop_if(|it| it.0 > one.index) {
            later.insert(begin, begin + i64::from(segment.len));
        }
        one.again = one.begin < one.end && later.overlaps(one.begin, one.end);
    }
}

/// What a place has not seen of a stream, though an ACK for it came along there.
fn holes(view: &View<'_>, direction: Direction) -> Ranges {
    let mut seen = Ranges::default();
    for (_, segment, begin) in view.placed(direction).filter(|it| it.1.len > 0) {
        seen.insert(begin, begin + i64::from(segment.len));
    }
    let mut holes = Ranges::default();
    let acknowledged = view.acknowledged(direction).last().map_or(i64::MIN, |last| last.1);
    let mut from = i64::MIN;
    for (begin, end) in seen.behind(i64::MIN) {
        holes.insert(from, begin.min(acknowledged));
        from = end;
    }
    holes.insert(from, acknowledged);
    holes
}

/// The data of a full segment of a direction, as it is on the wire.
fn smss(views: &[View<'_>; 2], direction: Direction) -> u64 {
    let offered = views.iter().filter_map(|view| view.smss(direction)).min();
    let longest = |view: &View<'_>| view.sent(direction).map(|(_, segment)| segment.len).max();
    // Without SYNs: at one of the places segments may be as they were on the wire.
    let captured = || views.iter().filter_map(longest).min().unwrap_or(0).max(ETHERNET);
    u64::from(offered.unwrap_or_else(captured))
}

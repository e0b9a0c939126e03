//! A stream at two places, by its bytes: delays, backlog, and acknowledgments.

use super::clock::{Clock, Spread};
use super::packets::{self, Sample};
use super::view::View;
use super::way::{Way, seen};
use crate::analysis::ranges::Ranges;
use crate::connection::Flags;
use crate::direction::Direction;

/// A backlog has so many values over time at most.
const VALUES_MAX: usize = 1000;

/// The bytes of a direction at two places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Streamed {
    /// Bytes of the stream that each place has seen, each once.
    pub bytes: [u64; 2],
    /// Those that both have seen.
    pub both: u64,
    /// Those whose acknowledgment was seen at both places.
    pub acknowledged: u64,
    /// Of these, those with an ACK upstream before one can have come from downstream.
    pub locally: u64,
    /// Those acknowledged upstream before they can have been downstream.
    pub unseen: u64,
    /// The largest lead of the ACK upstream over the one from downstream, in nanoseconds.
    pub earlier: i64,
}

/// Bytes between two places over time, without those of the least delay.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Times, and the most bytes from each on until the next.
    ///
    /// In nanoseconds since 1970, by the first place's clock.
    pub values: Vec<(i64, i64)>,
    /// The most bytes, and when.
    pub max: Option<(i64, i64)>,
}

impl Backlog {
    /// Of bytes, each from when to when they were late.
    pub(super) fn of(late: impl Iterator<Item = (i64, i64, i64)>) -> Backlog {
        let late = late.filter(|&(from, to, bytes)| from < to && bytes > 0);
        let mut changes: Vec<(i64, i64)> =
            late.flat_map(|(from, to, bytes)| [(from, bytes), (to, -bytes)]).collect();
        changes.sort_unstable();
        let (Some(first), Some(last)) = (changes.first(), changes.last()) else {
            return Backlog::default();
        };
        let begin = first.0;
        let width = (last.0.saturating_sub(begin) / VALUES_MAX as i64).max(1);
        let mut backlog = Backlog::default();
        let mut sum = 0;
        let mut add = |at: i64, sum: i64| {
            let bin = begin + at.saturating_sub(begin) / width * width;
            match backlog.values.last_mut() {
                Some(last) if last.0 == bin => last.1 = last.1.max(sum),
                _ => backlog.values.push((bin, sum)),
            }
            if backlog.max.is_none_or(|max| max.1 < sum) {
                backlog.max = Some((at, sum));
            }
        };
        for together in changes.chunk_by(|a, b| a.0 == b.0) {
            // What comes and goes at one time was never there together.
            sum += together.iter().map(|change| change.1).sum::<i64>();
            add(together[0].0, sum);
        }
        backlog
    }
}

/// When a range of a stream was first seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    begin: i64,
    end: i64,
    at: i64,
}

/// Compares both directions by their bytes; returns the direction that passes the first place
/// first.
pub(super) fn compare(views: &[View<'_>; 2]) -> (Direction, Clock, [Way; 2]) {
    let seen_at = Direction::BOTH.map(|way| views.each_ref().map(|view| first_seen(view, way)));
    let differences = seen_at.each_ref().map(|[first, second]| common([&first.0, &second.0]));
    let downstream = packets::downstream(&differences);
    let mut samples = differences;
    for sample in &mut samples[downstream.reverse().index()] {
        sample.delay = sample.delay.saturating_neg();
    }
    // What a gateway holds back for long is no clock's drift.
    let clock = Clock::without_drift(&samples, downstream);
    let mut ways = Direction::BOTH.map(|way| {
        let places = if way == downstream { [0, 1] } else { [1, 0] };
        Way::new(way, places)
    });
    for (way, samples) in ways.iter_mut().zip(samples) {
        let direction = way.direction;
        way.seen = seen(views, direction);
        let [first, second] = &seen_at[direction.index()];
        if first.1 && second.1 {
            let mut above: Vec<(i64, u64)> = samples
                .iter()
                .map(|&one| (clock.above(direction, one), u64::from(one.bytes)))
                .collect();
            way.spread = Spread::of(&mut above);
            way.backlog = Backlog::of(samples.iter().map(|&one| {
                let above = clock.above(direction, one);
                (one.at, one.at.saturating_add(above), i64::from(one.bytes))
            }));
            let places = [&first.0, &second.0];
            let mut streamed = Streamed {
                bytes: places.map(|seen| seen.iter().map(|one| (one.end - one.begin) as u64).sum()),
                both: samples.iter().map(|one| u64::from(one.bytes)).sum(),
                ..Streamed::default()
            };
            acknowledgments(&mut streamed, views, way, places, &clock);
            way.streamed = Some(streamed);
            way.samples = samples;
        }
    }
    (downstream, clock, ways)
}

/// When each byte of a direction was first seen at a place, in the order of the stream, and whether
/// there are any. A direction without data has its FIN, else its SYN.
fn first_seen(view: &View<'_>, way: Direction) -> (Vec<Seen>, bool) {
    let mut covered = Ranges::default();
    let mut seen: Vec<Seen> = Vec::new();
    let mut controls: [Option<Seen>; 2] = [None; 2];
    let mut next = i64::MIN;
    for (_, segment, begin) in view.placed(way) {
        let (at, end) = (segment.at, begin + i64::from(segment.len));
        for (flag, place, known) in [(Flags::FIN, end, 0), (Flags::SYN, begin - 1, 1)] {
            if segment.flags.has(flag) {
                controls[known].get_or_insert(Seen { begin: place, end: place + 1, at });
            }
        }
        if begin >= next {
            seen.extend((begin < end).then_some(Seen { begin, end, at }));
        } else {
            let gaps = covered.gaps(begin, end).into_iter();
            seen.extend(gaps.map(|(begin, end)| Seen { begin, end, at }));
        }
        covered.insert(begin, end);
        if end > begin {
            next = next.max(end);
        }
    }
    let has_data = !seen.is_empty();
    if !has_data {
        seen.extend(controls.into_iter().flatten().next());
    }
    seen.sort_unstable();
    (seen, has_data)
}

/// The ranges that both have: the second's time less the first's.
fn common([first, second]: [&[Seen]; 2]) -> Vec<Sample> {
    let (mut one, mut other) = (first.iter().peekable(), second.iter().peekable());
    let mut samples = Vec::new();
    while let (Some(a), Some(b)) = (one.peek(), other.peek()) {
        let (begin, end) = (a.begin.max(b.begin), a.end.min(b.end));
        if begin < end {
            let bytes = u32::try_from(end - begin).unwrap_or(u32::MAX);
            samples.push(Sample { at: a.at, delay: b.at.saturating_sub(a.at), bytes });
        }
        if a.end <= b.end {
            one.next()
        } else {
            other.next()
        };
    }
    samples
}

/// Counts the bytes that something between the places acknowledged.
fn acknowledgments(
    streamed: &mut Streamed,
    views: &[View<'_>; 2],
    way: &Way,
    seen: [&Vec<Seen>; 2],
    clock: &Clock,
) {
    let [up, down] = way.places;
    let (Some(first), Some(last)) = (seen[up].first(), seen[up].last()) else { return };
    let acknowledged = |place: usize| {
        let mut from = first.begin;
        let ranges = views[place].acknowledged(way.direction).map(move |(at, end)| {
            let (begin, end) = (from, end.min(last.end));
            from = from.max(end);
            Seen { begin, end, at }
        });
        ranges.filter(|range| range.begin < range.end).collect::<Vec<Seen>>()
    };
    let acks = [acknowledged(up), acknowledged(down)];
    // Downstream's times by the clock upstream, as early as they may be: at no delay at all.
    let least = clock.least[way.direction.index()].unwrap_or(0);
    for sample in common([&acks[0], &acks[1]]) {
        let earlier = sample.delay.saturating_sub(least);
        streamed.acknowledged += u64::from(sample.bytes);
        if earlier > 0 {
            streamed.locally += u64::from(sample.bytes);
            streamed.earlier = streamed.earlier.max(earlier);
        }
    }
    let unseen = common([&acks[0], seen[down]]).into_iter();
    let unseen = unseen.filter(|sample| sample.delay > least);
    streamed.unseen = unseen.map(|sample| u64::from(sample.bytes)).sum();
}

//! A first look at a direction's headers. It finds the segments' size, and whether their IP IDs
//! tell the order of sending.

use crate::connection::{Connection, Segment};
use crate::direction::Direction;
use std::collections::{BTreeMap, VecDeque};

/// Between packets of one sender the IP ID grows by no more where it counts them: other connections
/// of the host, and super-segments, take numbers as well.
const STEP_MAX: u16 = 256;
/// It counts if so many of 100 steps are as small.
const COUNTS: u64 = 99;

/// So many segments are as long as a path allows, where that is less than what was offered.
const OFTEN: u32 = 4;
/// Segments that are closer were written at once, in nanoseconds.
const BACK_TO_BACK: i64 = 100_000;
/// A sender that seems to answer later does not answer: the capture has no such pair.
const REACTION_MAX: i64 = 50_000_000;
/// So many TSvals are remembered until they are echoed.
const ECHOES: usize = 64;
/// What a maximum segment size may be: longer ones are super-segments on any link that is common.
const SIZES: std::ops::RangeInclusive<u32> = 500..=9000;
/// Where nothing says more (an Ethernet's).
const DEFAULT: u32 = 1460;

/// A direction's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Survey {
    /// The maximum segment size.
    pub(super) mss: u32,
    /// True if its IP IDs count packets.
    pub(super) ids: bool,
    /// True if any of its segments is in the capture.
    pub(super) seen: bool,
    /// The shortest time from a segment of the other end to one of this one, in nanoseconds: to the
    /// sender and back, and what that takes to answer.
    pub(super) reaction: i64,
    /// The shortest time from a TSval of the other end to the first segment that echoes it, which
    /// is at least that to the sender and back.
    pub(super) echo: Option<i64>,
}

impl Survey {
    pub(super) fn of(connection: &Connection, direction: Direction) -> Survey {
        let mut timestamps = false;
        let mut lengths = Lengths::default();
        let (mut steps, mut small, mut last) = (0_u64, 0_u64, None);
        let own = |segment: &&Segment| segment.direction == direction && segment.counts();
        for segment in connection.segments.iter().filter(own) {
            timestamps |= segment.timestamps.is_some();
            lengths.take(segment);
            if let Some(last) = last.replace(segment.ip_id) {
                let step = (segment.ip_id.wrapping_sub(last) as i16).unsigned_abs();
                steps += 1;
                small += u64::from((1..=STEP_MAX).contains(&step));
            }
        }
        let options = if timestamps { 12 } else { 0 };
        let offered = connection.offered_mss(direction);
        let mss = lengths.mss(offered.map(|mss| u32::from(mss).saturating_sub(options).max(1)));
        // Two steps may be small by chance.
        let ids = steps >= 3 && small * 100 >= steps * COUNTS;
        let reaction = reaction(connection, direction).unwrap_or(0).min(REACTION_MAX);
        Survey { mss, ids, seen: last.is_some(), reaction, echo: echo(connection, direction) }
    }
}

/// The shortest time from a segment of the other direction to the next of this one.
fn reaction(connection: &Connection, direction: Direction) -> Option<i64> {
    let answers = connection.segments.windows(2).filter(|pair| {
        pair[0].direction != direction && pair[1].direction == direction && pair[1].counts()
    });
    answers.map(|pair| pair[1].at.saturating_sub(pair[0].at)).filter(|&time| time >= 0).min()
}

/// The shortest time until a TSval of the other direction is echoed (RFC 7323, 3.2), among the last
/// few.
fn echo(connection: &Connection, direction: Direction) -> Option<i64> {
    let mut values: VecDeque<(u32, i64)> = VecDeque::new();
    let mut shortest = None;
    for segment in connection.segments.iter().filter(|segment| segment.counts()) {
        let Some((value, echoed)) = segment.timestamps else { continue };
        if segment.direction != direction {
            if values.back().is_none_or(|&(last, _)| last != value) {
                values.push_back((value, segment.at));
            }
            if values.len() > ECHOES {
                values.pop_front();
            }
        } else if let Some(&(_, at)) = values.iter().rev().find(|&&(value, _)| value == echoed) {
            let time = segment.at.saturating_sub(at).max(0);
            shortest = Some(shortest.map_or(time, |shortest: i64| shortest.min(time)));
        }
    }
    shortest
}

/// How long a direction's segments are. One with more data right behind it is as long as any may
/// be; others are as long as what was written.
#[derive(Debug, Default)]
struct Lengths {
    /// How often each is followed by more at once.
    followed: BTreeMap<u32, u32>,
    /// How often each is seen.
    seen: BTreeMap<u32, u32>,
    last: Option<Segment>,
}

impl Lengths {
    fn take(&mut self, segment: &Segment) {
        if segment.len == 0 {
            return;
        }
        let count = |lengths: &mut BTreeMap<u32, u32>, len: u32| {
            if SIZES.contains(&len) && lengths.len() < 10_000 {
                *lengths.entry(len).or_default() += 1;
            }
        };
        count(&mut self.seen, segment.len);
        if let Some(last) = self.last.replace(*segment)
            && last.seq.wrapping_add(last.len) == segment.seq
            && (0..BACK_TO_BACK).contains(&segment.at.saturating_sub(last.at))
        {
            count(&mut self.followed, last.len);
        }
    }

    /// What the SYNs offer, less what timestamps take, or less where a path allows less.
    fn mss(&self, offered: Option<u32>) -> u32 {
        let most = |lengths: &BTreeMap<u32, u32>| {
            lengths.iter().map(|(&len, &times)| (times, len)).max().filter(|&(n, _)| n >= OFTEN)
        };
        let longest = self.seen.keys().next_back().copied();
        let followed = most(&self.followed).map(|(_, len)| len);
        match offered {
            // Of a path that allows less, no segment is longer.
            Some(offered) => match followed {
                Some(len) if longest.is_none_or(|longest| longest <= len) => offered.min(len),
                _ => offered,
            },
            None => followed.or(longest).unwrap_or(DEFAULT),
        }
    }
}

//! The packets of one place, each with its partner at the other.
//!
//! Packets with the same headers differ by their IP IDs, where both places have the same ones.
//! Else time decides: a copy arrives neither before the least delay nor later than all others.
//! Super-segments, which a card divides or has joined, are compared by their bytes.

use super::clock::Clock;
use super::pieces;
use super::sorted::Sorted;
use super::view::View;
use crate::direction::Direction;
use std::collections::{BTreeMap, BTreeSet};

/// Without a partner.
pub(super) const NONE: u32 = u32::MAX;
/// A packet may seem to come so much earlier or later than all others, in nanoseconds.
const SLACK: i64 = 20_000_000;

/// A packet at both places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// When the first place saw it, in nanoseconds since 1970.
    pub at: i64,
    /// The time from the place upstream to the one downstream, by their clocks.
    pub delay: i64,
    /// Bytes of data.
    pub bytes: u32,
}

/// Packets and their partners.
pub(super) struct Matched {
    /// Segments of data at the place with fewer, and how many of them have partners.
    pub(super) data: (u64, u64),
    /// The direction that passes the first place first.
    pub(super) downstream: Direction,
    /// Of each segment of a place its partner at the other one: of several copies the first.
    pub(super) partners: [Vec<u32>; 2],
    /// Segments that came once more, at the place where they did.
    pub(super) duplicates: [BTreeSet<u32>; 2],
    /// Bytes of super-segments upstream that did not come: place in the stream, and how many.
    pub(super) parts: [BTreeMap<u32, Vec<(i64, i64)>>; 2],
}

/// When a copy may come, by what unique packets did.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    least: i64,
    most: i64,
}

impl Matched {
    pub(super) fn new(views: &[View<'_>; 2]) -> Matched {
        let partners = views.each_ref().map(|view| vec![NONE; view.len()]);
        let mut matched = Matched {
            data: (0, 0),
            downstream: Direction::Forward,
            partners,
            duplicates: Default::default(),
            parts: Default::default(),
        };
        let mut unique: [Vec<Sample>; 2] = Default::default();
        let mut ids = Ids::default();
        for way in Direction::BOTH {
            let sorted = Sorted::new(views, way);
            sorted.groups(&mut |group| {
                if let [[(_, a)], [(_, b)]] = group {
                    let (one, other) = (views[0].segment(*a), views[1].segment(*b));
                    ids.take([one.ip_id, other.ip_id], one.timestamps.is_some());
                    let delay = other.at.saturating_sub(one.at);
                    let at = one.at;
                    unique[way.index()].push(Sample { at, delay, bytes: one.len });
                }
            });
        }
        matched.downstream = downstream(&unique);
        if ids.contradict() {
            matched.data.0 = 1;
            return matched;
        }
        for sample in &mut unique[matched.downstream.reverse().index()] {
            sample.delay = sample.delay.saturating_neg();
        }
        let clock = Clock::fit(&unique, matched.downstream);
        for way in Direction::BOTH {
            let above = |one: &Sample| clock.corrected(way, *one);
            let least = unique[way.index()].iter().map(above).min();
            let most = unique[way.index()].iter().map(above).max();
            let bounds = least.zip(most).map(|(least, most)| Bounds { least, most });
            matched.resolve(views, way, &ids, &clock, bounds);
            matched.count(views, way);
        }
        matched
    }

    /// The place upstream of a direction, and the one downstream.
    pub(super) fn places(&self, way: Direction) -> [usize; 2] {
        if way == self.downstream { [0, 1] } else { [1, 0] }
    }

    fn resolve(
        &mut self,
        views: &[View<'_>; 2],
        way: Direction,
        ids: &Ids,
        clock: &Clock,
        bounds: Option<Bounds>,
    ) {
        let [up, down] = self.places(way);
        // The delay of a packet, less what drift adds.
        let delay = |sent: u32, came: u32| {
            let (sent, came) = (views[up].segment(sent).at, views[down].segment(came).at);
            let at = if up == 0 { sent } else { came };
            clock.corrected(way, Sample { at, delay: came.saturating_sub(sent), bytes: 0 })
        };
        let sorted = Sorted::new(views, way);
        sorted.groups(&mut |group| {
            let (sent, came) = (group[up], group[down]);
            let indices = |group: &[(u64, u32)]| group.iter().map(|entry| entry.1).collect();
            let (sent, came): (Vec<u32>, Vec<u32>) = (indices(sent), indices(came));
            let id = |place: usize, index: u32| views[place].segment(index).ip_id;
            if ids.tell() && sent.iter().all(|&index| id(up, index) != 0) {
                self.by_id([up, down], &sent, &came, &id);
            } else {
                self.by_time([up, down], &sent, &came, bounds, &delay);
            }
        });
        pieces::resolve(self, views, way, ids.tell());
    }

    pub(super) fn link(&mut self, [up, down]: [usize; 2], sent: u32, came: u32) {
        self.partners[down][came as usize] = sent;
        let first = &mut self.partners[up][sent as usize];
        if *first == NONE {
            *first = came;
        } else {
            self.duplicates[down].insert(came);
        }
    }

    fn by_id(
        &mut self,
        places: [usize; 2],
        sent: &[u32],
        came: &[u32],
        id: &dyn Fn(usize, u32) -> u16,
    ) {
        if let ([sent], [came]) = (sent, came) {
            if id(places[0], *sent) == id(places[1], *came) {
                self.link(places, *sent, *came);
            }
            return;
        }
        let mut free: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
        for &index in sent.iter().rev() {
            free.entry(id(places[0], index)).or_default().push(index);
        }
        for &index in came {
            let Some(waiting) = free.get_mut(&id(places[1], index)) else { continue };
            // The last one is kept: what has its number too is a duplicate of it.
            let next = if waiting.len() > 1 { waiting.pop() } else { waiting.last().copied() };
            if let Some(next) = next {
                self.link(places, next, index);
            }
        }
    }

    /// Links in order: each to the first that may have come then.
    fn by_time(
        &mut self,
        places: [usize; 2],
        sent: &[u32],
        came: &[u32],
        bounds: Option<Bounds>,
        delay: &dyn Fn(u32, u32) -> i64,
    ) {
        let bounds = bounds.unwrap_or(Bounds { least: i64::MIN / 2, most: i64::MAX / 2 });
        let mut waiting = sent.iter().copied().peekable();
        let mut passed: Vec<u32> = Vec::new();
        let mut last = None;
        for &index in came {
            while waiting
                .next_if(|&one| {
                    let late = delay(one, index) > bounds.most.saturating_add(SLACK);
                    if late {
                        passed.push(one);
                    }
                    late
                })
                .is_some()
            {}
            let fits = |one: &u32| delay(*one, index) >= bounds.least.saturating_sub(SLACK);
            if let Some(next) = waiting.next_if(fits).or_else(|| passed.pop()) {
                self.link(places, next, index);
                last = Some(next);
            } else if let Some(last) = last
                && delay(last, index) <= bounds.most.saturating_add(SLACK)
            {
                self.link(places, last, index);
            }
        }
    }

    fn count(&mut self, views: &[View<'_>; 2], way: Direction) {
        let sums = [0, 1].map(|place: usize| {
            let data = views[place].sent(way).filter(|(_, one)| one.len > 0);
            data.fold((0, 0), |(all, same): (u64, u64), (index, _)| {
                let linked = self.partners[place][index as usize] != NONE;
                (all + 1, same + u64::from(linked))
            })
        });
        let fewer = sums[0].min(sums[1]);
        self.data.0 += fewer.0;
        self.data.1 += fewer.1;
    }
}

/// True if IP IDs are the same at both places.
#[derive(Default)]
struct Ids {
    both: u64,
    equal: u64,
    timestamped: u64,
}

impl Ids {
    fn take(&mut self, ids: [u16; 2], timestamped: bool) {
        if ids.iter().all(|&id| id != 0) {
            self.both += 1;
            self.equal += u64::from(ids[0] == ids[1]);
            self.timestamped += u64::from(timestamped);
        }
    }

    fn tell(&self) -> bool {
        self.equal * 10 >= self.both * 9 && self.both > 0
    }

    /// True if they say that packets with the same headers are not the same, and nothing says that
    /// they are.
    fn contradict(&self) -> bool {
        self.both >= 8 && self.equal * 10 <= self.both && self.timestamped * 10 <= self.both
    }
}

/// The direction that passes the first place first. What goes there and back takes time, so one
/// way's difference and the other's have a positive sum.
pub(super) fn downstream(differences: &[Vec<Sample>; 2]) -> Direction {
    let median = |samples: &[Sample]| {
        let mut values: Vec<i64> = samples.iter().map(|sample| sample.delay).collect();
        let middle = values.len() / 2;
        (!values.is_empty()).then(|| *values.select_nth_unstable(middle).1)
    };
    match differences.each_ref().map(|samples| median(samples)) {
        [Some(forward), Some(backward)] if forward < backward => Direction::Backward,
        [None, Some(_)] => Direction::Backward,
        _ => Direction::Forward,
    }
}

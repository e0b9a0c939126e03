//! The connections that two captures have in common.

use super::view::turned;
use crate::capture::Capture;
use crate::connection::Connection;
use crate::direction::Direction;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// A connection of which neither SYN was seen is looked for among so many others.
const CANDIDATES: usize = 256;
/// Numbers further apart are not looked at: no file has so much of one stream and not its
/// beginning.
const FAR: u32 = 1 << 30;
/// So many segments of data are compared for that.
const COMPARED: usize = 64;

/// The connection that is in both captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paired {
    /// Its index in the first capture.
    pub first: usize,
    /// Its index in the second capture.
    pub second: usize,
    /// The second capture takes the other end for the first.
    pub flipped: bool,
    /// The distance from the second capture's sequence numbers, by the first one's directions.
    pub shifts: [u32; 2],
    /// The evidence that it is the same.
    pub by: By,
}

/// The evidence that two connections are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Their addresses and ports, and their sequence numbers.
    Ends,
    /// Their addresses and ports only: something between them changes sequence numbers.
    EndsOnly,
    /// Their sequence numbers: addresses are translated between them.
    Numbers,
}

impl Paired {
    /// A direction of the first capture in the second one's connection.
    pub(super) fn second(&self, direction: Direction) -> Direction {
        turned(direction, self.flipped)
    }
}

/// Pairs the connections of two captures.
#[must_use]
pub fn pair(first: &Capture, second: &Capture) -> Vec<Paired> {
    let mut free: BTreeSet<usize> = (0..second.connections.len()).collect();
    let mut pairs: Vec<Option<Paired>> = vec![None; first.connections.len()];
    let index = Index::new(second);
    // Sure ones first: what is left is paired by less.
    for by in [By::Ends, By::Numbers, By::EndsOnly] {
        for (at, connection) in first.connections.iter().enumerate() {
            if pairs[at].is_some() {
                continue;
            }
            let found =
                index.candidates(connection, by, &free).find_map(|other| {
                    same(connection, &second.connections[other], by).map(|(flipped, shifts)| {
                        Paired { first: at, second: other, flipped, shifts, by }
                    })
                });
            if let Some(found) = found {
                free.remove(&found.second);
                pairs[at] = Some(found);
            }
        }
    }
    pairs.into_iter().flatten().collect()
}

/// How two connections that are known to be one belong together.
pub(super) fn same_connection(first: &Connection, second: &Connection) -> Option<Paired> {
    [By::Ends, By::Numbers, By::EndsOnly].into_iter().find_map(|by| {
        let (flipped, shifts) = same(first, second, by)?;
        Some(Paired { first: 0, second: 0, flipped, shifts, by })
    })
}

/// The second capture's connections by what they may be known by.
struct Index {
    ends: BTreeMap<[SocketAddr; 2], Vec<usize>>,
    /// By the numbers of their SYNs, the smaller one first.
    numbers: BTreeMap<[u32; 2], Vec<usize>>,
}

impl Index {
    fn new(capture: &Capture) -> Index {
        let (mut ends, mut numbers) = (BTreeMap::new(), BTreeMap::new());
        for (at, connection) in capture.connections.iter().enumerate() {
            let both: &mut Vec<usize> = ends.entry(sorted(connection.ends)).or_default();
            both.push(at);
            if let Some(both) = opening(connection) {
                let all: &mut Vec<usize> = numbers.entry(sorted(both)).or_default();
                all.push(at);
            }
        }
        Index { ends, numbers }
    }

    fn candidates<'i>(
        &'i self,
        connection: &Connection,
        by: By,
        free: &'i BTreeSet<usize>,
    ) -> Box<dyn Iterator<Item = usize> + 'i> {
        let listed = |found: Option<&'i Vec<usize>>| {
            let found = found.map(Vec::as_slice).unwrap_or_default();
            found.iter().copied().filter(|at| free.contains(at))
        };
        match (by, opening(connection)) {
            (By::Numbers, Some(both)) => Box::new(listed(self.numbers.get(&sorted(both)))),
            (By::Numbers, None) => Box::new(free.iter().copied().take(CANDIDATES)),
            (By::Ends | By::EndsOnly, _) => {
                Box::new(listed(self.ends.get(&sorted(connection.ends))).take(CANDIDATES))
            }
        }
    }
}

fn sorted<T: Ord>(mut pair: [T; 2]) -> [T; 2] {
    pair.sort();
    pair
}

/// The numbers of both SYNs, if both were seen.
fn opening(connection: &Connection) -> Option<[u32; 2]> {
    let [Some(first), Some(second)] = connection.first_seq else { return None };
    connection.offers.iter().all(|offer| offer.syn).then_some([first, second])
}

/// True if two connections are the same; and if so, whether the second one is turned, and what is
/// added to its numbers.
fn same(first: &Connection, second: &Connection, by: By) -> Option<(bool, [u32; 2])> {
    let straight = first.ends == second.ends;
    let unshifted = |flipped| Some((flipped, [0; 2]));
    match by {
        By::Ends => near(first, second, !straight).then_some((!straight, [0; 2])),
        By::EndsOnly => Some((!straight, shifts(first, second, !straight)?)),
        By::Numbers => match (opening(first), opening(second)) {
            (Some(one), Some(other)) if one == other => unshifted(false),
            (Some([a, b]), Some([c, d])) if [a, b] == [d, c] => unshifted(true),
            (Some(_), Some(_)) => None,
            _ => [false, true]
                .into_iter()
                .find(|&flipped| {
                    near(first, second, flipped) && shares_data(first, second, flipped)
                })
                .and_then(unshifted),
        },
    }
}

/// True if each direction's numbers may be of one stream. SYNs are to be the same.
fn near(first: &Connection, second: &Connection, flipped: bool) -> bool {
    Direction::BOTH.into_iter().all(|direction| {
        let (own, other) = (direction.index(), turned(direction, flipped).index());
        let syns = first.offers[own].syn && second.offers[other].syn;
        let (Some(a), Some(b)) = (first.first_seq[own], second.first_seq[other]) else {
            return true;
        };
        let apart = (a.wrapping_sub(b) as i32).unsigned_abs();
        if syns || apart == 0 {
            return apart == 0;
        }
        apart <= FAR && u64::from(apart) <= reach(first) + reach(second)
    })
}

/// How far a connection's numbers may be from its first one: its data, and what a gap may hide.
fn reach(connection: &Connection) -> u64 {
    let data: u64 = connection.segments.iter().map(|segment| u64::from(segment.len)).sum();
    2 * data + (1 << 20)
}

/// What makes the second one's numbers the first one's, if both began in both captures.
fn shifts(first: &Connection, second: &Connection, flipped: bool) -> Option<[u32; 2]> {
    let (first, second) = (opening(first)?, opening(second)?);
    Some(Direction::BOTH.map(|direction| {
        first[direction.index()].wrapping_sub(second[turned(direction, flipped).index()])
    }))
}

/// True if half of a connection's first segments of data are in the other one, too.
fn shares_data(first: &Connection, second: &Connection, flipped: bool) -> bool {
    let numbers = |connection: &Connection, flipped: bool, most: usize| {
        let data = connection.segments.iter().filter(|segment| segment.len > 1);
        let name = data.map(|one| (turned(one.direction, flipped), one.seq, one.len, one.ack));
        name.take(most).collect::<BTreeSet<_>>()
    };
    let own = numbers(first, false, COMPARED);
    let others = numbers(second, flipped, 4 * COMPARED);
    let same = own.intersection(&others).count();
    same > 0 && 2 * same >= own.len().min(others.len())
}

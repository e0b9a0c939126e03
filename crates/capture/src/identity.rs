//! Which connection a segment is of. A pair of addresses and ports can have several, one after the
//! other, and at the same time in two VLANs, or on both sides of a firewall that renumbers: each
//! SYN with another sequence number begins one, and what follows is of the newest whose numbers are
//! near.

use crate::connection::{Connection, Flags, Segment, Standing};
use crate::direction::Direction;
use crate::via::Via;

/// So many connections of a pair are remembered.
const REMEMBERED: usize = 8;
/// Numbers that are further apart are of two sequence spaces: few windows are as large, and few
/// gaps in a capture are.
const NEAR: u32 = 1 << 28;

/// What is known of a connection while its file is read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Progress {
    /// One past the highest number of each direction.
    next: [Option<u32>; 2],
    /// True if the other end has acknowledged this direction's SYN.
    answered: [bool; 2],
    /// True if this direction has carried data.
    data: [bool; 2],
    /// Where its first segment was seen.
    via: u16,
    /// Segments before these have been looked at for an earlier sequence space.
    judged: usize,
}

/// The connections of a pair, the newest last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pair(Vec<usize>);

impl Pair {
    /// The connection that a segment of this pair belongs to; none if it begins another. `of`
    /// returns a connection, its progress, and the segment's direction in it; `vias` are the places
    /// that were seen.
    pub(crate) fn find<'c>(
        &self,
        segment: &Segment,
        vias: &[Via],
        of: impl Fn(usize) -> (&'c Connection, &'c Progress, Direction),
    ) -> Option<usize> {
        let newest = *self.0.last()?;
        let find = |accepts: &dyn Fn(&Connection, &Progress, Direction) -> bool| {
            self.0.iter().rev().copied().find(|&number| {
                let (connection, progress, direction) = of(number);
                accepts(connection, progress, direction)
            })
        };
        let same_syn = |connection: &Connection, _: &Progress, direction: Direction| {
            connection.first_seq[direction.index()] == Some(segment.seq)
        };
        let syn = segment.flags.has(Flags::SYN);
        if syn && !segment.flags.has(Flags::ACK) {
            let (connection, _, direction) = of(newest);
            let unseen = connection.first_seq[direction.index()].is_none();
            return find(&same_syn).or(unseen.then_some(newest));
        }
        if syn {
            let answers = |connection: &Connection, _: &Progress, direction: Direction| {
                let called = connection.first_seq[direction.reverse().index()];
                called.is_some_and(|first| first.wrapping_add(1) == segment.ack)
            };
            return find(&same_syn).or_else(|| find(&answers)).or(Some(newest));
        }
        let place = |via: u16| vias.get(usize::from(via));
        let same_network = |_: &Connection, progress: &Progress, _: Direction| match (
            place(progress.via),
            place(segment.via),
        ) {
            (Some(a), Some(b)) => a.same_network(b),
            _ => true,
        };
        // Equal addresses in two VLANs are other hosts.
        find(&|_, progress, direction| progress.is_near(segment, direction))
            .or_else(|| find(&same_network))
    }

    /// Adds the newest.
    pub(crate) fn add(&mut self, number: usize) {
        if self.0.len() == REMEMBERED {
            self.0.remove(0);
        }
        self.0.push(number);
    }

    /// True if it has none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Progress {
    /// Of a connection that begins with this segment.
    pub(crate) fn new(segment: &Segment) -> Progress {
        Progress { via: segment.via, ..Progress::default() }
    }

    /// True if the numbers of a segment may be those of this connection.
    fn is_near(&self, segment: &Segment, direction: Direction) -> bool {
        let near = |number: u32, next: Option<u32>| {
            next.is_none_or(|next| (number.wrapping_sub(next) as i32).unsigned_abs() < NEAR)
        };
        // A reset that answers a SYN has the number 0.
        let refuses = segment.flags.has(Flags::RST) && segment.seq == 0;
        (refuses || near(segment.seq, self.next[direction.index()]))
            && (!segment.flags.has(Flags::ACK)
                || near(segment.ack, self.next[direction.reverse().index()]))
    }

    /// Takes a segment of the connection before that is kept. A SYN that was not answered yet gives
    /// way to another one: what came before is of an earlier sequence space.
    pub(crate) fn take(&mut self, connection: &mut Connection, segment: &Segment) {
        let (own, peer) = (segment.direction.index(), segment.direction.reverse().index());
        let syn = segment.flags.has(Flags::SYN);
        let fixed = self.answered[own] || self.data[own];
        let first = connection.first_seq[own];
        if syn && !fixed && first.is_some_and(|first| first != segment.seq) {
            connection.first_seq[own] = None;
            self.next[own] = None;
            for earlier in &mut connection.segments[self.judged..] {
                if earlier.direction == segment.direction || earlier.flags.has(Flags::RST) {
                    earlier.standing = Standing::Earlier;
                }
            }
            self.judged = connection.segments.len();
            connection.reused_at.push(segment.frame);
        }
        let known = *connection.first_seq[own].get_or_insert(segment.seq);
        let called = connection.first_seq[peer];
        if segment.flags.has(Flags::ACK) && !segment.flags.has(Flags::RST) && !self.answered[peer] {
            self.answered[peer] = connection.offers[peer].syn
                && (called.is_some_and(|first| first.wrapping_add(1) == segment.ack)
                    || accepts_former(connection, segment));
        }
        self.data[own] |= segment.len > 0 && !syn;
        let end = segment.seq.wrapping_add(segment.space());
        let next = self.next[own].unwrap_or(known);
        if (end.wrapping_sub(next) as i32) >= 0 {
            self.next[own] = Some(end);
        } else {
            self.next[own].get_or_insert(next);
        }
    }
}

/// Of two SYNs of the other end with two numbers the former is acknowledged: it is the one that
/// counts. Whether that is so.
fn accepts_former(connection: &mut Connection, segment: &Segment) -> bool {
    let peer = segment.direction.reverse();
    let accepted = segment.ack.wrapping_sub(1);
    let is_syn = |one: &Segment| one.direction == peer && one.flags.has(Flags::SYN);
    // Behind a handshake that was tried more often nobody looks.
    let begun = connection.segments.len().min(64);
    let begun = &mut connection.segments[..begun];
    if !begun.iter().any(|one| is_syn(one) && one.seq == accepted) {
        return false;
    }
    for one in begun.iter_mut().filter(|one| is_syn(one)) {
        one.standing = if one.seq == accepted { Standing::Counts } else { Standing::Earlier };
    }
    connection.first_seq[peer.index()] = Some(accepted);
    true
}

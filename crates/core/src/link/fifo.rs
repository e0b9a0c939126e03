//! What queues that keep their packets in one row have in common: leaving out what is superseded,
//! and letting what is urgent pass. A row may hold more of each packet than the packet, such as its
//! time of arrival.

use super::{Count, LinkPacket};
use std::collections::VecDeque;

/// Drops from place `from` on what `newer` supersedes; counts it as no longer held, and as dropped.
pub(super) fn drop_superseded<T, P: LinkPacket>(
    row: &mut VecDeque<T>,
    packet: impl Fn(&T) -> &P,
    newer: &P,
    from: usize,
    [held, dropped]: [&mut Count; 2],
) {
    let mut place = 0..;
    row.retain(|entry| {
        let packet = packet(entry);
        let goes = place.next() >= Some(from) && newer.supersedes(packet);
        if goes {
            held.remove(packet);
            dropped.add(packet);
        }
        !goes
    });
}

/// Puts what came last before all that waits from place `from` on, but behind what is urgent, too.
pub(super) fn bring_forward<T, P: LinkPacket>(
    row: &mut VecDeque<T>,
    packet: impl Fn(&T) -> &P,
    from: usize,
) {
    let urgent = row.iter().skip(from).take_while(|entry| packet(entry).urgent());
    let place = from + urgent.count();
    if place < row.len()
        && let Some(entry) = row.pop_back()
    {
        row.insert(place, entry);
    }
}

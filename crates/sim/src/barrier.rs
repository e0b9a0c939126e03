//! Flows that wait for each other: all connect first, then all begin to send at once, in an order
//! that was drawn for the run.

use std::collections::{BTreeMap, BTreeSet};

/// One who will come to a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    barrier: usize,
    turn: u64,
}

/// The barriers of a simulation.
#[derive(Debug, Default)]
pub struct Barriers {
    names: BTreeMap<String, usize>,
    barriers: Vec<Barrier>,
}

#[derive(Debug, Default)]
struct Barrier {
    /// How many have not come.
    missing: usize,
    /// Who waits: the turn, the workload, and its mark.
    waiting: BTreeSet<(u64, (usize, u64))>,
}

impl Barriers {
    /// One more will come to the barrier of this name, and begins behind those with a lower `turn`
    /// ([`Seeds::turn`](bentpipe_links::Seeds::turn)).
    pub fn join(&mut self, name: &str, turn: u64) -> Ticket {
        let next = self.barriers.len();
        let index = *self.names.entry(name.to_owned()).or_insert(next);
        if index == next {
            self.barriers.push(Barrier::default());
        }
        self.barriers[index].missing += 1;
        Ticket { barrier: index, turn }
    }

    /// One has come, who waits there or not. Returns all who wait, in their turns, if it was the
    /// last.
    pub(crate) fn reach(&mut self, ticket: Ticket, who: Option<(usize, u64)>) -> Vec<(usize, u64)> {
        let barrier = &mut self.barriers[ticket.barrier];
        barrier.missing -= 1;
        barrier.waiting.extend(who.map(|who| (ticket.turn, who)));
        if barrier.missing > 0 {
            return Vec::new();
        }
        std::mem::take(&mut barrier.waiting).into_iter().map(|(_, who)| who).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_to_come_frees_all_by_turns() {
        let mut barriers = Barriers::default();
        let [first, second, broken] = [3, 7, 5].map(|turn| barriers.join("a", turn));
        let other = barriers.join("b", 4);
        assert_eq!(barriers.reach(second, Some((2, 20))), []);
        assert_eq!(barriers.reach(other, Some((9, 90))), [(9, 90)]);
        assert_eq!(barriers.reach(first, Some((1, 10))), []);
        // One whose connection broke does not wait, but lets the others go.
        assert_eq!(barriers.reach(broken, None), [(1, 10), (2, 20)]);
    }
}

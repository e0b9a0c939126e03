//! Flows that wait for each other: all connect first, then all begin to send at once.

use std::collections::BTreeMap;

/// Which barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BarrierId(usize);

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
    /// Who waits: the workload, and its mark.
    waiting: Vec<(usize, u64)>,
}

impl Barriers {
    /// One more will come to the barrier of this name.
    pub fn join(&mut self, name: &str) -> BarrierId {
        let next = self.barriers.len();
        let index = *self.names.entry(name.to_owned()).or_insert(next);
        if index == next {
            self.barriers.push(Barrier::default());
        }
        self.barriers[index].missing += 1;
        BarrierId(index)
    }

    /// One has come, who waits there or not. Returns all who wait, if it was the last.
    pub(crate) fn reach(&mut self, id: BarrierId, who: Option<(usize, u64)>) -> Vec<(usize, u64)> {
        let barrier = &mut self.barriers[id.0];
        barrier.missing -= 1;
        barrier.waiting.extend(who);
        if barrier.missing == 0 { std::mem::take(&mut barrier.waiting) } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_to_come_frees_all() {
        let mut barriers = Barriers::default();
        let (a, b) = (barriers.join("a"), barriers.join("b"));
        assert_eq!([barriers.join("a"), barriers.join("a")], [a, a]);
        assert_eq!(barriers.reach(a, Some((1, 10))), []);
        assert_eq!(barriers.reach(b, Some((9, 90))), [(9, 90)]);
        assert_eq!(barriers.reach(a, Some((2, 20))), []);
        // One whose connection broke does not wait, but lets the others go.
        assert_eq!(barriers.reach(a, None), [(1, 10), (2, 20)]);
    }
}

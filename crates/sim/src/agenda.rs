//! The event queue: who is to be woken when.

use bentpipe_core::time::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Wakes elements in the order of their moments; those of one moment in the order in which they
/// were armed, so that a run does not depend on anything but its input.
///
/// An element has one alarm. Setting it anew leaves the old entry in the heap, to be skipped.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<(Instant, u64, usize)>>,
    /// By element: its alarm and the number of the entry that stands for it.
    alarms: Vec<Option<(Instant, u64)>>,
    armed: u64,
}

impl Agenda {
    /// Element `element` wants to be woken at `at`, or not at all.
    pub(crate) fn set(&mut self, element: usize, at: Option<Instant>) {
        if self.alarms.len() <= element {
            self.alarms.resize(element + 1, None);
        }
        if self.alarms[element].map(|(set, _)| set) == at {
            return;
        }
        self.alarms[element] = at.map(|at| {
            self.armed += 1;
            self.heap.push(Reverse((at, self.armed, element)));
            (at, self.armed)
        });
    }

    /// The next alarm, which is thereby over.
    pub(crate) fn pop(&mut self) -> Option<(Instant, usize)> {
        while let Some(Reverse((at, number, element))) = self.heap.pop() {
            if self.alarms[element] == Some((at, number)) {
                self.alarms[element] = None;
                return Some((at, element));
            }
        }
        None
    }

    /// When the next alarm is.
    pub(crate) fn next(&mut self) -> Option<Instant> {
        while let Some(Reverse((at, number, element))) = self.heap.peek() {
            if self.alarms[*element] == Some((*at, *number)) {
                return Some(*at);
            }
            self.heap.pop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wakes_in_order_and_each_alarm_once() {
        let at = Instant::from_millis;
        let mut agenda = Agenda::default();
        agenda.set(0, Some(at(5)));
        agenda.set(1, Some(at(3)));
        agenda.set(2, Some(at(3)));
        agenda.set(0, Some(at(1)));
        agenda.set(0, Some(at(4)));
        assert_eq!(agenda.next(), Some(at(3)));
        assert_eq!(agenda.pop(), Some((at(3), 1)));
        assert_eq!(agenda.pop(), Some((at(3), 2)));
        agenda.set(1, Some(at(9)));
        agenda.set(1, None);
        assert_eq!(agenda.pop(), Some((at(4), 0)));
        assert_eq!((agenda.next(), agenda.pop()), (None, None));
    }
}

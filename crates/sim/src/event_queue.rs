//! The event queue: whose timer fires when.

use bentpipe_core::time::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::mem;

/// Fires the alarms of elements in the order of their moments; those of one moment in the order in
/// which they were armed, so that a run does not depend on anything but its input.
///
/// An element has one alarm. A retransmission timer moves with every acknowledgment and hardly
/// ever expires, so an alarm that is put off keeps its entry in the heap: when the entry comes up,
/// it is put back to where the alarm now stands.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<Entry>>,
    /// By element.
    alarms: Vec<Alarm>,
    armed: u64,
    /// The first entry is of an alarm that has fired: the next one that is entered takes its place,
    /// which costs half of what removing the one and adding the other does.
    vacant: bool,
}

#[derive(Debug, Default, Clone, Copy)]
struct Alarm {
    /// When it is to fire.
    at: Option<Instant>,
    /// The entry that stands for it, at `at` or before, by its moment and number; 0: none does.
    entered: Instant,
    number: u64,
}

/// Orders by moment, then by number, which no two share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: Instant,
    number: u64,
    element: usize,
}

impl EventQueue {
    /// Element `element` has its alarm at `at`, or not at all.
    #[inline]
    pub(crate) fn set(&mut self, element: usize, at: Option<Instant>) {
        if self.alarms.len() <= element {
            self.alarms.resize(element + 1, Alarm::default());
        }
        let alarm = &mut self.alarms[element];
        alarm.at = at;
        if let Some(at) = at
            && (alarm.number == 0 || at < alarm.entered)
        {
            self.enter(at, element);
        }
    }

    fn enter(&mut self, at: Instant, element: usize) {
        self.armed += 1;
        let alarm = &mut self.alarms[element];
        (alarm.entered, alarm.number) = (at, self.armed);
        let entry = Reverse(Entry { at, number: self.armed, element });
        if mem::take(&mut self.vacant)
            && let Some(mut first) = self.heap.peek_mut()
        {
            *first = entry;
        } else {
            self.heap.push(entry);
        }
    }

    /// The next alarm, if it fires by `end`; it is thereby over.
    pub(crate) fn pop(&mut self, end: Instant) -> Option<(Instant, usize)> {
        let at = self.next().filter(|&at| at <= end)?;
        let &Reverse(Entry { element, .. }) = self.heap.peek()?;
        self.alarms[element] = Alarm::default();
        self.vacant = true;
        Some((at, element))
    }

    /// When the next alarm is.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Instant> {
        loop {
            let &Reverse(Entry { at, number, element }) = self.heap.peek()?;
            let alarm = &self.alarms[element];
            if alarm.number == number && alarm.at == Some(at) {
                return Some(at);
            }
            self.discard();
        }
    }

    /// The first entry is not its element's alarm any more: a later one takes its place, or none.
    #[inline(never)]
    fn discard(&mut self) {
        let Some(mut first) = self.heap.peek_mut() else { return };
        let Reverse(Entry { number, element, .. }) = *first;
        let alarm = &mut self.alarms[element];
        if alarm.number == number
            && let Some(at) = alarm.at
        {
            self.armed += 1;
            (alarm.entered, alarm.number) = (at, self.armed);
            *first = Reverse(Entry { at, number: self.armed, element });
            return;
        }
        if alarm.number == number {
            alarm.number = 0;
        }
        self.vacant = false;
        PeekMut::pop(first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fires_in_order_and_each_alarm_once() {
        let at = Instant::from_millis;
        let mut event_queue = EventQueue::default();
        event_queue.set(0, Some(at(5)));
        event_queue.set(1, Some(at(3)));
        event_queue.set(2, Some(at(3)));
        event_queue.set(0, Some(at(1)));
        event_queue.set(0, Some(at(4)));
        assert_eq!(event_queue.next(), Some(at(3)));
        assert_eq!(event_queue.pop(at(2)), None);
        assert_eq!(event_queue.pop(at(3)), Some((at(3), 1)));
        assert_eq!(event_queue.pop(at(9)), Some((at(3), 2)));
        event_queue.set(1, Some(at(9)));
        event_queue.set(1, None);
        assert_eq!(event_queue.pop(at(9)), Some((at(4), 0)));
        assert_eq!((event_queue.next(), event_queue.pop(at(9))), (None, None));
    }

    #[test]
    fn an_alarm_put_off_rings_late_and_one_brought_forward_early() {
        let at = Instant::from_millis;
        let mut event_queue = EventQueue::default();
        for ms in 1..=100 {
            event_queue.set(0, Some(at(ms)));
        }
        assert_eq!(event_queue.heap.len(), 1);
        event_queue.set(1, Some(at(50)));
        assert_eq!(event_queue.pop(at(200)), Some((at(50), 1)));
        event_queue.set(0, Some(at(60)));
        assert_eq!(event_queue.pop(at(200)), Some((at(60), 0)));
        assert_eq!(event_queue.next(), None);
    }

    #[test]
    fn the_place_of_what_has_fired_is_taken_in_order() {
        let mut event_queue = EventQueue::default();
        let (mut armed, mut numbered, mut random) = ([None; 8], 0, 1u64);
        let mut now = Instant::ZERO;
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (element, ahead) = ((random >> 33) as usize % 8, random >> 40 & 7);
            if random >> 60 < 5 {
                // Always earlier than before, or new: then its number is that of the setting.
                let at = now + std::time::Duration::from_nanos(ahead);
                if armed[element].is_none_or(|(before, _)| at < before) {
                    numbered += 1;
                    armed[element] = Some((at, numbered));
                    event_queue.set(element, Some(at));
                }
            } else {
                let first = (0..8).filter(|&element| armed[element].is_some());
                let first = first.min_by_key(|&element| armed[element]);
                let expected = first.and_then(|element| Some((armed[element].take()?.0, element)));
                assert_eq!(event_queue.pop(Instant::FAR_FUTURE), expected);
                now = expected.map_or(now, |(at, _)| at);
            }
        }
        assert!(event_queue.heap.len() < 100, "{}", event_queue.heap.len());
    }
}

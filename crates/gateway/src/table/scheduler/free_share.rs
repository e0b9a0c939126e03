//! What of a link is free for a flow that has its first data: an initial window by the load
//! (bharadwaj-2001, 4.3, asks for it: the network knows a good one, a host does not).
//!
//! Of the bandwidth-delay product the flows that are sending take their windows. What is left is
//! shared equally by those that have had no data yet: so forty that stand and begin at once have a
//! fortieth each, and one that comes alone has all. A flow is counted until it hibernates. No flow
//! is ever looked for: each keeps here what it takes.

use super::DrrEntry;

/// Whether a flow has had its initial window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::table) enum Start {
    /// It has, or none is needed.
    #[default]
    Over,
    /// It has had no data yet, and is among those that share what is free.
    Awaited,
    /// The same while it hibernates: it is not among them.
    Asleep,
}

/// See the module's head.
#[derive(Debug)]
pub(in crate::table) struct FreeShare {
    /// The bandwidth-delay product, in bytes.
    product: u64,
    /// What flows take of it.
    load: u64,
    /// Flows whose start is awaited.
    awaited: u64,
}

impl FreeShare {
    pub(super) fn new(product: u64) -> FreeShare {
        FreeShare { product, load: 0, awaited: 0 }
    }

    /// What flows take of the link is as it was with `old`.
    pub(super) fn take_over(&mut self, old: &FreeShare) {
        let FreeShare { product: _, load, awaited } = *old;
        (self.load, self.awaited) = (load, awaited);
    }

    /// The flow is another one in this.
    fn set(&mut self, turn: &mut DrrEntry, start: Start) {
        self.awaited -= u64::from(turn.start == Start::Awaited);
        turn.start = start;
        self.awaited += u64::from(turn.start == Start::Awaited);
    }

    fn set_load(&mut self, turn: &mut DrrEntry, bytes: u64) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.load = self.load - u64::from(turn.load) + u64::from(bytes);
        turn.load = bytes;
    }

    /// A flow begins that has had no data.
    pub(in crate::table) fn begin(&mut self, turn: &mut DrrEntry) {
        self.set(turn, Start::Awaited);
    }

    /// A flow hibernates.
    pub(in crate::table) fn fall_asleep(&mut self, turn: &mut DrrEntry) {
        self.set_load(turn, 0);
        if turn.start == Start::Awaited {
            self.set(turn, Start::Asleep);
        }
    }

    /// It does not any more.
    pub(in crate::table) fn wake(&mut self, turn: &mut DrrEntry) {
        if turn.start == Start::Asleep {
            self.set(turn, Start::Awaited);
        }
    }

    /// The flow has data. Its initial window, if it has had none: it takes that from now on.
    pub(in crate::table) fn first_window(&mut self, turn: &mut DrrEntry) -> Option<u64> {
        if turn.start == Start::Over {
            return None;
        }
        let sharers = self.awaited.max(1);
        let window = self.product.saturating_sub(self.load) / sharers;
        self.set(turn, Start::Over);
        self.set_load(turn, window);
        Some(window)
    }

    /// A flow that has begun may have `window` bytes in flight; none: nothing is to be sent or
    /// acknowledged.
    pub(in crate::table) fn uses(&mut self, turn: &mut DrrEntry, window: Option<u64>) {
        if turn.start == Start::Over {
            self.set_load(turn, window.unwrap_or(0));
        }
    }

    /// The flow is gone.
    pub(super) fn remove(&mut self, turn: &DrrEntry) {
        self.load -= u64::from(turn.load);
        self.awaited -= u64::from(turn.start == Start::Awaited);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many flows that have had no data.
    fn standing(free: &mut FreeShare, count: usize) -> Vec<DrrEntry> {
        let mut turns: Vec<DrrEntry> = (0..count).map(|_| DrrEntry::default()).collect();
        turns.iter_mut().for_each(|turn| free.begin(turn));
        turns
    }

    #[test]
    fn those_that_begin_at_once_have_equal_parts() {
        let mut free = FreeShare::new(500_000);
        let mut turns = standing(&mut free, 40);
        for turn in &mut turns {
            assert_eq!(free.first_window(turn), Some(12_500));
            assert_eq!(free.first_window(turn), None, "once");
        }
        // The link is full.
        let mut late = standing(&mut free, 1);
        assert_eq!(free.first_window(&mut late[0]), Some(0));
    }

    #[test]
    fn what_others_have_done_with_is_free_again() {
        let mut free = FreeShare::new(500_000);
        let mut turns = standing(&mut free, 2);
        assert_eq!(free.first_window(&mut turns[0]), Some(250_000));
        free.uses(&mut turns[0], Some(400_000));
        assert_eq!(free.first_window(&mut turns[1]), Some(100_000));
        free.uses(&mut turns[0], None);
        let mut third = standing(&mut free, 1);
        assert_eq!(free.first_window(&mut third[0]), Some(400_000));
        // More than there is, as windows grow.
        free.uses(&mut turns[0], Some(u64::MAX));
        let mut fourth = standing(&mut free, 1);
        assert_eq!(free.first_window(&mut fourth[0]), Some(0));
        for turn in turns.iter().chain(&third).chain(&fourth) {
            free.remove(turn);
        }
        assert_eq!((free.load, free.awaited), (0, 0));
    }

    #[test]
    fn who_sleeps_shares_nothing() {
        let mut free = FreeShare::new(500_000);
        let mut turns = standing(&mut free, 3);
        free.fall_asleep(&mut turns[0]);
        free.fall_asleep(&mut turns[1]);
        assert_eq!(free.first_window(&mut turns[2]), Some(500_000));
        free.fall_asleep(&mut turns[2]);
        free.wake(&mut turns[2]);
        free.wake(&mut turns[0]);
        assert_eq!(free.first_window(&mut turns[0]), Some(500_000));
        assert_eq!(free.first_window(&mut turns[2]), None);
    }
}

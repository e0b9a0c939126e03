//! Acknowledgments that a peer gateway gets at once, to measure round trips by them.
//!
//! A segment that waits for a second one, or for the timer, looks as if it had waited in the
//! link's queue. With one flow others show that it has not; many flows with few segments each all
//! wait alike. So where segments of several flows come by turns, one acknowledgment in some
//! milliseconds does not wait, unless one has just not waited anyway.

use bentpipe_core::time::{Duration, Instant};

/// From one of them to the next.
const APART: Duration = Duration::from_millis(10);

/// So often another flow's segment must have come, since the last one that did not wait.
const TURNS: u32 = 2;

/// See the module's head.
#[derive(Debug, Default)]
pub(in crate::table) struct PromptAcks {
    /// The flow of the latest segment.
    flow: Option<usize>,
    turns: u32,
    next: Instant,
}

impl PromptAcks {
    /// A segment of a flow has come, whose acknowledgment `waits` or not. Whether it is sent at
    /// once.
    pub(in crate::table) fn on_segment(&mut self, now: Instant, flow: usize, waits: bool) -> bool {
        if self.flow.replace(flow) != Some(flow) {
            self.turns = self.turns.saturating_add(1);
        }
        let due = !waits || self.turns >= TURNS && now >= self.next;
        if due {
            (self.turns, self.next) = (0, now + APART);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When one is sent at once, of the segments that come each `apart` milliseconds, of so many
    /// flows by turns.
    fn prompt(flows: usize, apart: u64) -> Vec<u64> {
        let mut prompt = PromptAcks::default();
        let mut due = |n: &u64| {
            let now = Instant::from_millis(1_000 + n * apart);
            prompt.on_segment(now, *n as usize % flows, true)
        };
        (0..40).filter(|n| due(n)).collect()
    }

    #[test]
    fn one_in_ten_milliseconds_where_several_flows_take_turns() {
        assert_eq!(prompt(5, 1), [1, 11, 21, 31]);
        assert_eq!(prompt(5, 20)[..4], [1, 3, 5, 7], "one for two segments at most");
        assert_eq!(prompt(1, 1), [0; 0]);
    }

    #[test]
    fn none_where_one_has_just_not_waited() {
        let mut prompt = PromptAcks::default();
        let at = |millis: u64| Instant::from_millis(1_000 + millis);
        let due = [(0, true), (3, false), (6, true), (9, true), (14, true)]
            .map(|(millis, waits)| prompt.on_segment(at(millis), millis as usize, waits));
        assert_eq!(due, [false, true, false, false, true]);
    }
}

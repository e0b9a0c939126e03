//! The check that packets given back come by the device, as they must. They do not where another
//! program there takes them, or a driver drops what is redirected to it: then every new connection
//! would die.
//!
//! The kernel's programs count what comes by, and the loop what it has written, so no host can have
//! a hand in that.

use bentpipe_core::time::{Duration, Instant};

/// How long nothing may come by of what is written. Packets do so at once; a device that is set up
/// again may take a moment.
const SILENCE: Duration = Duration::from_secs(2);

/// So many packets at least were written meanwhile …
const WRITTEN: u64 = 3;

/// … and within this time: one that is repeated now and then says little.
const WINDOW: Duration = Duration::from_secs(10);

/// Packets of one way.
#[derive(Debug, Clone, Copy, Default)]
struct ReturnCounts {
    /// Written, and come by, when something had come by last or nothing was written.
    written: u64,
    returned: u64,
    since: Option<Instant>,
}

/// What was written and has come by, on the way out and in.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReturnCheck {
    ways: [ReturnCounts; 2],
}

impl ReturnCheck {
    /// Takes the counts of `now`. Whether nothing comes by of what is written, on one of the ways;
    /// then it counts from there. Where no device is up, or one has just come or gone, or nothing
    /// is taken (`carries` is false), that says nothing.
    pub(super) fn is_silent(
        &mut self,
        now: Instant,
        written: [u64; 2],
        returned: [u64; 2],
        carries: bool,
    ) -> bool {
        let mut silent = false;
        for (way, (written, returned)) in
            self.ways.iter_mut().zip(written.into_iter().zip(returned))
        {
            let silence = now.saturating_since(*way.since.get_or_insert(now));
            let is_silent = silence >= SILENCE && written - way.written >= WRITTEN;
            let comes_by = way.written == written || way.returned != returned;
            if !carries || comes_by || is_silent || silence > WINDOW {
                *way = ReturnCounts { written, returned, since: None };
            }
            silent |= carries && !comes_by && is_silent;
        }
        silent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of one way, every 200 ms: whether silence is noticed, and when.
    fn noticed(counts: impl Iterator<Item = (u64, u64, bool)>) -> Option<usize> {
        let mut check = ReturnCheck::default();
        counts.enumerate().find_map(|(i, (written, returned, carries))| {
            let now = Instant::ZERO + Duration::from_millis(200) * i as u32;
            check.is_silent(now, [0, written], [0, returned], carries).then_some(i)
        })
    }

    #[test]
    fn what_does_not_come_by_is_noticed_after_a_while() {
        assert_eq!(noticed((0..100).map(|i| (i, i, true))), None);
        assert_eq!(
            noticed((0..100).map(|i| (5, i.min(1), true))),
            None,
            "nothing is written any more"
        );
        // From the second on nothing comes by.
        assert_eq!(noticed((0..100).map(|i| (i, i.min(1), true))), Some(12));
        assert_eq!(noticed((0..100).map(|i| (i.min(3), i.min(1), true))), None, "it is too little");
        assert_eq!(noticed((0..100).map(|i| (i, i / 9, true))), None, "now and then");
        assert_eq!(noticed((0..100).map(|i| (i, 0, false))), None, "the device is down");
        let retried = |i: u64| 1 + u64::from(i > 20) + u64::from(i > 75);
        assert_eq!(noticed((0..100).map(|i| (retried(i), 1, true))), None, "one is repeated");
    }

    #[test]
    fn when_it_is_tried_again_nothing_has_been_written_yet() {
        let mut check = ReturnCheck::default();
        let silences = (0..100_u64).filter(|&i| {
            let now = Instant::ZERO + Duration::from_millis(200) * i as u32;
            check.is_silent(now, [i.min(50), 0], [0, 0], !(14..60).contains(&i))
        });
        assert_eq!(silences.count(), 1);
    }
}

//! Somebody else's queue: it never goes, and swings.
//!
//! A queue of ours is as long as our window makes it, and that stands still. A longer path takes
//! the same time again and again. Windows of others go up and down, and the queue with them.

/// Rounds that are looked at: a rival's window takes longer to grow again.
const ROUNDS: usize = 16;

/// See the module's head. The queues of the latest rounds, in seconds; none before there were as
/// many.
#[derive(Debug)]
pub(super) struct Standing([f64; ROUNDS]);

impl Standing {
    /// Nothing has been seen yet.
    pub(super) fn new() -> Standing {
        Standing([0.0; ROUNDS])
    }

    /// A round has shown a queue.
    pub(super) fn note(&mut self, queue: f64) {
        self.0.rotate_right(1);
        self.0[0] = queue;
    }

    /// Whether the queue was never shorter than `margin`, and has changed by more than that.
    pub(super) fn swings(&self, margin: f64) -> bool {
        let shortest = self.0.iter().copied().fold(f64::INFINITY, f64::min);
        let longest = self.0.iter().copied().fold(0.0, f64::max);
        shortest > margin && longest - shortest > margin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a queue swings, which in round n is so long.
    fn swings(queue: impl Fn(usize) -> f64) -> bool {
        let mut standing = Standing::new();
        (0..ROUNDS).for_each(|round| standing.note(queue(round)));
        standing.swings(0.05)
    }

    #[test]
    fn a_rivals_window_goes_up_and_down() {
        assert!(swings(|round| 0.3 + 0.02 * (round % 10) as f64));
        assert!(!swings(|_| 0.3), "a longer path, or our own window");
        assert!(!swings(|round| 0.3 + 0.002 * (round % 2) as f64), "jitter");
        assert!(!swings(|round| if round < 8 { 0.0 } else { 0.3 }), "a path that changes");
        let mut standing = Standing::new();
        (0..ROUNDS - 1).for_each(|round| standing.note(0.3 + 0.05 * round as f64));
        assert!(!standing.swings(0.05), "it has just begun");
    }
}

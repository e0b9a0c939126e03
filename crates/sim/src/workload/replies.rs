//! What a server, or a cache in its place, still has to send on a connection: replies in the order
//! of their requests (RFC 9112, 9.3.2), each as soon as its turn has come and it is there.

use bentpipe_core::time::Instant;
use std::collections::VecDeque;

/// Replies that have not been handed to the connection.
#[derive(Debug, Default)]
pub(super) struct Replies {
    waiting: VecDeque<Reply>,
}

#[derive(Debug)]
struct Reply {
    /// Not before this moment.
    from: Instant,
    /// Bytes that are there.
    here: u64,
    /// Bytes that are still to be fetched.
    missing: u64,
}

impl Replies {
    /// A reply of `bytes` that is there at `at`, or when those before it are. Returns that moment.
    pub(super) fn add(&mut self, at: Instant, bytes: u64) -> Instant {
        let from = self.waiting.back().map_or(at, |last| last.from.max(at));
        self.waiting.push_back(Reply { from, here: bytes, missing: 0 });
        from
    }

    /// A reply of `bytes` that is being fetched from now on.
    pub(super) fn fetch(&mut self, now: Instant, bytes: u64) {
        self.add(now, 0);
        if let Some(reply) = self.waiting.back_mut() {
            reply.missing = bytes;
        }
    }

    /// So many bytes have been fetched: what is fetched comes in the order in which it was asked
    /// for.
    pub(super) fn on_fetched(&mut self, mut bytes: u64) {
        for reply in &mut self.waiting {
            let taken = bytes.min(reply.missing);
            reply.missing -= taken;
            reply.here += taken;
            bytes -= taken;
        }
        debug_assert_eq!(bytes, 0, "nobody asked for these");
    }

    /// Takes what may be sent at `now` of the first reply: so many bytes.
    pub(super) fn take(&mut self, now: Instant) -> Option<u64> {
        let first = self.waiting.front_mut().filter(|first| first.from <= now)?;
        let bytes = std::mem::take(&mut first.here);
        if first.missing == 0 {
            self.waiting.pop_front();
        }
        (bytes > 0).then_some(bytes)
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether one of them is still being fetched.
    pub(super) fn is_fetching(&self) -> bool {
        self.waiting.iter().any(|reply| reply.missing > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_go_in_order_and_as_far_as_they_are_there() {
        let [early, late] = [1000, 2000].map(Instant::from_millis);
        let mut replies = Replies::default();
        replies.fetch(early, 100);
        assert_eq!(replies.add(early, 10), early);
        replies.fetch(early, 50);
        let all =
            |replies: &mut Replies| std::iter::from_fn(|| replies.take(late)).collect::<Vec<u64>>();
        assert!(all(&mut replies).is_empty());
        replies.on_fetched(99);
        assert_eq!(all(&mut replies), [99]);
        // The rest of the first, the second, the beginning of the third.
        replies.on_fetched(21);
        assert!(replies.is_fetching());
        assert_eq!(all(&mut replies), [1, 10, 20]);
        replies.on_fetched(30);
        assert!(!replies.is_fetching() && !replies.is_empty());
        assert_eq!(all(&mut replies), [30]);
        assert!(replies.is_empty());
    }

    #[test]
    fn a_late_reply_holds_up_those_behind_it() {
        let [early, late] = [1000, 2000].map(Instant::from_millis);
        let mut replies = Replies::default();
        replies.add(late, 10);
        assert_eq!(replies.add(early, 5), late);
        assert_eq!(replies.take(early), None);
        assert_eq!([replies.take(late), replies.take(late)], [Some(10), Some(5)]);
    }
}

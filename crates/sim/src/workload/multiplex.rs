//! A server's replies on one connection, interleaved in frames (RFC 9113, section 5): those that
//! are ready take turns, a frame each.

use std::collections::VecDeque;

/// What a frame costs besides its payload (RFC 9113, section 4.1).
const HEADER: u64 = 9;

/// Replies that are being sent.
#[derive(Debug)]
pub(super) struct Multiplexer<T> {
    /// The longest payload of a frame.
    frame: u64,
    /// Each with what is left of it, whose turn it is first.
    replies: VecDeque<(T, u64)>,
}

/// A frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame<T> {
    /// Its length with its header.
    pub(super) len: u64,
    /// The reply that it is the last one of.
    pub(super) ends: Option<T>,
}

impl<T> Multiplexer<T> {
    /// Nothing to send, in frames of up to `frame` bytes of payload.
    pub(super) fn new(frame: u64) -> Multiplexer<T> {
        Multiplexer { frame, replies: VecDeque::new() }
    }

    /// A reply of `bytes` is ready.
    pub(super) fn add(&mut self, reply: T, bytes: u64) {
        self.replies.push_back((reply, bytes));
    }

    /// The next frame.
    pub(super) fn next(&mut self) -> Option<Frame<T>> {
        let (reply, left) = self.replies.pop_front()?;
        let payload = left.min(self.frame);
        let len = HEADER + payload;
        if payload == left {
            return Some(Frame { len, ends: Some(reply) });
        }
        self.replies.push_back((reply, left - payload));
        Some(Frame { len, ends: None })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.replies.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_take_turns() {
        let mut replies = Multiplexer::new(1000);
        replies.add('a', 2500);
        replies.add('b', 1000);
        let frame = |len, ends| Some(Frame { len, ends });
        assert_eq!(replies.next(), frame(1009, None));
        // One that comes later has its first turn behind those that wait.
        replies.add('c', 1);
        assert_eq!(replies.next(), frame(1009, Some('b')));
        assert_eq!(replies.next(), frame(1009, None));
        assert_eq!(replies.next(), frame(10, Some('c')));
        assert_eq!(replies.next(), frame(509, Some('a')));
        assert!(replies.is_empty() && replies.next().is_none());
    }
}

//! What has passed of a stream since some offset and is not acknowledged: a copy, which owes nobody
//! anything.

use super::direction::Direction;
use bentpipe_core::tcp::buffer::{Buffer, Payload};
use bentpipe_core::tcp::ranges::RangeSet;
use bentpipe_core::units::{Bytes, Offset};
use std::ops::Range;

/// The most pieces behind holes.
const MAX_PIECES: usize = 256;

/// A copy of a stream from an offset on.
#[derive(Debug)]
pub(super) struct Copied<B> {
    pub(super) bytes: B,
    /// It begins here. What lies below is the hosts' own business.
    from: Offset,
    /// One past the last offset without a hole.
    pub(super) end: Offset,
    /// What has passed behind a hole.
    beyond: RangeSet,
}

impl<B: Buffer> Copied<B> {
    /// Nothing has passed of what comes behind `from`.
    pub(super) fn new(from: Offset) -> Copied<B> {
        let mut bytes = B::default();
        bytes.release(from);
        Copied { bytes, from, end: from, beyond: RangeSet::default() }
    }

    /// What of a segment is new to it.
    fn new_part(&self, data: &Range<Offset>) -> Range<Offset> {
        let start = data.start.max(self.end);
        start..data.end.max(start)
    }

    /// Takes what is new of a payload at these offsets. False if there is no room for it.
    pub(super) fn take(&mut self, start: Offset, payload: Payload<'_>, free: usize) -> bool {
        let end = start + Bytes::of_len(payload.len());
        let new = self.new_part(&(start..end));
        if new.is_empty() {
            return true;
        }
        if self.bytes.growth(new.clone()) > free || self.beyond.len() >= MAX_PIECES {
            return false;
        }
        let from = (new.start - start).as_len();
        let part = payload.slice(from..from + (new.end - new.start).as_len());
        self.bytes.write(new.start, part);
        if new.start == self.end {
            self.end = new.end;
            if let Some(range) = self.beyond.containing(self.end) {
                self.end = range.end;
            }
            self.beyond.remove_below(self.end);
        } else {
            self.beyond.cover(new);
        }
        true
    }

    /// The receiver has acknowledged up to `acked`. False if it has got something on another path.
    pub(super) fn release(&mut self, acked: Offset) -> bool {
        if acked > self.from {
            self.bytes.release(acked.min(self.end));
        }
        acked <= self.end
    }

    /// Whether all that has passed of the stream is acknowledged or here.
    pub(super) fn is_whole(&self, stream: &Direction) -> bool {
        stream.acked >= self.from && self.beyond.is_empty() && self.end >= stream.next
    }
}

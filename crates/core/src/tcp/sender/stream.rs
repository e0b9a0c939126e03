//! How far the application has written.

use serde::{Deserialize, Serialize};

/// The stream's end for now: the offsets below it are data, the one at it is the FIN, if the
/// application has closed.
///
/// Invariant: the end does not move back, and does not move at all behind a close.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stream {
    /// One past the last byte written.
    written: u64,
    /// The stream ends there with a FIN.
    finished: bool,
}

impl Stream {
    /// Nothing is written yet: the first byte's offset is `start`.
    pub(super) fn new(start: u64) -> Stream {
        Stream { written: start, finished: false }
    }

    /// It has been written up to `end` (exclusive).
    pub(super) fn extend(&mut self, end: u64) {
        debug_assert!(!self.finished || end == self.written, "a finished stream does not grow");
        self.written = self.written.max(end);
    }

    /// The application has closed: a FIN follows the last byte.
    pub(super) fn finish(&mut self) {
        self.finished = true;
    }

    /// One past the last byte written.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// The application has closed.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// One past the last offset to be sent, the FIN counted.
    pub(super) fn end(&self) -> u64 {
        self.written + u64::from(self.finished)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fin_takes_the_offset_behind_the_last_byte() {
        let mut stream = Stream::new(1);
        assert_eq!((stream.written(), stream.end()), (1, 1));
        stream.extend(11);
        stream.extend(5);
        assert_eq!((stream.written(), stream.end()), (11, 11), "it does not shrink");
        stream.finish();
        stream.extend(11);
        assert_eq!((stream.written(), stream.end(), stream.is_finished()), (11, 12, true));
    }

    #[test]
    #[should_panic(expected = "a finished stream does not grow")]
    #[cfg(debug_assertions)]
    fn what_is_finished_stays() {
        let mut stream = Stream::new(1);
        stream.finish();
        stream.extend(2);
    }
}

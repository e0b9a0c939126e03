//! How far the application has written.

use crate::units::{Bytes, Offset};
use serde::{Deserialize, Serialize};

/// The stream's end for now: the offsets below it are data, the one at it is the FIN, if the
/// application has closed.
///
/// Invariant: the end does not move back, and does not move at all behind a close.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stream {
    /// One past the last byte written.
    written: Offset,
    /// The stream ends there with a FIN.
    finished: bool,
}

impl Stream {
    /// Nothing is written yet: the first byte's offset is `start`.
    pub(super) fn new(start: Offset) -> Stream {
        Stream { written: start, finished: false }
    }

    /// It has been written up to `end` (exclusive).
    pub(super) fn extend(&mut self, end: Offset) {
        debug_assert!(!self.finished || end == self.written, "a finished stream does not grow");
        self.written = self.written.max(end);
    }

    /// The application has closed: a FIN follows the last byte.
    pub(super) fn finish(&mut self) {
        self.finished = true;
    }

    /// One past the last byte written.
    pub(super) fn written(&self) -> Offset {
        self.written
    }

    /// The application has closed.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// One past the last offset to be sent, the FIN counted.
    pub(super) fn end(&self) -> Offset {
        self.written + Bytes::from(self.finished)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fin_takes_the_offset_behind_the_last_byte() {
        let mut stream = Stream::new(Offset::FIRST);
        assert_eq!((stream.written(), stream.end()), (Offset::FIRST, Offset::FIRST));
        stream.extend(Offset::new(11));
        stream.extend(Offset::new(5));
        assert_eq!(
            (stream.written(), stream.end()),
            (Offset::new(11), Offset::new(11)),
            "it does not shrink"
        );
        stream.finish();
        stream.extend(Offset::new(11));
        assert_eq!(
            (stream.written(), stream.end(), stream.is_finished()),
            (Offset::new(11), Offset::new(12), true)
        );
    }

    #[test]
    #[should_panic(expected = "a finished stream does not grow")]
    #[cfg(debug_assertions)]
    fn what_is_finished_stays() {
        let mut stream = Stream::new(Offset::FIRST);
        stream.finish();
        stream.extend(Offset::new(2));
    }
}

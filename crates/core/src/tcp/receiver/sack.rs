//! What acknowledgments report beyond the next expected byte: SACK blocks (RFC 2018) and
//! duplicates (RFC 2883).

use super::{MAX_BLOCKS, Receiver};
use crate::tcp::cause::Cause;
use crate::units::{Bytes, Offset};
use arrayvec::ArrayVec;
use std::ops::Range;

impl Receiver {
    /// Puts a range of `out_of_order` in front of those to be reported (RFC 2018, 4), in the place
    /// of those that have become parts of it.
    pub(super) fn touch(&mut self, range: Range<Offset>) {
        self.recent.retain(|other| !range.contains(&other.start));
        self.recent.truncate(MAX_BLOCKS - 1);
        self.recent.insert(0, range);
    }

    /// Remembers what of `data` had come before, to be reported (RFC 2883, 4): all of it when an
    /// old segment comes again, which is not acceptable but owed an acknowledgment.
    pub fn note_duplicates(&mut self, data: &Range<Offset>) {
        let below = data.start..data.end.min(self.rcv_nxt);
        let duplicate = if below.is_empty() {
            let Some(held) = self.out_of_order.containing(data.start) else { return };
            // The block that holds it is to follow the report.
            let duplicate = data.start..data.end.min(held.end);
            self.touch(held);
            duplicate
        } else {
            below
        };
        if !duplicate.is_empty() {
            self.duplicate_bytes += duplicate.end - duplicate.start;
            self.needless_segments += u64::from(duplicate == *data);
            self.duplicate = Some(duplicate);
            self.ack_now(Cause::Duplicate);
        }
    }

    /// The blocks for the next acknowledgment, at most `room`: a DSACK first, then the ranges
    /// most recently received, then others.
    pub fn sack_blocks(&mut self, room: usize) -> ArrayVec<Range<Offset>, MAX_BLOCKS> {
        let mut blocks = ArrayVec::new();
        if !self.has_sack_blocks() {
            return blocks;
        }
        let room = room.min(blocks.capacity());
        // RFC 2883, 4: the block that holds the duplicate follows it, equal to it perhaps; only
        // so can the sender tell a report above the acknowledgment from a plain block.
        blocks.extend(self.duplicate.take());
        let reports = blocks.len();
        for mut range in self.recent.iter().cloned().chain(self.out_of_order.iter()) {
            if blocks.len() >= room {
                break;
            }
            // The FIN is part of its segment, which the sender could not take for received
            // otherwise.
            range.end += Bytes::from(self.fin == Some(range.end));
            if !blocks[reports..].contains(&range) {
                blocks.push(range);
            }
        }
        blocks.truncate(room);
        blocks
    }

    /// Whether SACK blocks are waiting to be told.
    pub fn has_sack_blocks(&self) -> bool {
        self.config.sack && (!self.out_of_order.is_empty() || self.duplicate.is_some())
    }
}

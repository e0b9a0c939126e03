//! Where a stream's bytes are kept, keyed by their offset in the stream.
//!
//! A connection and a gateway hold streams through [`Buffer`], so that the same code moves real
//! bytes ([`Chunks`]) and, where only lengths matter, none at all ([`Pattern`]).

use crate::units::{Bytes, Offset};
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

/// The payload of one segment, or a piece of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Payload<'a> {
    /// Real bytes.
    Bytes(&'a [u8]),
    /// Bytes that are a function of their offset: `len` of them, the first at `start`.
    Pattern {
        /// Offset of the first byte in the stream for which the pattern was made.
        start: u64,
        /// How many bytes.
        len: usize,
    },
}

impl<'a> Payload<'a> {
    /// No bytes.
    pub const EMPTY: Payload<'static> = Payload::Bytes(&[]);

    /// How many bytes.
    pub fn len(&self) -> usize {
        match self {
            Payload::Bytes(bytes) => bytes.len(),
            Payload::Pattern { len, .. } => *len,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The part from `range.start` up to `range.end` of this payload.
    ///
    /// # Panics
    /// If the range exceeds the payload.
    #[inline]
    pub fn slice(&self, range: Range<usize>) -> Payload<'a> {
        match *self {
            Payload::Bytes(bytes) => Payload::Bytes(&bytes[range]),
            Payload::Pattern { start, len } => {
                assert!(range.start <= range.end && range.end <= len, "slice of a payload");
                Payload::Pattern { start: start + range.start as u64, len: range.len() }
            }
        }
    }
}

impl fmt::Debug for Payload<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Payload::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Payload::Pattern { start, len } => write!(f, "{len} bytes of the pattern at {start}"),
        }
    }
}

/// A stream's bytes between what has been released and what has arrived, holes included.
pub trait Buffer: Default + fmt::Debug {
    /// Stores `payload` at offset `at`. Storing the same offset twice keeps either.
    fn write(&mut self, at: Offset, payload: Payload<'_>);

    /// Calls `visit` with the stored bytes of `range`, in order, piece by piece. The range must
    /// have been written and not released.
    fn read(&self, range: Range<Offset>, visit: impl FnMut(Payload<'_>));

    /// Forgets all below `offset`.
    fn release(&mut self, offset: Offset);

    /// Memory held, in bytes.
    fn held(&self) -> usize;

    /// Memory is taken for so many offsets at a time, from a multiple of it on.
    const UNIT: Bytes;

    /// Memory held for `offset`, a multiple of [`Buffer::UNIT`], and what follows it, in bytes.
    fn held_from(&self, offset: Offset) -> usize;

    /// How much more memory would be held if `range` was written, in bytes.
    fn growth(&self, range: Range<Offset>) -> usize;
}

/// Real bytes in chunks of a fixed size, allocated when first written and freed when released:
/// growing never copies, holes between far-apart segments cost nothing, and an empty stream
/// holds no memory.
#[derive(Default)]
pub struct Chunks {
    /// Index (offset ÷ chunk size) of the first slot.
    first: u64,
    /// Each up to the last byte written into it: none is cleared in vain.
    slots: VecDeque<Option<Vec<u8>>>,
    allocated: usize,
    /// One past the last byte written.
    end: Offset,
}

impl Chunks {
    /// Bytes in a chunk.
    pub const SIZE: usize = 4 * 1024;

    /// The stored bytes of `range` as slices, in order. Unwritten parts are left out.
    pub fn slices(&self, range: Range<Offset>) -> impl Iterator<Item = &[u8]> + Clone {
        let size = Self::SIZE as u64;
        let first = self.first;
        let range = range.start.get()..range.end.get();
        let chunks =
            if range.is_empty() { 0..0 } else { range.start / size..range.end.div_ceil(size) };
        chunks.filter_map(move |index| {
            let chunk =
                self.slots.get(usize::try_from(index.checked_sub(first)?).ok()?)?.as_ref()?;
            let base = index * size;
            let from = range.start.saturating_sub(base) as usize;
            let to = (range.end - base).min(chunk.len() as u64) as usize;
            chunk.get(from..to)
        })
    }
}

impl Buffer for Chunks {
    fn write(&mut self, at: Offset, payload: Payload<'_>) {
        let Payload::Bytes(mut bytes) = payload else {
            panic!("a pattern was written into a buffer of real bytes");
        };
        let size = Self::SIZE as u64;
        self.end = self.end.max(at + Bytes::of_len(bytes.len()));
        let mut at = at.get();
        while !bytes.is_empty() {
            let index = at / size;
            if self.slots.is_empty() {
                self.first = index;
            }
            // Below the first slot only when the stream began with a hole.
            while index < self.first {
                self.slots.push_front(None);
                self.first -= 1;
            }
            let slot = (index - self.first) as usize;
            if slot >= self.slots.len() {
                self.slots.resize_with(slot + 1, || None);
            }
            let allocated = &mut self.allocated;
            let chunk = self.slots[slot].get_or_insert_with(|| {
                *allocated += 1;
                Vec::with_capacity(Self::SIZE)
            });
            let from = (at % size) as usize;
            let (here, rest) = bytes.split_at(bytes.len().min(Self::SIZE - from));
            if chunk.len() < from {
                chunk.resize(from, 0);
            }
            let len = here.len();
            let (again, new) = here.split_at(len.min(chunk.len() - from));
            chunk[from..from + again.len()].copy_from_slice(again);
            chunk.extend_from_slice(new);
            bytes = rest;
            at += len as u64;
        }
    }

    fn read(&self, range: Range<Offset>, mut visit: impl FnMut(Payload<'_>)) {
        for slice in self.slices(range) {
            visit(Payload::Bytes(slice));
        }
    }

    fn release(&mut self, offset: Offset) {
        if offset >= self.end {
            // Nothing is left, though the last chunk is not full.
            self.slots.clear();
            self.allocated = 0;
        }
        let index = offset.get() / Self::SIZE as u64;
        while self.first < index {
            match self.slots.pop_front() {
                Some(chunk) => self.allocated -= usize::from(chunk.is_some()),
                None => break,
            }
            self.first += 1;
        }
        if self.slots.is_empty() {
            self.slots = VecDeque::new();
        }
    }

    fn held(&self) -> usize {
        self.allocated * Self::SIZE
    }

    const UNIT: Bytes = Bytes::of_len(Self::SIZE);

    fn held_from(&self, offset: Offset) -> usize {
        let before = (offset.get() / Self::SIZE as u64).saturating_sub(self.first);
        let before = usize::try_from(before).unwrap_or(usize::MAX);
        let before = self.slots.iter().take(before).filter(|chunk| chunk.is_some()).count();
        (self.allocated - before) * Self::SIZE
    }

    fn growth(&self, range: Range<Offset>) -> usize {
        if range.is_empty() {
            return 0;
        }
        let chunk = |index: u64| {
            let slot = usize::try_from(index.checked_sub(self.first)?).ok()?;
            self.slots.get(slot)?.as_ref()
        };
        let size = Self::SIZE as u64;
        let chunks = range.start.get() / size..range.end.get().div_ceil(size);
        chunks.filter(|index| chunk(*index).is_none()).count() * Self::SIZE
    }
}

impl fmt::Debug for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} chunks from {}", self.allocated, self.first * Self::SIZE as u64)
    }
}

/// No bytes, only their offsets: byte i of the stream is a function of i. What is written is
/// checked against the offset at which it is written, so integrity is checked all the same.
#[derive(Debug, Default)]
pub struct Pattern {
    released: Offset,
    end: Offset,
}

impl Pattern {
    /// 2^64 over the golden ratio: neighbours differ.
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

    /// The byte at `offset` of the pattern.
    pub fn byte(offset: u64) -> u8 {
        (offset.wrapping_mul(Pattern::STEP) >> 56) as u8
    }

    /// The bytes of the pattern from `offset` on, by an addition each.
    pub fn bytes(offset: u64) -> impl Iterator<Item = u8> {
        let mut product = offset.wrapping_mul(Pattern::STEP);
        std::iter::repeat_with(move || {
            let byte = (product >> 56) as u8;
            product = product.wrapping_add(Pattern::STEP);
            byte
        })
    }
}

impl Buffer for Pattern {
    #[inline]
    fn write(&mut self, at: Offset, payload: Payload<'_>) {
        let end = at + Bytes::of_len(payload.len());
        match payload {
            Payload::Pattern { start, .. } => {
                assert_eq!(start, at.get(), "bytes of the pattern arrived at another offset");
            }
            Payload::Bytes(bytes) => {
                let right = (at.get()..end.get())
                    .zip(bytes)
                    .all(|(offset, &byte)| Self::byte(offset) == byte);
                assert!(right, "bytes differ from the pattern");
            }
        }
        self.end = self.end.max(end);
    }

    fn read(&self, range: Range<Offset>, mut visit: impl FnMut(Payload<'_>)) {
        if !range.is_empty() {
            visit(Payload::Pattern {
                start: range.start.get(),
                len: (range.end - range.start).as_len(),
            });
        }
    }

    fn release(&mut self, offset: Offset) {
        self.released = self.released.max(offset);
    }

    fn held(&self) -> usize {
        self.end.saturating_sub(self.released).as_len()
    }

    const UNIT: Bytes = Bytes::ONE;

    fn held_from(&self, offset: Offset) -> usize {
        self.end.saturating_sub(self.released.max(offset)).as_len()
    }

    fn growth(&self, range: Range<Offset>) -> usize {
        range.end.saturating_sub(self.released.max(self.end)).as_len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn chunks_give_back_what_was_written_in_any_order(
            start in 0u64..100_000,
            mut pieces in proptest::collection::vec(1usize..20_000, 1..20),
            order in any::<u64>(),
        ) {
            let mut offsets = Vec::new();
            let mut at = start;
            for len in &pieces { offsets.push((at, *len)); at += *len as u64; }
            let total = at;
            let mut shuffled = offsets.clone();
            shuffled.sort_by_key(|(at, _)| at.wrapping_mul(order | 1));
            let mut buffer = Chunks::default();
            for (at, len) in shuffled {
                let bytes: Vec<u8> = Pattern::bytes(at).take(len).collect();
                let unit = Chunks::UNIT.count();
                let middle = (start + total) / 2 / unit * unit;
                let (held, beyond) = (buffer.held(), buffer.held_from(Offset::new(middle)));
                let range = at..at + len as u64;
                let growth = buffer.growth(Offset::span(range.start, range.end));
                let further = buffer.growth(Offset::span(range.start.max(middle), range.end.max(middle)));
                buffer.write(Offset::new(at), Payload::Bytes(&bytes));
                prop_assert_eq!(buffer.held(), held + growth);
                prop_assert_eq!(buffer.held_from(Offset::new(middle)), beyond + further);
            }
            pieces.clear();
            buffer.release(Offset::new(start));
            let mut expected = start;
            for slice in buffer.slices(Offset::span(start, total)) {
                for byte in slice { prop_assert_eq!(*byte, Pattern::byte(expected)); expected += 1; }
            }
            prop_assert_eq!(expected, total);
            buffer.release(Offset::new(total - 1));
            prop_assert_eq!(buffer.held(), Chunks::SIZE);
            buffer.release(Offset::new(total));
            prop_assert_eq!(buffer.held(), 0, "an empty stream holds no memory");
        }
    }
}

//! Snapshots, state in few bytes: what is kept in great numbers and seldom looked at, as are the
//! connections of a gateway that have nothing to do.
//!
//! Values are written one after another in postcard's format: a whole number takes a byte for each
//! seven bits that it has, so that what is zero, absent or small takes one. Nothing says which
//! value is which: what is written is read back by the same program in the same order.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Writes values.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// With room for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Writer {
        Writer { bytes: Vec::with_capacity(capacity) }
    }

    /// The next value.
    ///
    /// # Panics
    /// Never, for what a derived [`Serialize`] says: writing into memory cannot fail.
    pub fn put<T: Serialize + ?Sized>(&mut self, value: &T) {
        postcard::to_io(value, &mut self.bytes).expect("memory takes all values");
    }

    /// All that was written, without room for more.
    pub fn finish(self) -> Box<[u8]> {
        self.bytes.into_boxed_slice()
    }
}

/// Reads values back.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Of what a [`Writer`] has written.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes }
    }

    /// The next value.
    ///
    /// # Panics
    /// If it is of another type than what was written here.
    pub fn take<T: DeserializeOwned>(&mut self) -> T {
        let (value, rest) = postcard::take_from_bytes(self.bytes).expect("as it was written");
        self.bytes = rest;
        value
    }

    /// Whether all has been read.
    pub fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// A snapshot of what can be written without its type being known: strategies behind a trait.
pub trait Snapshot {
    /// Writes all that it knows.
    fn snapshot(&self, into: &mut Writer);
}

impl<T: Serialize> Snapshot for T {
    fn snapshot(&self, into: &mut Writer) {
        into.put(self);
    }
}

/// Numbers with a fraction that are zero for long: then one byte, otherwise ten at most.
pub(crate) mod fraction {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        // The exponent comes last then: what is zero, or of few digits, is a small number. The sign
        // comes first, and is mostly zero.
        value.to_bits().reverse_bits().rotate_right(1).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(f64::from_bits(u64::deserialize(from)?.rotate_left(1).reverse_bits()))
    }
}

/// Sizes that are mostly without a limit, which is [`Bytes::MAX`](crate::units::Bytes::MAX): one
/// byte then.
pub(crate) mod unlimited {
    use crate::units::Bytes;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(value: &Bytes, to: S) -> Result<S::Ok, S::Error> {
        value.count().wrapping_add(1).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
        Ok(Bytes::new(u64::deserialize(from)?.wrapping_sub(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Instant;
    use crate::units::Bytes;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Curve {
        #[serde(with = "fraction")]
        high: f64,
        #[serde(with = "fraction")]
        none: f64,
    }

    #[test]
    fn what_was_written_is_read_back_in_few_bytes() {
        let curve = Curve { high: 0.1 + 0.2, none: 0.0 };
        let (short, long) = (Instant::from_nanos(7), Some(u64::MAX));
        let mut writer = Writer::default();
        writer.put(&short);
        writer.put(&long);
        curve.snapshot(&mut writer);
        let bytes = writer.finish();
        assert_eq!(bytes.len(), 1 + 11 + 9 + 1);
        let mut reader = Reader::new(&bytes);
        assert_eq!((reader.take::<Instant>(), reader.take::<Option<u64>>()), (short, long));
        assert_eq!(reader.take::<Curve>(), curve);
        assert!(reader.is_at_end());
    }

    #[test]
    fn what_is_without_a_limit_takes_one_byte() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Limits(
            #[serde(with = "unlimited")] Bytes,
            #[serde(with = "unlimited")] Bytes,
            #[serde(with = "unlimited")] Bytes,
        );
        let limits = Limits(Bytes::MAX, Bytes::ZERO, Bytes::new(7));
        let mut writer = Writer::default();
        writer.put(&limits);
        let bytes = writer.finish();
        assert_eq!(bytes.len(), 3);
        assert_eq!(Reader::new(&bytes).take::<Limits>(), limits);
    }
}

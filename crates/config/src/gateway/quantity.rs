//! Quantities with a minimum and a maximum: bytes, times, rates and counts.

use super::bounds::{Size, Span};
#[cfg(test)]
use super::forms::Edges;
use super::forms::Form;
use super::runs::Runs;
use crate::document::Value;
use crate::reader::{FromNode, Reader, Result};
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Rate};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// A field's type that has a minimum and a maximum.
pub(super) trait Quantity: Copy {
    /// It as it is read, compared and written in messages.
    type Text: FromNode + PartialOrd + Display + Copy;
    /// What is before the bounds in the reference.
    const KIND: &'static str;
    /// What has no minimum to be named.
    const ZERO: Self::Text;

    fn text(self) -> Self::Text;
    /// `None` where it is out of all bounds.
    fn of(text: Self::Text) -> Option<Self>;
    fn value(text: Self::Text) -> Value;
    /// The values just below and above.
    #[cfg(test)]
    fn neighbours(text: Self::Text) -> [Option<Self::Text>; 2];
}

impl Quantity for Bytes {
    type Text = Size;
    const KIND: &'static str = "bytes, ";
    const ZERO: Size = Size(0);

    fn text(self) -> Size {
        Size(self.count())
    }

    fn of(text: Size) -> Option<Bytes> {
        Some(Bytes::new(text.0))
    }

    fn value(text: Size) -> Value {
        Value::Text(text.to_string())
    }

    #[cfg(test)]
    fn neighbours(text: Size) -> [Option<Size>; 2] {
        [text.0.checked_sub(1).map(Size), text.0.checked_add(1).map(Size)]
    }
}

impl Quantity for Duration {
    type Text = Span;
    const KIND: &'static str = "a time, ";
    const ZERO: Span = Span(Duration::ZERO);

    fn text(self) -> Span {
        Span(self)
    }

    fn of(text: Span) -> Option<Duration> {
        Some(text.0)
    }

    fn value(text: Span) -> Value {
        Value::Text(text.to_string())
    }

    #[cfg(test)]
    fn neighbours(text: Span) -> [Option<Span>; 2] {
        let nano = Duration::from_nanos(1);
        [(text.0 > Duration::ZERO).then(|| Span(text.0 - nano)), Some(Span(text.0 + nano))]
    }
}

impl Quantity for Rate {
    type Text = Rate;
    const KIND: &'static str = "a rate, ";
    const ZERO: Rate = Rate::from_bits_per_sec(0);

    fn text(self) -> Rate {
        self
    }

    fn of(text: Rate) -> Option<Rate> {
        Some(text)
    }

    fn value(text: Rate) -> Value {
        Value::Text(text.to_string())
    }

    #[cfg(test)]
    fn neighbours(text: Rate) -> [Option<Rate>; 2] {
        let bits = text.bits_per_sec();
        [bits - 1, bits + 1].map(|bits| Some(Rate::from_bits_per_sec(bits)))
    }
}

/// Read as `i64`, so that a negative number is out of the key's range rather than of the type's.
impl Quantity for usize {
    type Text = i64;
    const KIND: &'static str = "";
    const ZERO: i64 = 0;

    fn text(self) -> i64 {
        i64::try_from(self).unwrap_or(i64::MAX)
    }

    fn of(text: i64) -> Option<usize> {
        usize::try_from(text).ok()
    }

    fn value(text: i64) -> Value {
        Value::Integer(text)
    }

    #[cfg(test)]
    fn neighbours(text: i64) -> [Option<i64>; 2] {
        [Some(text - 1), Some(text + 1)]
    }
}

/// Bytes of a packet, read as any number is.
impl Quantity for u16 {
    type Text = i64;
    const KIND: &'static str = "bytes, ";
    const ZERO: i64 = 0;

    fn text(self) -> i64 {
        self.into()
    }

    fn of(text: i64) -> Option<u16> {
        u16::try_from(text).ok()
    }

    fn value(text: i64) -> Value {
        Value::Integer(text)
    }

    #[cfg(test)]
    fn neighbours(text: i64) -> [Option<i64>; 2] {
        usize::neighbours(text)
    }
}

/// A quantity within bounds.
pub(super) struct Within<C, T: Quantity> {
    bounds: Bounds<C, T::Text>,
    remedy: &'static str,
}

enum Bounds<C, W> {
    Fixed(RangeInclusive<W>),
    /// What the reference has of them, and what they are.
    Follow(&'static str, fn(&C, Runs) -> Range<W>),
}

/// Bounds that follow from something else.
pub(super) struct Range<W> {
    pub(super) min: W,
    pub(super) max: W,
    /// What the maximum comes from, behind it in errors.
    pub(super) source: &'static str,
}

/// A quantity in `range`.
pub(super) fn within<C, T: Quantity>(range: RangeInclusive<T::Text>) -> Within<C, T> {
    Within { bounds: Bounds::Fixed(range), remedy: "" }
}

/// A quantity in a range that depends on other values; the reference `takes` so.
pub(super) fn within_by<C, T: Quantity>(
    takes: &'static str,
    range: fn(&C, Runs) -> Range<T::Text>,
) -> Within<C, T> {
    Within { bounds: Bounds::Follow(takes, range), remedy: "" }
}

impl<C, T: Quantity> Within<C, T> {
    /// Says in the error for a zero what to do instead.
    pub(super) fn not_zero_but(self, remedy: &'static str) -> Within<C, T> {
        Within { remedy, ..self }
    }

    fn range(&self, config: &C, runs: Runs) -> (RangeInclusive<T::Text>, &'static str) {
        match &self.bounds {
            Bounds::Fixed(range) => (range.clone(), ""),
            Bounds::Follow(_, range) => {
                let Range { min, max, source } = range(config, runs);
                (min..=max, source)
            }
        }
    }
}

impl<C, T: Quantity> Form<C> for Within<C, T> {
    type Value = T;

    fn takes(&self) -> String {
        match &self.bounds {
            Bounds::Fixed(range) if *range.start() == T::ZERO => {
                format!("{}up to {}", T::KIND, range.end())
            }
            Bounds::Fixed(range) => format!("{}{} to {}", T::KIND, range.start(), range.end()),
            Bounds::Follow(takes, _) => (*takes).to_owned(),
        }
    }

    fn read(&self, reader: &Reader<'_>, key: &str, config: &C, runs: Runs) -> Result<Option<T>> {
        let Some(text) = reader.maybe::<T::Text>(key)? else { return Ok(None) };
        let (range, source) = self.range(config, runs);
        if range.contains(&text) {
            return Ok(T::of(text));
        }
        let (min, max) = range.into_inner();
        let remedy = match text == T::ZERO && !self.remedy.is_empty() {
            true => format!(": {}", self.remedy),
            false => String::new(),
        };
        let why = format!("{key}: {text} is out of range ({min} to {max}{source}){remedy}");
        Err(reader.bad(key, why))
    }

    fn write(&self, value: &T) -> Option<Value> {
        Some(T::value(value.text()))
    }

    #[cfg(test)]
    fn edges(&self, config: &C) -> Edges {
        let (range, _) = self.range(config, Runs::Deployed { memory: 64 << 30 });
        let (min, max) = range.into_inner();
        let outside = [T::neighbours(min)[0], T::neighbours(max)[1]];
        let inline = |text: T::Text| T::value(text).inline();
        Edges {
            taken: [min, max].map(inline).to_vec(),
            refused: outside.into_iter().flatten().map(inline).collect(),
            range: format!("{min} to {max}"),
        }
    }
}

//! What parameters of queues take: how a value is read, written and described.

use super::LimitContext;
use crate::link::limit::{Line, QueueLimit};
use crate::link::red::Measure;
use crate::link::text::Exact;
use crate::text::{self, Choice};
use crate::time::Duration;
use crate::units::{Bytes, Probability, Rate, parse_duration};
use std::borrow::Cow;

/// The values that a parameter takes.
pub(super) struct Takes<T> {
    words: Cow<'static, str>,
    reads: fn(&str, Option<Line>) -> Option<T>,
    above: Option<Bound<T>>,
}

/// Another parameter, above which a value must be.
#[derive(Clone, Copy)]
struct Bound<T> {
    key: &'static str,
    value: T,
    is_above: fn(&T, &T) -> bool,
}

impl<T: Value> Takes<T> {
    const fn new(words: &'static str, reads: fn(&str, Option<Line>) -> Option<T>) -> Takes<T> {
        Takes { words: Cow::Borrowed(words), reads, above: None }
    }

    /// The same values, but for those that are not above the one of the parameter `key`.
    pub(super) fn above(self, key: &'static str, value: T) -> Takes<T>
    where
        T: PartialOrd,
    {
        Takes { above: Some(Bound { key, value, is_above: T::gt }), ..self }
    }

    /// Them in words, for pages of keys.
    pub(super) fn described(&self) -> String {
        let above = self.above.map(|bound| format!(" above `{}`", bound.key));
        format!("{}{}", self.words, above.unwrap_or_default())
    }

    /// Them in words, for the error that another value was given.
    pub(super) fn expected(&self) -> String {
        let bound = self.above.map(|bound| format!(", {}", bound.value.written()));
        format!("{}{}", self.described(), bound.unwrap_or_default())
    }

    /// The value that `text` says, before this line, if it is one of them.
    pub(super) fn read(&self, text: &str, line: Option<Line>) -> Option<T> {
        let above =
            |value: &T| self.above.is_none_or(|bound| (bound.is_above)(value, &bound.value));
        (self.reads)(text, line).filter(above)
    }
}

/// A queue's limit.
pub(super) const LIMIT: Takes<QueueLimit> =
    Takes::new("something like `50packets`, `64KiB`, `1bdp` or `unlimited`", QueueLimit::of_text);

/// A number of packets, which may be a fraction.
pub(super) const PACKETS: Takes<f64> = Takes::new("a number of packets", |text, _| {
    text.parse().ok().filter(|number| (0.0..1e12).contains(number))
});

/// A weight in an average.
pub(super) const WEIGHT: Takes<f64> =
    Takes::new("a number from 0 to 1, like `0.002`", |text, _| {
        text::positive(text).filter(|number| *number <= 1.0)
    });

/// A controller's gain.
pub(super) const GAIN: Takes<f64> =
    Takes::new("a number above 0, like `0.125`", |text, _| text::positive(text));

/// A number of queues.
pub(super) const QUEUES: Takes<u16> =
    Takes::new("1 to 65535 queues", |text, _| text.parse().ok().filter(|number| *number > 0));

/// A probability.
pub(super) const PROBABILITY: Takes<Probability> =
    Takes::new(text::PROBABILITY, |text, _| text::probability(text));

/// A length above zero.
pub(super) const LENGTH: Takes<Bytes> = Takes::new(text::BYTES, |text, _| text::bytes(text));

/// A rate above zero.
pub(super) const RATE: Takes<Rate> = Takes::new(text::RATE, |text, _| text::rate(text));

/// A time above zero.
pub(super) const TIME: Takes<Duration> = Takes::new(text::SPAN, |text, _| text::span(text));

/// A time that may be zero.
pub(super) const TIME_OR_ZERO: Takes<Duration> =
    Takes::new(text::SPAN, |text, _| parse_duration(text).ok());

/// The interval of a controller that has no timer: it makes up for each that has passed.
pub(super) const UPDATE: Takes<Duration> = Takes::new("a time, at least 1ms", |text, _| {
    text::span(text).filter(|span| *span >= Duration::from_millis(1))
});

/// Whether something is on.
pub(super) const SWITCH: Takes<bool> = Takes::new(text::SWITCH, |text, _| text::switch(text));

/// One of the values of `T`, by name.
pub(super) fn one_of<T: Choice + Value>() -> Takes<T> {
    let names: Vec<String> =
        T::VARIANTS.iter().map(|value| format!("`{}`", value.name())).collect();
    let words = format!("one of {}", names.join(", "));
    Takes { words: words.into(), reads: |text, _| T::named(text), above: None }
}

/// A value that a parameter of a queue can have.
pub(super) trait Value: Copy + PartialEq {
    /// The text that is read as the same value.
    fn written(&self) -> String;

    /// The value of a parameter that is not given, whose discipline has `self` for it.
    fn unless_given(self, _context: LimitContext) -> Self {
        self
    }
}

macro_rules! values {
    ($($kind:ty: $value:ident => $written:expr;)+) => {
        $(impl Value for $kind {
            fn written(&self) -> String {
                let $value = *self;
                $written
            }
        })+
    };
}

values! {
    f64: number => number.to_string();
    u16: number => number.to_string();
    Probability: probability => probability.to_string();
    Bytes: length => format!("{}B", length.count());
    Rate: rate => rate.to_string();
    Duration: span => Exact(span).to_string();
    Measure: measure => measure.name().to_owned();
    bool: on => if on { "on" } else { "off" }.to_owned();
}

impl Value for QueueLimit {
    fn written(&self) -> String {
        self.to_string()
    }

    fn unless_given(self, context: LimitContext) -> QueueLimit {
        context.usual.unwrap_or(self)
    }
}

//! The text forms of parameters: how each kind of value is read, and written so that it is read
//! back as it was.

use crate::tcp::congestion::CongestionAlgorithm;
use crate::tcp::pacing::Pacing;
use crate::tcp::receiver::AckPolicy;
use crate::tcp::sender::InitialWindow;
use crate::text::{Choice, switch};
use crate::time::Duration;
use crate::units::{Bytes, parse_duration};
use std::fmt::Display;
use std::str::FromStr;

/// A way to read and write values of type `T`. An error says what is wrong with the text.
pub(super) trait Form<T> {
    fn read(&self, text: &str) -> Result<T, String>;
    fn write(&self, value: &T) -> String;
}

/// The type's own text form.
pub(super) struct Plain;

impl<T: FromStr<Err: Display> + Display> Form<T> for Plain {
    fn read(&self, text: &str) -> Result<T, String> {
        text.parse().map_err(|error: T::Err| match error.to_string() {
            // The standard library's messages do not say what they are about.
            message if message.contains('`') => message,
            message => format!("`{text}`: {message}"),
        })
    }

    fn write(&self, value: &T) -> String {
        value.to_string()
    }
}

/// A number within limits.
pub(super) struct Between<T>(pub(super) T, pub(super) T);

impl<T: FromStr<Err: Display> + Display + PartialOrd> Form<T> for Between<T> {
    fn read(&self, text: &str) -> Result<T, String> {
        let value = Plain.read(text)?;
        if value < self.0 || value > self.1 {
            return Err(format!("`{text}` is out of range"));
        }
        Ok(value)
    }

    fn write(&self, value: &T) -> String {
        value.to_string()
    }
}

/// `off` for none.
pub(super) struct Optional<F>(pub(super) F);

impl<T, F: Form<T>> Form<Option<T>> for Optional<F> {
    fn read(&self, text: &str) -> Result<Option<T>, String> {
        if text == "off" { Ok(None) } else { self.0.read(text).map(Some) }
    }

    fn write(&self, value: &Option<T>) -> String {
        value.as_ref().map_or_else(|| "off".to_owned(), |value| self.0.write(value))
    }
}

/// One of a few values by name.
pub(super) struct Named;

impl<T: Choice> Form<T> for Named {
    fn read(&self, text: &str) -> Result<T, String> {
        T::named(text).ok_or_else(|| format!("`{text}` is none of them"))
    }

    fn write(&self, value: &T) -> String {
        value.name().to_owned()
    }
}

/// Whether something is on.
pub(super) struct Switch;

impl Form<bool> for Switch {
    fn read(&self, text: &str) -> Result<bool, String> {
        switch(text).ok_or_else(|| format!("`{text}` is neither"))
    }

    fn write(&self, value: &bool) -> String {
        if *value { "on" } else { "off" }.to_owned()
    }
}

/// A count of bytes.
pub(super) struct Size;

impl Form<Bytes> for Size {
    fn read(&self, text: &str) -> Result<Bytes, String> {
        Plain.read(text)
    }

    fn write(&self, value: &Bytes) -> String {
        value.to_string()
    }
}

/// The size of a buffer. A window can be 1 GiB at most (RFC 7323, 2.3).
pub(super) struct Room;

impl Form<Bytes> for Room {
    fn read(&self, text: &str) -> Result<Bytes, String> {
        match Size.read(text)? {
            Bytes::ZERO => Err(format!("`{text}` holds nothing")),
            count if count > Bytes::new(1 << 30) => Err(format!("`{text}` is more than 1GiB")),
            count => Ok(count),
        }
    }

    fn write(&self, value: &Bytes) -> String {
        Size.write(value)
    }
}

/// A span of time of at most a day.
pub(super) struct Time;

impl Form<Duration> for Time {
    fn read(&self, text: &str) -> Result<Duration, String> {
        let time = parse_duration(text).map_err(|error| error.to_string())?;
        if time > Duration::from_secs(24 * 3600) {
            return Err(format!("`{text}` is longer than a day"));
        }
        Ok(time)
    }

    fn write(&self, value: &Duration) -> String {
        let nanos = value.as_nanos();
        for (unit, length) in [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)] {
            if nanos.is_multiple_of(length) {
                return format!("{}{unit}", nanos / length);
            }
        }
        format!("{nanos}ns")
    }
}

/// A time that is not zero: a timer set to it would never let the clock go on.
pub(super) struct Lasting;

impl Form<Duration> for Lasting {
    fn read(&self, text: &str) -> Result<Duration, String> {
        match Time.read(text)? {
            Duration::ZERO => Err(format!("`{text}` is no time at all")),
            time => Ok(time),
        }
    }

    fn write(&self, value: &Duration) -> String {
        Time.write(value)
    }
}

/// When acknowledgments are sent.
pub(super) struct Acks;

impl Form<AckPolicy> for Acks {
    fn read(&self, text: &str) -> Result<AckPolicy, String> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let parts: Vec<&str> = parts.collect();
        match (name, parts.as_slice()) {
            ("per-segment", []) => Ok(AckPolicy::PerSegment),
            ("delayed", [delay]) => Lasting.read(delay).map(AckPolicy::Delayed),
            ("heartbeat", [period]) => Lasting.read(period).map(AckPolicy::Heartbeat),
            ("thinned", [segments, delay]) => Ok(AckPolicy::Thinned {
                segments: Between(1, 1000).read(segments)?,
                delay: Lasting.read(delay)?,
            }),
            ("division", [parts]) => Between(1, 1000).read(parts).map(AckPolicy::Division),
            _ => Err(format!("`{text}` is no policy")),
        }
    }

    fn write(&self, value: &AckPolicy) -> String {
        match value {
            AckPolicy::PerSegment => "per-segment".to_owned(),
            AckPolicy::Delayed(delay) => format!("delayed:{}", Time.write(delay)),
            AckPolicy::Heartbeat(period) => format!("heartbeat:{}", Time.write(period)),
            AckPolicy::Thinned { segments, delay } => {
                format!("thinned:{segments}:{}", Time.write(delay))
            }
            AckPolicy::Division(parts) => format!("division:{parts}"),
        }
    }
}

/// A congestion control. A comma parts keys, so that its parameters are parted by semicolons.
pub(super) struct InList;

impl Form<CongestionAlgorithm> for InList {
    fn read(&self, text: &str) -> Result<CongestionAlgorithm, String> {
        Plain.read(text)
    }

    fn write(&self, value: &CongestionAlgorithm) -> String {
        value.to_string().replace(',', ";")
    }
}

/// Segments as a bare number, bytes with their unit, or RFC 3390's formula by name.
pub(super) struct FirstWindow;

impl Form<InitialWindow> for FirstWindow {
    fn read(&self, text: &str) -> Result<InitialWindow, String> {
        if text == "rfc3390" {
            return Ok(InitialWindow::Rfc3390);
        }
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Between(1, 1_000_000).read(text).map(InitialWindow::Segments);
        }
        Size.read(text).map(InitialWindow::Bytes)
    }

    fn write(&self, value: &InitialWindow) -> String {
        match value {
            InitialWindow::Segments(segments) => segments.to_string(),
            InitialWindow::Bytes(bytes) => Size.write(bytes),
            InitialWindow::Rfc3390 => "rfc3390".to_owned(),
        }
    }
}

/// Whether and how fast to pace.
pub(super) struct Paced;

impl Form<Pacing> for Paced {
    fn read(&self, text: &str) -> Result<Pacing, String> {
        match text {
            "off" => Ok(Pacing::Off),
            "on" => Ok(Pacing::Window { cap: None }),
            rate => Ok(Pacing::Window { cap: Some(Plain.read(rate)?) }),
        }
    }

    fn write(&self, value: &Pacing) -> String {
        match value {
            Pacing::Off => "off".to_owned(),
            Pacing::Window { cap: None } => "on".to_owned(),
            Pacing::Window { cap: Some(rate) } => rate.to_string(),
        }
    }
}

//! What is asked for, as a line of text.

use crate::tap::Chooses;
use bentpipe_capture::Filter;
use std::path::Path;
use std::time::Duration;

/// The least that a file may have.
pub(super) const MIN_BYTES: u64 = 64 << 10;

/// How the file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Pcapng,
    Qlog,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Format::Pcapng => "pcapng",
            Format::Qlog => "qlog",
        }
    }

    fn named(name: &str) -> Option<Format> {
        [Format::Pcapng, Format::Qlog].into_iter().find(|format| format.name() == name)
    }

    /// By a file's suffix.
    pub(super) fn of(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()? {
            "sqlog" => Some(Format::Qlog),
            suffix => Format::named(suffix),
        }
    }
}

/// What is to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    pub(super) format: Format,
    pub(super) payload: bool,
    pub(super) span: Duration,
    pub(super) max_bytes: u64,
    /// Of which connections; empty: of all.
    pub(super) filter: String,
}

impl Order {
    /// The line that asks for it.
    pub(crate) fn line(&self) -> String {
        let Order { format, payload, span, max_bytes, filter } = self;
        let (format, payload) = (format.name(), if *payload { "payload" } else { "headers" });
        // A line is one line.
        let filter = filter.replace(['\n', '\r'], " ");
        format!("record {format} {payload} {} {max_bytes} {filter}", span.as_millis())
    }

    /// What a line asks for.
    pub(crate) fn parse(line: &str) -> Option<Order> {
        let mut words = line.strip_prefix("record ")?.splitn(5, ' ');
        let format = Format::named(words.next()?)?;
        let payload = match words.next()? {
            "payload" => true,
            "headers" => false,
            _ => return None,
        };
        let span = Duration::from_millis(words.next()?.parse().ok()?);
        let max_bytes = words.next()?.parse().ok()?;
        let filter = words.next().unwrap_or_default().trim().to_owned();
        (max_bytes >= MIN_BYTES).then_some(Order { format, payload, span, max_bytes, filter })
    }

    /// Chooses the connections.
    pub(super) fn chooser(&self) -> Result<Chooses, String> {
        if self.filter.is_empty() {
            return Ok(Box::new(|_| true));
        }
        let filter = Filter::parse(&self.filter).map_err(|error| error.to_string())?;
        Ok(Box::new(move |ends| filter.takes_ends(&ends)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_was_written() {
        for (filter, payload) in [("", false), ("host 10.0.0.1 and (port 80 or port 443)", true)] {
            let order = Order {
                format: Format::Pcapng,
                payload,
                span: Duration::from_secs(60),
                max_bytes: 100_000_000,
                filter: filter.into(),
            };
            assert_eq!(Order::parse(&order.line().trim().replace('\n', "")), Some(order));
        }
        for wrong in ["record", "record gif headers 1 100000", "record qlog headers 1 1", "flows"] {
            assert_eq!(Order::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_suffix_says_the_format() {
        let of = |name: &str| Format::of(Path::new(name));
        assert_eq!(of("a.pcapng"), Some(Format::Pcapng));
        assert_eq!((of("a.qlog"), of("a.sqlog")), (Some(Format::Qlog), Some(Format::Qlog)));
        assert_eq!((of("a.pcap"), of("pcapng")), (None, None));
    }
}

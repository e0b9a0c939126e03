//! Which time series and packets a run records, besides its results.

use crate::document::{Node, Value};
use crate::names::{LinkIndex, Names};
use crate::reader::{Context, Reader, Result, Section, field};
use bentpipe_core::time::Duration;

/// What is recorded over time. Results (one row a flow, one row a run) come always.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The time between two points of a series.
    pub interval: Duration,
    /// What of each flow.
    pub flow: Vec<FlowSeries>,
    /// What of each direction of each link.
    pub link: Vec<LinkSeries>,
    /// What of each gateway.
    pub gateway: Vec<GatewaySeries>,
    /// Of which flows, by index; `None`: of all.
    pub flows: Option<Vec<usize>>,
    /// Of which links; `None`: of all.
    pub links: Option<Vec<LinkIndex>>,
    /// A capture of the packets' headers at every host.
    pub packets: bool,
}

macro_rules! series {
    ($(#[$about:meta])* $name:ident { $($(#[$item:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[$item])* $variant,)* }

        impl $name {
            /// Each, with its name.
            pub const ALL: &[(&str, $name)] = &[$(($text, $name::$variant),)*];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }
    };
}

series! {
    /// Series of a flow's sender.
    FlowSeries {
        /// Congestion window in bytes.
        Cwnd = "cwnd",
        /// Slow start threshold in bytes.
        Ssthresh = "ssthresh",
        /// Bytes in flight.
        Flight = "flight",
        /// Smoothed round-trip time in seconds.
        Srtt = "srtt",
        /// Retransmission timeout in seconds.
        Rto = "rto",
        /// Bytes delivered to the application, in the interval, as a rate.
        Throughput = "throughput",
        /// Every segment sent and every acknowledgment received, as they happen.
        Sequence = "sequence",
    }
}

series! {
    /// Series of a link's direction.
    LinkSeries {
        /// Queue length in packets and bytes.
        Queue = "queue",
        /// Bytes sent, in the interval, as a rate.
        Throughput = "throughput",
        /// Packets dropped by the queue in the interval.
        Drops = "drops",
        /// Packets lost on the line in the interval.
        Losses = "losses",
        /// Propagation delay in seconds.
        Delay = "delay",
    }
}

series! {
    /// Series of a gateway.
    GatewaySeries {
        /// Bytes held.
        Memory = "memory",
        /// Flows split.
        Flows = "flows",
    }
}

pub(crate) const RECORD: Section = Section {
    path: "record",
    about: "Time series and captures, besides the results that every run writes.",
    fields: &[
        field("interval", "a time", "100ms", "between two points"),
        field(
            "flow",
            "a list of `cwnd`, `ssthresh`, `flight`, `srtt`, `rto`, `throughput`, `sequence`",
            "`[]`",
            "what of each flow; `sequence` is every segment and acknowledgment",
        ),
        field(
            "link",
            "a list of `queue`, `throughput`, `drops`, `losses`, `delay`",
            "`[]`",
            "what of each direction of each link",
        ),
        field("gateway", "a list of `memory`, `flows`", "`[]`", "what of each gateway"),
        field("flows", "a list of flows", "all", "of which flows: series, and packets in captures"),
        field(
            "links",
            "a list of links",
            "all",
            "of which links: series, and captures at the hosts at their ends",
        ),
        field(
            "packets",
            "true or false",
            "false",
            "a capture at every host: its packets' headers, as pcapng files; `flows` and `links` \
             say of which packets and at which hosts",
        ),
    ],
    example: "[record]\ninterval = \"50ms\"\nflow = [\"cwnd\", \"sequence\"]\nlink = [\"queue\"]\nlinks = [\"sat\"]",
};

impl Record {
    pub(crate) fn read(reader: &Reader<'_>, names: &Names) -> Result<Record> {
        let context = reader.context;
        let interval = reader.or("interval", Duration::from_millis(100))?;
        if interval < Duration::from_micros(1) {
            return Err(reader.bad("interval", "an interval must last 1us at least"));
        }
        let which = |key: &str| reader.node(key);
        let flows =
            which("flows").map(|node| each(context, node, |item| names.flow(context, item)));
        let links =
            which("links").map(|node| each(context, node, |item| names.link(context, item)));
        Ok(Record {
            interval,
            flow: some_of(context, which("flow"), FlowSeries::ALL)?,
            link: some_of(context, which("link"), LinkSeries::ALL)?,
            gateway: some_of(context, which("gateway"), GatewaySeries::ALL)?,
            flows: flows.transpose()?,
            links: links.transpose()?,
            packets: reader.or("packets", false)?,
        })
    }
}

fn each<T>(
    context: &Context<'_>,
    node: &Node,
    read: impl Fn(&Node) -> Result<T>,
) -> Result<Vec<T>> {
    match &node.value {
        Value::List(list) => list.iter().map(read).collect(),
        _ => Err(context.type_error(node, "a list in square brackets")),
    }
}

fn some_of<T: Copy>(
    context: &Context<'_>,
    node: Option<&Node>,
    all: &[(&str, T)],
) -> Result<Vec<T>> {
    let Some(node) = node else { return Ok(Vec::new()) };
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    each(context, node, |item| Ok(all[context.one_of(item, "time series", &names)?].1))
}

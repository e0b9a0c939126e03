//! Which time series and packets a run records, besides its results.

use crate::names::{LinkIndex, Names};
use bentpipe_config::document::{Node, Value};
use bentpipe_config::reader::{Context, Reader, Result, Section, field, some_of};
use bentpipe_core::text::Choice;
use bentpipe_core::time::Duration;

/// What is recorded over time. Results (one row a flow, one row a run) come always.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeriesRecording {
    /// The time between two points of a series.
    pub interval: Duration,
    /// What of each flow.
    pub flow: Vec<FlowSeries>,
    /// What of each direction of each link.
    pub link: Vec<LinkSeries>,
    /// What of each gateway.
    pub gateway: Vec<GatewaySeries>,
    /// What of each middlebox that has such series.
    pub middlebox: Vec<MiddleboxSeries>,
    /// Of which flows, by index; `None`: of all.
    pub flows: Option<Vec<usize>>,
    /// Of which links; `None`: of all.
    pub links: Option<Vec<LinkIndex>>,
    /// A capture of the packets' headers at every host and at both sides of every gateway.
    pub packets: bool,
    /// A recording of what the TCP of every host and gateway does and why.
    pub qlog: bool,
}

/// Series of a flow's sender.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum FlowSeries {
    /// Congestion window in bytes.
    Cwnd,
    /// Slow start threshold in bytes.
    Ssthresh,
    /// Bytes in flight.
    Flight,
    /// Smoothed round-trip time in seconds.
    Srtt,
    /// Retransmission timeout in seconds.
    Rto,
    /// Bytes delivered to the application, in the interval, as a rate.
    Throughput,
    /// Every segment sent and every acknowledgment received, as they happen.
    Sequence,
}

/// Series of a link's direction.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum LinkSeries {
    /// Queue length in packets and bytes.
    Queue,
    /// Bytes sent, in the interval, as a rate.
    Throughput,
    /// Packets dropped by the queue in the interval.
    Drops,
    /// Packets lost on the line in the interval.
    Losses,
    /// Propagation delay in seconds.
    Delay,
}

/// Series of a gateway.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum GatewaySeries {
    /// Bytes held.
    Memory,
    /// Flows split.
    Flows,
}

/// Series of a middlebox.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum MiddleboxSeries {
    /// The rate to which an ACK spacer keeps, in bit/s.
    SpacingRate,
    /// Of the connections whose data an ACK spacer has seen since the last point, how many it takes
    /// to be in slow start.
    SlowStarts,
}

pub(crate) const RECORD: Section = Section {
    path: "record",
    about: "Time series and captures, besides the results that every run writes.",
    fields: &[
        field("interval", "a time", "100ms", "between two points"),
        some_of::<FlowSeries>(
            "flow",
            "what of each flow; `sequence` is every segment and acknowledgment",
        ),
        some_of::<LinkSeries>("link", "what of each direction of each link"),
        some_of::<GatewaySeries>("gateway", "what of each gateway"),
        some_of::<MiddleboxSeries>("middlebox", "what of each ACK spacer"),
        field("flows", "a list of flows", "all", "of which flows: series, and packets in captures"),
        field(
            "links",
            "a list of links",
            "all",
            "of which links: series, and captures at the hosts and gateways at their ends",
        ),
        field(
            "packets",
            "true or false",
            "false",
            "a capture at every host and at each side of every gateway: its packets' headers, as pcapng files; `flows` \
             and `links` say of which packets and where",
        ),
        field(
            "qlog",
            "true or false",
            "false",
            "at the same hosts and gateways, of the same flows: what their TCP does and why (causes, limiters, windows, \
             timers), as [qlog](qlog-tcp.md) files; of a gateway, what its two legs do",
        ),
    ],
    example: "[record]\ninterval = \"50ms\"\nflow = [\"cwnd\", \"sequence\"]\nlink = [\"queue\"]\nlinks = [\"sat\"]",
};

impl SeriesRecording {
    /// Whether anything is taken down of what passes hosts and gateways.
    pub fn has_captures(&self) -> bool {
        self.packets || self.qlog
    }

    /// Whether there are to be any series.
    pub fn has_series(&self) -> bool {
        let nodes = self.gateway.is_empty() && self.middlebox.is_empty();
        !(self.flow.is_empty() && self.link.is_empty() && nodes)
    }

    pub(crate) fn read(reader: &Reader<'_>, names: &Names) -> Result<SeriesRecording> {
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
        Ok(SeriesRecording {
            interval,
            flow: series(context, which("flow"))?,
            link: series(context, which("link"))?,
            gateway: series(context, which("gateway"))?,
            middlebox: series(context, which("middlebox"))?,
            flows: flows.transpose()?,
            links: links.transpose()?,
            packets: reader.or("packets", false)?,
            qlog: reader.or("qlog", false)?,
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

fn series<T: Choice>(context: &Context<'_>, node: Option<&Node>) -> Result<Vec<T>> {
    let Some(node) = node else { return Ok(Vec::new()) };
    each(context, node, |item| context.choice(item, "time series"))
}

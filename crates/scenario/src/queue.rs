//! Queues of a link.

use crate::document::{Node, Value};
use crate::reader::{Context, Reader, Result, Section, field};
use bentpipe_core::link::QueueLimit;
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Probability, Rate};

/// A queueing discipline with its parameters. Limits include the packet being sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Queue {
    /// First in, first out; an arrival that does not fit is dropped.
    DropTail {
        /// How much it holds.
        limit: QueueLimit,
    },
    /// Random early detection (Floyd and Jacobson 1993).
    Red(Red),
    /// Controlled delay (RFC 8289).
    CoDel(CoDel),
}

/// RED's parameters. Defaults are ns-2's of 1997.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Red {
    /// How much the queue holds at most.
    pub limit: QueueLimit,
    /// Below this average nothing is dropped, in packets.
    pub min_threshold: f64,
    /// From this average on everything is (with `gentle`: from twice this on), in packets.
    pub max_threshold: f64,
    /// Weight of the newest queue length in the average.
    pub weight: f64,
    /// Probability of a drop as the average reaches `max_threshold`.
    pub max_probability: Probability,
    /// Between the upper threshold and twice that, the probability rises to one in a line.
    pub gentle: bool,
    /// Arrivals are let pass after each drop, so that drops are evenly apart.
    pub wait: bool,
    /// In what the average is.
    pub average: Counted,
    /// In bytes, a packet's probability is proportional to its length.
    pub drops: Counted,
    /// ECN-capable packets are marked instead.
    pub ecn: bool,
    /// Mean packet size: how far the average falls while the line is idle.
    pub mean_packet: Bytes,
}

/// What RED counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Packets.
    Packets,
    /// Bytes, in units of the mean packet.
    Bytes,
}

/// CoDel's parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoDel {
    /// How much the queue holds at most.
    pub limit: QueueLimit,
    /// Acceptable standing delay.
    pub target: Duration,
    /// For how long the delay may exceed it.
    pub interval: Duration,
    /// ECN-capable packets are marked instead.
    pub ecn: bool,
}

impl Queue {
    /// Its limit.
    pub fn limit(&self) -> QueueLimit {
        match self {
            Queue::DropTail { limit } => *limit,
            Queue::Red(red) => red.limit,
            Queue::CoDel(codel) => codel.limit,
        }
    }
}

const LIMIT: &str =
    "`60packets`, `64KiB`, `1bdp` (rate × twice the link's delay, 15 KB at least), `unlimited`";

pub(crate) const DROP_TAIL: Section = Section {
    path: "queue, drop-tail",
    about: "First in, first out; an arrival that does not fit is dropped. A text alone is the \
            limit of such a queue. The packet being sent counts.",
    fields: &[
        field("kind", "`drop-tail`, `red`, `codel`", "`drop-tail`", "the discipline"),
        field("limit", LIMIT, "`1bdp`", "how much it holds"),
    ],
    example: "queue = \"60packets\"",
};

pub(crate) const RED: Section = Section {
    path: "queue, red",
    about: "Random early detection (Floyd and Jacobson 1993), by average queue length in packets.",
    fields: &[
        field("kind", "`red`", "", "the discipline"),
        field("limit", LIMIT, "`1bdp`", "how much it holds at most"),
        field("min-threshold", "packets", "5", "below this average nothing is dropped"),
        field(
            "max-threshold",
            "packets",
            "15",
            "from this average on all is; `gentle`: from twice this on",
        ),
        field("weight", "0 to 1", "0.002", "of the newest length in the average"),
        field(
            "max-probability",
            "a probability",
            "0.1",
            "of a drop as the average reaches `max-threshold`",
        ),
        field(
            "gentle",
            "true or false",
            "false",
            "probability rises in a line up to twice `max-threshold`",
        ),
        field(
            "wait",
            "true or false",
            "true",
            "let arrivals pass after each drop: drops are evenly apart",
        ),
        field(
            "average",
            "`packets` or `bytes`",
            "`packets`",
            "in what the average is; thresholds stay in packets, of `mean-packet`",
        ),
        field(
            "drops",
            "`packets` or `bytes`",
            "`packets`",
            "in bytes, a packet's probability is proportional to its length",
        ),
        field("ecn", "true or false", "false", "mark ECN-capable packets instead of dropping"),
        field(
            "mean-packet",
            "bytes",
            "500B",
            "its mean length: how fast the average falls while the line is idle",
        ),
    ],
    example: "queue = { kind = \"red\", limit = \"50packets\", min-threshold = 20, max-threshold = 40 }",
};

pub(crate) const CODEL: Section = Section {
    path: "queue, codel",
    about: "Controlled delay (RFC 8289).",
    fields: &[
        field("kind", "`codel`", "", "the discipline"),
        field("limit", LIMIT, "`1bdp`", "how much it holds at most"),
        field("target", "a time", "5ms", "acceptable standing delay"),
        field("interval", "a time", "100ms", "for how long it may be exceeded"),
        field("ecn", "true or false", "false", "mark ECN-capable packets instead of dropping"),
    ],
    example: "queue = { kind = \"codel\", target = \"20ms\", interval = \"600ms\" }",
};

/// What "one bandwidth-delay product" is at a link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Product {
    pub(crate) rate: Option<Rate>,
    pub(crate) delay: Duration,
}

impl Product {
    /// `share` of rate × 2 × delay; at least ten full-sized packets for a whole one.
    fn limit(self, share: f64) -> QueueLimit {
        let Some(rate) = self.rate else { return QueueLimit::Unlimited };
        let product = rate.bytes_in(self.delay.saturating_mul(2)).max(15_000);
        QueueLimit::Bytes(Bytes::new((product as f64 * share).round() as u64))
    }
}

impl Queue {
    /// The queue that `node` describes, on a link with this `product`.
    pub(crate) fn read(
        context: &Context<'_>,
        node: Option<&Node>,
        product: Product,
    ) -> Result<Queue> {
        let Some(node) = node else { return Ok(Queue::DropTail { limit: product.limit(1.0) }) };
        let Value::Table(table) = &node.value else {
            return Ok(Queue::DropTail { limit: limit(context, node, product)? });
        };
        const KINDS: [(&str, &Section); 3] =
            [("drop-tail", &DROP_TAIL), ("red", &RED), ("codel", &CODEL)];
        let kind = match table.get("kind") {
            Some(kind) => context.one_of(kind, "queue", &KINDS.map(|(name, _)| name))?,
            None => 0,
        };
        let reader = Reader::open(context, node, "a queue", &[KINDS[kind].1])?;
        let limit = match reader.node("limit") {
            Some(node) => limit(context, node, product)?,
            None => product.limit(1.0),
        };
        match kind {
            0 => Ok(Queue::DropTail { limit }),
            1 => {
                let tenth = Probability::new(0.1).expect("a tenth is a probability");
                let counted = |key: &str| -> Result<Counted> {
                    let found = reader.choice(key, &["packets", "bytes"])?;
                    Ok([Counted::Packets, Counted::Bytes][found])
                };
                let red = Red {
                    limit,
                    min_threshold: reader.within("min-threshold", 5.0, 0.0..=1e9)?,
                    max_threshold: reader.within("max-threshold", 15.0, 0.0..=1e9)?,
                    weight: reader.within("weight", 0.002, 1e-9..=1.0)?,
                    max_probability: reader.or("max-probability", tenth)?,
                    gentle: reader.or("gentle", false)?,
                    wait: reader.or("wait", true)?,
                    average: counted("average")?,
                    drops: counted("drops")?,
                    ecn: reader.or("ecn", false)?,
                    mean_packet: reader.or("mean-packet", Bytes::new(500))?,
                };
                if red.min_threshold >= red.max_threshold {
                    let (min, max) = (red.min_threshold, red.max_threshold);
                    let why = format!("min-threshold ({min}) must be below max-threshold ({max})");
                    return Err(reader.bad("min-threshold", why));
                }
                Ok(Queue::Red(red))
            }
            _ => Ok(Queue::CoDel(CoDel {
                limit,
                target: reader.or("target", Duration::from_millis(5))?,
                interval: reader.or("interval", Duration::from_millis(100))?,
                ecn: reader.or("ecn", false)?,
            })),
        }
    }
}

fn limit(context: &Context<'_>, node: &Node, product: Product) -> Result<QueueLimit> {
    let Value::Text(text) = &node.value else {
        return Err(
            context.type_error(node, "a limit such as \"60packets\", \"64KiB\" or \"1bdp\"")
        );
    };
    if text == "unlimited" {
        return Ok(QueueLimit::Unlimited);
    }
    if let Some(share) = text.strip_suffix("bdp") {
        let share: Option<f64> = share.trim().parse().ok();
        let sound = share.filter(|share| *share > 0.0 && *share <= 1e6);
        let why = || context.value_error(node, format!("`{text}` is no number of bdp"));
        return Ok(product.limit(sound.ok_or_else(why)?));
    }
    let limit = text.parse().map_err(|_| {
        let expected = "`60packets`, `64KiB`, `0.5bdp` or `unlimited`";
        context.value_error(node, format!("`{text}` is no queue limit (expected {expected})"))
    })?;
    if matches!(limit, QueueLimit::Packets(0)) || limit == QueueLimit::Bytes(Bytes::new(0)) {
        return Err(context.value_error(node, "a queue that holds nothing passes nothing"));
    }
    Ok(limit)
}

//! How a scenario says what queue a link has.

use crate::document::{Node, Value};
use crate::reader::{Context, Reader, Result, Section, field};
use bentpipe_core::link::{CoDelConfig, Measure, PolicerConfig, QueueKind, QueueLimit, RedConfig};
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Probability, Rate};

const LIMIT: &str =
    "`60packets`, `64KiB`, `1bdp` (rate × twice the link's delay, 15 KB at least), `unlimited`";

/// The limit of a queue of which nothing is said.
pub(crate) const DEFAULT: &str = "`1bdp`; 1.5 MB at least if the link's delay is 5ms or less";

/// Up to this delay a link is a LAN's or an access link's, whose queue is that of an interface: it
/// has to hold what a host has ready to send, and not only what is on the line. One product would be
/// a few packets, and the host would lose its own bursts where a real one waits.
const INTERFACE_DELAY: Duration = Duration::from_millis(5);
/// What such an interface holds: a thousand full-sized packets, as those of Linux do (`txqueuelen`).
const INTERFACE_QUEUE: u64 = 1_500_000;

pub(crate) const DROP_TAIL: Section = Section {
    path: "queue, drop-tail",
    about: "First in, first out; an arrival that does not fit is dropped. A text alone is the \
            limit of such a queue. The packet being sent counts. Of a queue of which nothing is said, \
            one product is the limit; where the link has hardly any delay (5 ms or less one way) it \
            is an interface's, 1000 full-sized packets as Linux's hold, so that a host does not \
            lose what it has ready to send. A bottleneck without delay should say its own.",
    fields: &[
        field("kind", "`drop-tail`, `red`, `codel`, `policer`", "`drop-tail`", "the discipline"),
        field("limit", LIMIT, DEFAULT, "how much it holds"),
    ],
    example: "queue = \"60packets\"",
};

pub(crate) const RED: Section = Section {
    path: "queue, red",
    about: "Random early detection (Floyd and Jacobson 1993), by average queue length in packets.",
    fields: &[
        field("kind", "`red`", "", "the discipline"),
        field("limit", LIMIT, DEFAULT, "how much it holds at most"),
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
        field("limit", LIMIT, DEFAULT, "how much it holds at most"),
        field("target", "a time", "5ms", "acceptable standing delay"),
        field("interval", "a time", "100ms", "for how long it may be exceeded"),
        field("ecn", "true or false", "false", "mark ECN-capable packets instead of dropping"),
    ],
    example: "queue = { kind = \"codel\", target = \"20ms\", interval = \"600ms\" }",
};

pub(crate) const POLICER: Section = Section {
    path: "queue, policer",
    about: "A token bucket that drops what exceeds a rate and a burst (RFC 2697 with one burst; \
            `police` of Linux's tc): nothing waits for it. What passes waits for the line, whose \
            rate should be higher, in a drop-tail queue.",
    fields: &[
        field("kind", "`policer`", "", "the discipline"),
        field("rate", "a rate", "", "how fast the bucket fills; packets count with their headers"),
        field(
            "burst",
            "bytes",
            "",
            "how much it holds; it begins full, and a packet longer than this never passes",
        ),
        field("limit", LIMIT, DEFAULT, "how much the queue behind it holds"),
    ],
    example: "queue = { kind = \"policer\", rate = \"8Mbit/s\", burst = \"30KB\" }",
};

/// What "one bandwidth-delay product" is at a link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Product {
    pub(crate) rate: Option<Rate>,
    pub(crate) delay: Duration,
}

impl Product {
    /// The limit of a queue of which nothing is said.
    fn usual(self) -> QueueLimit {
        match self.limit(1.0) {
            QueueLimit::Bytes(bytes) if self.delay <= INTERFACE_DELAY => {
                QueueLimit::Bytes(Bytes::new(bytes.count().max(INTERFACE_QUEUE)))
            }
            limit => limit,
        }
    }

    /// `share` of rate × 2 × delay; at least ten full-sized packets for a whole one.
    fn limit(self, share: f64) -> QueueLimit {
        let Some(rate) = self.rate else { return QueueLimit::Unlimited };
        let product = rate.bytes_in(self.delay.saturating_mul(2)).max(15_000);
        QueueLimit::Bytes(Bytes::new((product as f64 * share).round() as u64))
    }
}

/// The queue that `node` describes, on a link with this `product`.
pub(crate) fn read_queue(
    context: &Context<'_>,
    node: Option<&Node>,
    product: Product,
) -> Result<QueueKind> {
    let Some(node) = node else { return Ok(QueueKind::DropTail(product.usual())) };
    let Value::Table(table) = &node.value else {
        return Ok(QueueKind::DropTail(limit(context, node, product)?));
    };
    const KINDS: [(&str, &Section); 4] =
        [("drop-tail", &DROP_TAIL), ("red", &RED), ("codel", &CODEL), ("policer", &POLICER)];
    let kind = match table.get("kind") {
        Some(kind) => context.one_of(kind, "queue", &KINDS.map(|(name, _)| name))?,
        None => 0,
    };
    let reader = Reader::open(context, node, "a queue", &[KINDS[kind].1])?;
    let limit = match reader.node("limit") {
        Some(node) => limit(context, node, product)?,
        None => product.usual(),
    };
    match kind {
        0 => Ok(QueueKind::DropTail(limit)),
        1 => {
            let tenth = Probability::new(0.1).expect("a tenth is a probability");
            let counted = |key: &str| -> Result<Measure> {
                let found = reader.choice(key, &["packets", "bytes"])?;
                Ok([Measure::Packets, Measure::Bytes][found])
            };
            let red = RedConfig {
                limit,
                min_threshold: reader.within("min-threshold", 5.0, 0.0..=1e9)?,
                max_threshold: reader.within("max-threshold", 15.0, 0.0..=1e9)?,
                weight: reader.within("weight", 0.002, 1e-9..=1.0)?,
                max_p: reader.or("max-probability", tenth)?,
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
            Ok(QueueKind::Red(red))
        }
        2 => Ok(QueueKind::CoDel(CoDelConfig {
            limit,
            target: reader.or("target", Duration::from_millis(5))?,
            interval: reader.or("interval", Duration::from_millis(100))?,
            ecn: reader.or("ecn", false)?,
        })),
        _ => {
            let policer =
                PolicerConfig { rate: reader.need("rate")?, burst: reader.need("burst")?, limit };
            if policer.rate.bits_per_sec() == 0 || policer.burst.count() == 0 {
                let key = if policer.burst.count() == 0 { "burst" } else { "rate" };
                return Err(reader.bad(key, "a policer of nothing passes nothing"));
            }
            Ok(QueueKind::Policer(policer))
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

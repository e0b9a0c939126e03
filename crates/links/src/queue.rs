//! A link's queue, from a table or a text.

use bentpipe_config::document::{Node, Value};
use bentpipe_config::reader::{Context, Reader, Result, Section, field, one_of};
use bentpipe_core::link::{Line, Measure, QueueKind, QueueLimit, QueueName};
use bentpipe_core::text::{Choice, Parameters};
use bentpipe_core::time::Duration;
use bentpipe_core::units::Bytes;

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
    about: "First in, first out; an arrival that does not fit is dropped. A limit alone is that of \
            such a queue. Every queue can be a text, too, as `bentpipe link --queue` takes it: \
            `red:limit=50packets,min-threshold=20`. The packet being sent counts. Of a queue of which nothing is said, \
            one product is the limit; where the link has hardly any delay (5 ms or less one way) it \
            is an interface's, 1000 full-sized packets as Linux's hold, so that a host does not \
            lose what it has ready to send. A bottleneck without delay should say its own.",
    fields: &[
        one_of::<QueueName>("kind", "`drop-tail`", "the discipline"),
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
            "three times `min-threshold`",
            "from this average on all is; `gentle`: from twice this on",
        ),
        field("weight", "0 to 1", "0.002", "of the newest length in the average"),
        field("max-p", "a probability", "0.1", "of a drop as the average reaches `max-threshold`"),
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
        one_of::<Measure>(
            "average",
            "`packets`",
            "in what the average is; thresholds stay in packets, of `mean-packet`",
        ),
        one_of::<Measure>(
            "drops",
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

pub(crate) const FQ_CODEL: Section = Section {
    path: "queue, fq-codel",
    about: "A queue for each flow, by a hash of its addresses, protocol and ports; they take turns by their bytes, \
            with controlled delay in each (RFC 8290). Of too much the longest queue is dropped from.",
    fields: &[
        field("kind", "`fq-codel`", "", "the discipline"),
        field("limit", LIMIT, DEFAULT, "how much all queues hold together at most"),
        field("flows", "1 to 65535", "1024", "how many queues there are"),
        field("quantum", "bytes", "1514B", "how much a queue sends in its turn"),
        field("target", "a time", "5ms", "acceptable standing delay"),
        field("interval", "a time", "100ms", "for how long it may be exceeded"),
        field("ecn", "true or false", "true", "mark ECN-capable packets instead of dropping"),
    ],
    example: "queue = { kind = \"fq-codel\", target = \"20ms\", interval = \"600ms\" }",
};

pub(crate) const PIE: Section = Section {
    path: "queue, pie",
    about: "The proportional integral controller enhanced (RFC 8033).",
    fields: &[
        field("kind", "`pie`", "", "the discipline"),
        field("limit", LIMIT, DEFAULT, "how much it holds at most"),
        field("target", "a time", "15ms", "the delay that the controller aims at"),
        field(
            "update",
            "a time, at least 1ms",
            "15ms",
            "from one update of the probability to the next",
        ),
        field(
            "burst",
            "a time",
            "150ms",
            "how long a burst after a time without congestion passes",
        ),
        field("alpha", "a number", "0.125", "gain of the distance from the target, in seconds"),
        field("beta", "a number", "1.25", "gain of the change of the delay, in seconds"),
        field(
            "ecn",
            "true or false",
            "false",
            "mark ECN-capable packets instead of dropping, up to a probability of 10 %",
        ),
    ],
    example: "queue = { kind = \"pie\", target = \"20ms\" }",
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

/// The limit of a queue before `line` of which nothing is said.
fn usual(line: Line) -> QueueLimit {
    match line.limit(1.0) {
        QueueLimit::Bytes(bytes) if line.delay <= INTERFACE_DELAY => {
            QueueLimit::Bytes(Bytes::new(bytes.count().max(INTERFACE_QUEUE)))
        }
        limit => limit,
    }
}

/// The keys of a queue of this kind.
fn section(name: QueueName) -> &'static Section {
    match name {
        QueueName::DropTail => &DROP_TAIL,
        QueueName::Red => &RED,
        QueueName::CoDel => &CODEL,
        QueueName::FqCoDel => &FQ_CODEL,
        QueueName::Pie => &PIE,
        QueueName::Policer => &POLICER,
    }
}

/// The queue that `node` describes before `line`: a text as the core reads it, or a table of the same keys.
pub(crate) fn read_queue(
    context: &Context<'_>,
    node: Option<&Node>,
    line: Line,
) -> Result<QueueKind> {
    let usual = usual(line);
    let Some(node) = node else { return Ok(QueueKind::DropTail(usual)) };
    let table = match &node.value {
        Value::Table(table) => table,
        Value::Text(text) => {
            return QueueKind::of_text(text, Some(line), Some(usual))
                .map_err(|why| context.value_error(node, why.to_string()));
        }
        _ => {
            let expected = "a limit such as \"60packets\", \"64KiB\" or \"1bdp\", or a table";
            return Err(context.type_error(node, expected));
        }
    };
    let name = match table.get("kind") {
        Some(kind) => context.choice(kind, "queue")?,
        None => QueueName::DropTail,
    };
    let reader = Reader::open(context, node, "a queue", &[section(name)])?;
    let own = reader.table.entries.iter().filter(|entry| entry.key != "kind");
    let texts = own.map(|entry| match entry.node.scalar() {
        Some(text) => Ok((entry.key.as_str(), text)),
        None => Err(context.type_error(&entry.node, "one value")),
    });
    let texts: Vec<(&str, String)> = texts.collect::<Result<_>>()?;
    let pairs = texts.iter().map(|(key, text)| (*key, text.as_str()));
    let given = Parameters::of(name.name(), pairs);
    QueueKind::of_parameters(name, given, Some(line), Some(usual)).map_err(|error| {
        let why = error.to_string();
        match error.key() {
            Some(key) => reader.bad(key, why),
            None => context.value_error(node, why),
        }
    })
}

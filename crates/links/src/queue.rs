//! A link's queue, from a table or a text.

use bentpipe_config::document::{Node, Value};
use bentpipe_config::reader::{Context, Field, Reader, Result, Section, field, one_of};
use bentpipe_core::link::{DisciplineEntry, Line, QueueKind, QueueLimit, QueueName};
use bentpipe_core::text::{Choice, Parameters, SWITCH};
use bentpipe_core::time::Duration;
use bentpipe_core::units::Bytes;
use std::iter;
use std::sync::LazyLock;

const LIMIT: &str =
    "`60packets`, `64KiB`, `1bdp` (rate × twice the link's delay, 15 KB at least), `unlimited`";

/// The limit of a queue of which nothing is said.
pub(crate) const DEFAULT: &str = "`1bdp`; 1.5 MB at least if the link's delay is 5ms or less";

/// Up to this delay a link is a LAN's or an access link's, whose queue is that of an interface: it
/// has to hold what a host has ready to send, and not only what is on the line. One product would
/// be a few packets, and the host would lose its own bursts where a real one waits.
const INTERFACE_DELAY: Duration = Duration::from_millis(5);
/// What such an interface holds: a thousand full-sized packets, as those of Linux do
/// (`txqueuelen`).
const INTERFACE_QUEUE: u64 = 1_500_000;

/// What holds for drop-tail queues in tables besides, and for all.
const PLAIN: &str = "A limit alone is that of such a queue. Every queue can be a text, too, as `bentpipe link --queue` \
                     takes it: `red:limit=50packets,min-threshold=20`. The packet being sent counts. Of a queue of which \
                     nothing is said, one product is the limit; where the link has hardly any delay (5 ms or less one \
                     way) it is an interface's, 1000 full-sized packets as Linux's hold, so that a host does not lose \
                     what it has ready to send. A bottleneck without delay should say its own.";

/// The tables of queues, one for each discipline in the order of `QueueName::VARIANTS`, made of
/// its entry. Their texts last as long as the program.
static SECTIONS: LazyLock<Vec<Section>> =
    LazyLock::new(|| QueueKind::entries().into_iter().map(section).collect());

/// The tables of queues.
pub(crate) fn sections() -> impl Iterator<Item = &'static Section> {
    SECTIONS.iter()
}

/// The table of a discipline.
fn section(entry: DisciplineEntry) -> Section {
    let name = entry.name.name();
    let kind = match entry.name {
        QueueName::DropTail => one_of::<QueueName>("kind", "`drop-tail`", "the discipline"),
        _ => field("kind", format!("`{name}`").leak(), "", "the discipline"),
    };
    let parameters = entry.parameters.into_iter().map(|parameter| {
        let about = as_phrase(&parameter.about).leak();
        if parameter.name == "limit" {
            return field("limit", LIMIT, DEFAULT, about);
        }
        let takes = in_table(parameter.takes).leak();
        field(parameter.name, takes, in_table(parameter.usual.unwrap_or_default()).leak(), about)
    });
    let fields: Vec<Field> = iter::once(kind).chain(parameters).collect();
    let about = match entry.source {
        "" => entry.about,
        source => format!("{} ({source}).", entry.about.trim_end_matches('.')),
    };
    let details = if entry.name == QueueName::DropTail { PLAIN } else { &entry.details };
    Section {
        path: format!("queue, {name}").leak(),
        about: format!("{about} {details}").trim_end().to_owned().leak(),
        fields: fields.leak(),
        example: example(entry.example).leak(),
    }
}

/// A sentence as the cell of a table: without its capital, which names of more than one have, and
/// its stop.
fn as_phrase(sentence: &str) -> String {
    let sentence = sentence.trim_end_matches('.');
    let mut letters = sentence.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            format!("{}{}", first.to_lowercase(), letters.as_str())
        }
        _ => sentence.to_owned(),
    }
}

/// What a parameter takes, in the words of a table: the switches of texts are TOML's.
fn in_table(text: String) -> String {
    match text.as_str() {
        SWITCH => "true or false".to_owned(),
        "on" => "true".to_owned(),
        "off" => "false".to_owned(),
        _ => text,
    }
}

/// The text of a queue as it stands in a file: as a table, or as the limit that is all of a
/// drop-tail queue.
fn example(text: &str) -> String {
    if let Some(limit) = text.strip_prefix("drop-tail:limit=") {
        return format!("queue = \"{limit}\"");
    }
    let (name, pairs) = text.split_once(':').unwrap_or((text, ""));
    let pairs =
        pairs.split(',').filter_map(|pair| pair.split_once('=')).map(|(key, value)| {
            match (in_table(value.to_owned()), value.parse::<f64>()) {
                (_, Ok(_)) => format!(", {key} = {value}"),
                (switch, _) if switch != value => format!(", {key} = {switch}"),
                _ => format!(", {key} = \"{value}\""),
            }
        });
    format!("queue = {{ kind = \"{name}\"{} }}", pairs.collect::<String>())
}

/// The limit of a queue before `line` of which nothing is said.
fn usual(line: Line) -> QueueLimit {
    match line.limit(1.0) {
        QueueLimit::Bytes(bytes) if line.delay <= INTERFACE_DELAY => {
            QueueLimit::Bytes(Bytes::new(bytes.count().max(INTERFACE_QUEUE)))
        }
        limit => limit,
    }
}

/// The queue that `node` describes before `line`: a text as the core reads it, or a table of the
/// same keys.
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
    let reader = Reader::open(context, node, "a queue", &[&SECTIONS[name as usize]])?;
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

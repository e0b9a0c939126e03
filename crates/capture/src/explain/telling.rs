//! The stories of connections, as text and as JSON.

use super::{Event, Run, Silence, Story, Trigger, Why, explain};
use crate::analysis::analyse;
use crate::connection::Connection;
use crate::direction::Direction;
use crate::recorded::words;
use serde_json::{Value, json};
use std::io::{self, Write};

/// The stories of the directions that have data.
fn stories(connection: &Connection) -> Vec<(Direction, Story)> {
    let analysis = analyse(connection);
    let stories = Direction::BOTH.map(|way| (way, explain(connection, &analysis, way)));
    stories.into_iter().filter(|(_, story)| !story.events.is_empty()).collect()
}

/// Tells what both ends of a connection sent, and why, as text; `file` is what to call its capture.
///
/// # Errors
/// Those of `out`.
pub fn write(file: &str, connection: &Connection, out: &mut impl Write) -> io::Result<()> {
    let [first, second] = connection.ends;
    writeln!(out, "{file} #{}: {first} > {second}", connection.number)?;
    let stories = stories(connection);
    if stories.is_empty() {
        writeln!(out, "  no data")?;
    }
    for (direction, story) in &stories {
        let sender = connection.ends[direction.index()];
        let source =
            if story.recorded { "its causes are recorded" } else { "all causes are inferred" };
        writeln!(out, "  {sender} sends; {source}")?;
        writeln!(out, "  {:>13}  {:>15}  {:>23}", "time", "packets", "sequence")?;
        for event in &story.events {
            match event {
                Event::Run(run) => run_as_text(run, out)?,
                Event::Silence(silence) => silence_as_text(silence, out)?,
            }
        }
        let acks: Vec<String> = story
            .acks
            .iter()
            .map(|(class, count)| {
                format!("{count} {}", class.map_or("of unknown cause", |class| class.name()))
            })
            .collect();
        if !acks.is_empty() {
            let inferred = if story.acks_recorded { "" } else { " (inferred)" };
            writeln!(out, "  ACKs that it heard: {}{inferred}", acks.join(", "))?;
        }
    }
    Ok(())
}

fn run_as_text(run: &Run, out: &mut impl Write) -> io::Result<()> {
    let (from, to) = run.frames;
    let packets = if from == to { from.to_string() } else { format!("{from}..{to}") };
    let s = if run.segments == 1 { "" } else { "s" };
    let trigger = run.trigger.map_or_else(String::new, |trigger| format!("; {}", because(trigger)));
    writeln!(
        out,
        "  {:>13}  {packets:>15}  {:>23}  {} segment{s}, {} B: {}{trigger}",
        seconds(run.begin),
        format!("{}..{}", run.seq.0, run.seq.1),
        run.segments,
        run.bytes,
        reason(run.why)
    )
}

fn silence_as_text(silence: &Silence, out: &mut impl Write) -> io::Result<()> {
    let inferred = if silence.inferred { " (inferred)" } else { "" };
    writeln!(
        out,
        "  {:>13}  silence of {}, limited by: {}{inferred}",
        seconds(silence.begin),
        seconds(silence.end.saturating_sub(silence.begin)),
        silence.limiter.name()
    )
}

fn reason(why: Why) -> String {
    match why {
        Why::Recorded(cause) => words(cause).to_owned(),
        Why::Inferred(cause) => format!("{} (inferred)", cause.name()),
        Why::New => "new data".to_owned(),
        Why::Late => "late: out of order, or again for an unknown cause (inferred)".to_owned(),
    }
}

/// What triggered a retransmission: inferred, whatever the sender has recorded.
fn because(trigger: Trigger) -> String {
    match trigger {
        Trigger::Ack { frame, ack, duplicates, sacked } => {
            let duplicates = match duplicates {
                0 => String::new(),
                number => format!(", duplicate {number}"),
            };
            let sacked = sacked.map_or_else(String::new, |up_to| format!(", SACK up to {up_to}"));
            format!("upon packet {frame} (ACK {ack}{duplicates}{sacked})")
        }
        Trigger::Quiet(nanos) => format!("{} after the last ACK", seconds(nanos)),
    }
}

fn seconds(nanos: i64) -> String {
    format!("{:.6} s", nanos as f64 / 1e9)
}

/// The same as JSON; `file` is the capture's path.
#[must_use]
pub fn as_json(file: &str, connection: &Connection) -> Value {
    let directions = stories(connection).into_iter().map(|(direction, story)| {
        let events: Vec<Value> = story.events.iter().map(event_as_json).collect();
        let acks = story.acks.iter().map(|(class, count)| {
            (class.map_or("unknown", |class| class.name()).to_owned(), json!(count))
        });
        json!({
            "sender": connection.ends[direction.index()].to_string(),
            "recorded": story.recorded,
            "events": events,
            "acks_recorded": story.acks_recorded,
            "acks": acks.collect::<serde_json::Map<String, Value>>(),
        })
    });
    json!({
        "file": file,
        "number": connection.number,
        "ends": connection.ends.map(|end| end.to_string()),
        "directions": directions.collect::<Vec<Value>>(),
    })
}

fn event_as_json(event: &Event) -> Value {
    let s = |nanos: i64| nanos as f64 / 1e9;
    match event {
        Event::Run(run) => json!({
            "event": "segments",
            "begin_s": s(run.begin),
            "end_s": s(run.end),
            "packets": [run.frames.0, run.frames.1],
            "segments": run.segments,
            "bytes": run.bytes,
            "sequence": [run.seq.0, run.seq.1],
            "cause": match run.why {
                Why::Recorded(cause) => cause.name(),
                Why::Inferred(cause) => cause.name(),
                Why::New => "new data",
                Why::Late => "late",
            },
            "inferred": !matches!(run.why, Why::Recorded(_)),
            "again": run.again,
            "trigger": run.trigger.map(|trigger| match trigger {
                Trigger::Ack { frame, ack, duplicates, sacked } => json!({
                    "packet": frame, "ack": ack, "duplicates": duplicates, "sacked_to": sacked,
                }),
                Trigger::Quiet(nanos) => json!({ "quiet_s": s(nanos) }),
            }),
        }),
        Event::Silence(silence) => json!({
            "event": "silence",
            "begin_s": s(silence.begin),
            "end_s": s(silence.end),
            "limiter": silence.limiter.name(),
            "inferred": silence.inferred,
        }),
    }
}

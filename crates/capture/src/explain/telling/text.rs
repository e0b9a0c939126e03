//! A story as text: its sums, then what happened in its order.

use super::super::{Event, Run, Shares, Sums, Trigger, Why};
use super::{Told, Totals, tell};
use crate::analysis::{Repeat, Summary};
use crate::connection::Connection;
use crate::recorded::words;
use crate::silence::Silence;
use std::io::{self, Write};

/// Tells what both ends of a connection sent, and why, as text; `file` is what to call its capture.
///
/// # Errors
/// Those of `out`.
pub fn write(file: &str, connection: &Connection, out: &mut impl Write) -> io::Result<()> {
    let [first, second] = connection.ends;
    writeln!(out, "{file} #{}: {first} > {second}", connection.number)?;
    let Told { handshake, left_out, directions } = tell(connection);
    match handshake {
        Some(handshake) => writeln!(out, "  handshake: {}", handshake.words())?,
        None => writeln!(out, "  handshake: not in the capture")?,
    }
    if left_out.0 > 0 {
        writeln!(out, "  left out: {} copies of other packets", left_out.0)?;
    }
    if left_out.1 > 0 {
        writeln!(out, "  left out: {} packets before the SYN that was accepted", left_out.1)?;
    }
    if directions.is_empty() {
        writeln!(out, "  no data")?;
    }
    for (direction, sums, story) in &directions {
        let sender = connection.ends[direction.index()];
        let source =
            if story.recorded { "its causes are recorded" } else { "all causes are inferred" };
        writeln!(out, "  {sender} sends; {source}")?;
        sums_as_text(sums, out)?;
        writeln!(out, "  {:>13}  {:>15}  {:>23}", "time", "packets", "sequence")?;
        for event in &story.events {
            event_as_text(event, out)?;
        }
    }
    Ok(())
}

/// Writes the sums of several connections.
///
/// # Errors
/// Those of `out`.
pub fn write_totals(totals: &Totals, out: &mut impl Write) -> io::Result<()> {
    let Totals { connections, failed: (refused, unanswered), sums } = totals;
    let Summary { packets, bytes, retransmissions, late, undecided, copies, .. } = sums.summary;
    writeln!(out, "all {connections} connections, {packets} packets with {bytes} B")?;
    writeln!(
        out,
        "    {retransmissions} retransmitted, {late} late, {undecided} one of both; {copies} copies left out; {refused} refused, \
         {unanswered} never answered"
    )?;
    sums_as_text(sums, out)
}

/// The sums, a line a subject.
fn sums_as_text(sums: &Sums, out: &mut impl Write) -> io::Result<()> {
    let Sums { summary: sums, shares, waits, causes } = sums;
    let Shares { total, sending } = *shares;
    let share = |time: i64| format!("{:.1} %", time as f64 * 100.0 / total.max(1) as f64);
    let longest = waits.longest;
    let mut waits: Vec<_> = waits.times.iter().collect();
    waits.sort_by_key(|&(_, &(time, _))| std::cmp::Reverse(time));
    write!(out, "    of {}: sending {}", seconds(total), share(sending))?;
    for (said, &(time, _)) in waits {
        write!(out, "; {} {}", said.name(), share(time))?;
    }
    if longest > 0 {
        write!(out, "; longest wait {}", seconds(longest))?;
    }
    writeln!(out)?;
    let causes = causes.iter().map(|(&why, count)| format!("{count} {}", reason(why)));
    writeln!(out, "    segments: {}", causes.collect::<Vec<_>>().join("; "))?;
    let trips = &sums.round_trips;
    if let (Some(min), Some(mean), Some(max)) = (trips.min, trips.mean(), trips.max) {
        let ms = |nanos: i64| format!("{:.3}", nanos as f64 / 1e6);
        let [min, mean, max] = [min, mean, max].map(ms);
        let samples = number(trips.samples, "sample");
        writeln!(out, "    round trips: {min} / {mean} / {max} ms (min/mean/max of {samples})")?;
    }
    let mut heard: Vec<String> = vec![number(sums.duplicate_acks, "duplicate ACK")];
    heard.push(format!("{} with SACK", number(sums.sacks.0, "segment")));
    heard.push(number(sums.sacks.1, "DSACK"));
    heard.push(number(sums.zero_windows, "zero window"));
    if let Some(bytes) = sums.initial_window {
        heard.push(format!("initial window {bytes} B"));
    }
    if let Some(nanos) = sums.first_answer {
        heard.push(format!("first byte {} after the other end's data", seconds(nanos)));
    }
    let [ce, ece, cwr] = sums.ecn;
    if ce + ece + cwr > 0 {
        heard.push(format!("ECN: {ce} CE, {ece} ECE, {cwr} CWR"));
    }
    writeln!(out, "    {}", heard.join("; "))
}

fn number(count: u64, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}

fn event_as_text(event: &Event, out: &mut impl Write) -> io::Result<()> {
    match event {
        Event::Run(run) => run_as_text(run, out),
        Event::Silence(silence) => silence_as_text(silence, out),
        Event::Missing { at, packet, bytes } => {
            let at = seconds(*at);
            writeln!(out, "  {at:>13}  {bytes} B are not in the capture: packet {packet} is beyond")
        }
        Event::Reduced { at, packet, echo } => {
            let echo =
                echo.map_or_else(String::new, |echo| format!(", as ECE came (packet {echo})"));
            let at = seconds(*at);
            writeln!(out, "  {at:>13}  packet {packet} says that cwnd is reduced (CWR){echo}")
        }
    }
}

fn run_as_text(run: &Run, out: &mut impl Write) -> io::Result<()> {
    let (from, to) = run.frames;
    let packets = if from == to { from.to_string() } else { format!("{from}..{to}") };
    let trigger = run.trigger.map_or_else(String::new, |trigger| format!("; {}", because(trigger)));
    let proof = match (run.why, run.repeat) {
        (Why::Recorded(_), _) | (_, Repeat::New | Repeat::Undecided) => String::new(),
        (_, Repeat::Retransmitted(proof) | Repeat::Late(proof)) => format!("; {}", proof.name()),
    };
    writeln!(
        out,
        "  {:>13}  {packets:>15}  {:>23}  {}, {} B: {}{trigger}{proof}",
        seconds(run.begin),
        format!("{}..{}", run.seq.0, run.seq.1),
        number(run.segments, "segment"),
        run.bytes,
        reason(run.why)
    )
}

fn silence_as_text(silence: &Silence, out: &mut impl Write) -> io::Result<()> {
    let shown = match silence.basis {
        crate::Basis::Recorded(_) => String::new(),
        crate::Basis::Inferred(evidence) => match evidence.words() {
            words if words.is_empty() => String::new(),
            words => format!(" (inferred: {words})"),
        },
    };
    writeln!(
        out,
        "  {:>13}  silence of {}, limited by: {}{shown}",
        seconds(silence.begin),
        seconds(silence.duration()),
        silence.said().name()
    )
}

fn reason(why: Why) -> String {
    match why {
        Why::Recorded(cause) => words(cause).to_owned(),
        Why::Inferred(cause) => format!("retransmitted; {} (inferred)", cause.name()),
        Why::Untold(reason) => format!("retransmitted; why is unknown ({})", reason.name()),
        Why::New => "new data".to_owned(),
        Why::Late => "late: overtaken on its way (inferred)".to_owned(),
        Why::Undecided => "late or retransmitted: nothing tells which".to_owned(),
        Why::WindowProbe => "probe of a closed window (inferred)".to_owned(),
        Why::KeepAlive => "keep-alive (inferred)".to_owned(),
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
        Trigger::Quiet { nanos, acked: true } => format!("{} after the last ACK", seconds(nanos)),
        Trigger::Quiet { nanos, acked: false } => {
            format!("{} after its last segment, no ACK was seen", seconds(nanos))
        }
    }
}

fn seconds(nanos: i64) -> String {
    format!("{:.6} s", nanos as f64 / 1e9)
}

//! Segments and recorded series as CSV (RFC 4180). Each segment is a row, and so is each value of a
//! series. Names of columns have their units.

use crate::analysis::{Analysis, Cause, Fact, Mark};
use crate::class::{Class, ClassKind};
use crate::connection::{Connection, Flags, Segment, Standing};
use crate::direction::Direction;
use crate::series::{Quantity, Recorded};
use std::fmt::Write as _;
use std::io::{self, Write};

/// Each column, and what is in it. Cells are empty where nothing is known.
pub const COLUMNS: [(&str, &str); 20] = [
    ("file", "the capture"),
    ("connection", "its number in the capture"),
    ("direction", "`forward`: sent by the first end; `backward`: by the second; empty for queues"),
    ("frame", "the packet's number in the capture"),
    ("time_s", "since the connection's first segment"),
    ("unix_time_ns", "since 1970"),
    (
        "kind",
        "`syn`, `fin`, `rst`; `data`, `retransmission`, `late` (out of order), `undecided` (one of both), `probe`; `ack`; `copy` of another packet, `earlier` than the SYN that was accepted; or the name of a recorded quantity",
    ),
    ("sequence_bytes", "the place of its first byte in the stream; that of the SYN is 0"),
    ("length_bytes", "its data"),
    ("acknowledged_bytes", "up to which place of the peer's stream it acknowledges"),
    ("window_bytes", "the window that it announces, scaled"),
    ("outstanding_bytes", "what its sender had outstanding after it"),
    ("peer_outstanding_bytes", "what the peer had outstanding after it"),
    ("round_trip_s", "the round-trip time that it measures as an ACK"),
    ("sacked_bytes", "the places that it sacks, such as `1449-2897`, separated by spaces"),
    ("marks", "as Wireshark has them, separated by spaces"),
    ("cause", "of data: why it was sent; of an ACK: why it was"),
    ("cause_by", "`recorded` by its sender, or `inferred`"),
    ("value", "of a recorded quantity"),
    ("unit", "of the value: `B`, `s`, `bit/s` or `packets`"),
];

/// Writes the line of names.
///
/// # Errors
/// Of `out`.
pub fn write_header(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", COLUMNS.map(|(name, _)| name).join(","))
}

/// Writes the rows of a connection, and of what else was recorded of it.
///
/// # Errors
/// Of `out`.
pub fn write(
    file: &str,
    connection: &Connection,
    analysis: &Analysis,
    series: &[Recorded],
    out: &mut impl Write,
) -> io::Result<()> {
    let file = quoted(file);
    let first = connection.segments.first().map_or(0, |segment| segment.at);
    for (index, (segment, fact)) in connection.segments.iter().zip(&analysis.facts).enumerate() {
        let own = segment.direction.index();
        if !segment.counts() {
            let (way, time) = (name(segment.direction), segment.at.saturating_sub(first));
            write!(out, "{file},{},{way},{},", connection.number, segment.frame)?;
            let kind = kind(segment, fact);
            writeln!(out, "{},{},{kind},,{},,,,,,,,,,,", Seconds(time), segment.at, segment.len)?;
            continue;
        }
        let (cause, by) = cause(segment, fact);
        writeln!(
            out,
            "{file},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{cause},{by},,",
            connection.number,
            name(segment.direction),
            segment.frame,
            Seconds(segment.at.saturating_sub(first)),
            segment.at,
            kind(segment, fact),
            fact.seq,
            segment.len,
            cell(fact.ack),
            cell(fact.window),
            fact.outstanding[own],
            fact.outstanding[1 - own],
            cell(fact.round_trip.map(Seconds)),
            sacked(analysis.sacks_of(index)),
            fact.marks.iter().map(Mark::name).collect::<Vec<_>>().join(" "),
        )?;
    }
    for one in connection.series.iter().chain(series) {
        let (label, unit) = (quoted(&one.name), one.quantity.unit());
        let end = one.end.map(name).unwrap_or_default();
        for &(at, value) in &one.values {
            let time = Seconds(at.saturating_sub(first));
            write!(out, "{file},{},{end},,{time},{at},{label},,,,,,,,,,,,", connection.number)?;
            match one.quantity {
                Quantity::SmoothedRtt | Quantity::Rto => writeln!(out, "{},{unit}", Seconds(value)),
                _ => writeln!(out, "{value},{unit}"),
            }?;
        }
    }
    Ok(())
}

fn name(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "forward",
        Direction::Backward => "backward",
    }
}

fn kind(segment: &Segment, fact: &Fact) -> &'static str {
    match segment.standing {
        Standing::Copy => return "copy",
        Standing::Earlier => return "earlier",
        Standing::Counts => {}
    }
    let controls = [(Flags::SYN, "syn"), (Flags::RST, "rst")];
    if let Some((_, name)) = controls.into_iter().find(|&(flag, _)| segment.flags.has(flag)) {
        return name;
    }
    match Class::of(segment, fact) {
        Some(Class::Probe) => "probe",
        Some(Class::Late) => "late",
        Some(Class::Undecided) => "undecided",
        Some(class) if segment.len > 0 && class.kind() == ClassKind::Again => "retransmission",
        _ if segment.len > 0 => "data",
        _ if segment.flags.has(Flags::FIN) => "fin",
        _ => "ack",
    }
}

/// Why it was sent, and how that is known.
fn cause(segment: &Segment, fact: &Fact) -> (&'static str, &'static str) {
    if let Some(cause) = segment.recorded {
        return (cause.name(), "recorded");
    }
    let inferred = fact.cause.map(Cause::name);
    inferred.map_or(("", ""), |cause| (cause, "inferred"))
}

fn sacked(blocks: &[(i64, i64)]) -> String {
    let mut text = String::new();
    for (left, right) in blocks {
        let space = if text.is_empty() { "" } else { " " };
        // Writing into a string does not fail.
        let _ = write!(text, "{space}{left}-{right}");
    }
    text
}

fn cell(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// A cell of anybody's text.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}

/// Nanoseconds, written as seconds.
struct Seconds(i64);

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (sign, nanos) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        write!(f, "{sign}{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{File, ack, data};

    /// Each row's cells.
    fn rows(file: &str, connection: &Connection, series: &[Recorded]) -> Vec<Vec<String>> {
        let mut out = Vec::new();
        write_header(&mut out).unwrap();
        write(file, connection, &crate::analyse(connection), series, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
    }

    #[test]
    fn each_segment_and_each_recorded_value_is_a_row() {
        let mut file = File::opened();
        file.at(21.0, &data(101, 1000));
        file.at(22.0, &data(1101, 1000));
        file.at(42.0, &ack(101, &[(1101, 2101)]));
        file.at(250.0, &data(101, 1000));
        let series = Recorded {
            quantity: Quantity::Rto,
            name: "rto".to_owned(),
            end: Some(Direction::Forward),
            values: vec![(30_000_000, 200_000_000)],
        };
        let rows = rows("a.pcap", &file.connection(), &[series]);
        assert_eq!(rows.len(), 1 + 7 + 1);
        assert!(rows.iter().all(|row| row.len() == COLUMNS.len()), "{rows:?}");
        let column = |name: &str| COLUMNS.iter().position(|(column, _)| *column == name).unwrap();
        let cell = |row: usize, name: &str| &*rows[row][column(name)];
        let kinds: Vec<&str> = (1..9).map(|row| cell(row, "kind")).collect();
        let expected = ["syn", "syn", "ack", "data", "data", "ack", "retransmission", "rto"];
        assert_eq!(kinds, expected);
        assert_eq!((cell(4, "time_s"), cell(4, "unix_time_ns")), ("0.021000000", "21000000"));
        assert_eq!((cell(4, "sequence_bytes"), cell(4, "length_bytes")), ("1", "1000"));
        assert_eq!((cell(6, "acknowledged_bytes"), cell(6, "sacked_bytes")), ("1", "1001-2001"));
        assert_eq!((cell(5, "outstanding_bytes"), cell(6, "direction")), ("2000", "backward"));
        assert_eq!((cell(2, "round_trip_s"), cell(7, "cause_by")), ("0.020000000", "inferred"));
        assert_eq!((cell(8, "value"), cell(8, "unit")), ("0.200000000", "s"));
    }

    #[test]
    fn a_name_cannot_break_a_row() {
        assert_eq!(quoted("a,\"b\".pcap"), "\"a,\"\"b\"\".pcap\"");
        assert_eq!(Seconds(-1_500_000_000).to_string(), "-1.500000000");
    }
}

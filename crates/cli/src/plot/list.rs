//! The connections of captures, as a table or as JSON.

use bentpipe_capture::{Direction, Flags, analyse};
use bentpipe_lab::captures::{Chosen, Opened};
use bentpipe_terminal::table::{Align, Table};
use serde::Serialize;
use std::io::{self, Write};
use std::time::{Duration, UNIX_EPOCH};

/// One connection. Pairs are what the first end sent, and what the second did.
#[derive(Serialize)]
struct Row {
    file: String,
    connection: usize,
    ends: [String; 2],
    /// In a simulation's capture.
    flow: Option<String>,
    /// In a gateway's recording.
    leg: Option<String>,
    packets: [u64; 2],
    bytes: [u64; 2],
    retransmissions: [u64; 2],
    retransmitted_bytes: [u64; 2],
    /// In UTC, where the capture has a time.
    start: Option<String>,
    /// Since the file's first packet.
    start_s: f64,
    duration_s: f64,
    /// From each end's data to its acknowledgments, as seen where it was captured.
    min_round_trip_s: [Option<f64>; 2],
    syn: bool,
    fin: bool,
    rst: bool,
    #[serde(skip)]
    label: Option<String>,
}

fn row(files: &[Opened], chosen: Chosen) -> Row {
    let connection = chosen.of(files);
    let (begin, capture) = (connection.span().0, &files[chosen.file].capture);
    let start = begin.saturating_sub(capture.first.unwrap_or(begin));
    let analysis = analyse(connection);
    let sums = Direction::BOTH.map(|direction| analysis.summary(connection, direction));
    let any = |flag| connection.segments.iter().any(|segment| segment.flags.has(flag));
    Row {
        file: files[chosen.file].path.display().to_string(),
        connection: connection.number,
        ends: connection.ends.map(|end| end.to_string()),
        flow: connection.flow().map(str::to_owned),
        leg: connection.leg.clone(),
        packets: sums.map(|s| s.packets),
        bytes: sums.map(|s| s.bytes),
        retransmissions: sums.map(|s| s.retransmissions),
        retransmitted_bytes: sums.map(|s| s.retransmitted_bytes),
        start: utc(begin),
        start_s: start as f64 / 1e9,
        duration_s: connection.duration() as f64 / 1e9,
        min_round_trip_s: sums.map(|s| s.round_trips.min.map(|nanos| nanos as f64 / 1e9)),
        syn: any(Flags::SYN),
        fin: any(Flags::FIN),
        rst: any(Flags::RST),
        label: connection.label(),
    }
}

/// A time as RFC 3339 has it.
fn utc(nanos: i64) -> Option<String> {
    let since = Duration::from_nanos(u64::try_from(nanos).ok()?);
    Some(humantime::format_rfc3339_nanos(UNIX_EPOCH + since).to_string())
}

/// Lists those that are chosen.
pub(super) fn write(
    files: &[Opened],
    chosen: &[Chosen],
    json: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let rows = chosen.iter().map(|&chosen| row(files, chosen));
    if json {
        let rows: Vec<Row> = rows.collect();
        serde_json::to_writer_pretty(&mut *out, &rows)?;
        return writeln!(out);
    }
    let rows: Vec<Row> = rows.collect();
    for of_file in rows.chunk_by(|a, b| a.file == b.file) {
        if files.len() > 1 {
            writeln!(out, "{}", of_file[0].file)?;
        }
        write!(out, "{}", table(of_file))?;
    }
    Ok(())
}

/// The connections of one file.
fn table(rows: &[Row]) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new([Right, Left, Right, Right, Right, Right, Right, Left]);
    table.row(["number", "ends", "packets", "bytes", "start", "duration", "retransmitted"]);
    let pair = |pair: [u64; 2]| format!("{} + {}", pair[0], pair[1]);
    for row in rows {
        table.row([
            row.connection.to_string(),
            row.ends.join(" > "),
            pair(row.packets),
            pair(row.bytes),
            format!("{:.2} s", row.start_s),
            format!("{:.2} s", row.duration_s),
            pair(row.retransmissions),
            row.label.clone().unwrap_or_default(),
        ]);
    }
    table
}

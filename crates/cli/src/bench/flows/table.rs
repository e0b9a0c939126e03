//! The table for people: one for each rate, and one of new connections.

use bentpipe_bench::flows::{Direction, Row, Spread};
use bentpipe_core::units::Rate;
use bentpipe_terminal::table::{Align, Table};
use std::io::{self, Write};

/// A column: its heading, and its cell in a row.
pub(super) type Shown = (&'static str, fn(&Row) -> String);

const TRANSFERS: [Shown; 13] = [
    ("goodput", |row| row.goodput_bps.map_or_else(String::new, |bps| goodput(bps.median))),
    ("of kernel", |row| figure(row.of_kernel, 2)),
    ("of 1 flow", |row| figure(row.of_one_flow, 2)),
    ("CPU s/GB", |row| figure(row.cpu_s_per_gb, 2)),
    ("of 1 flow's", |row| figure(row.cpu_of_one_flow, 2)),
    ("own s/GB", |row| figure(row.process_s_per_gb, 2)),
    ("CPUs", |row| figure(row.processors, 2)),
    ("Jain", |row| figure(row.jain, 3)),
    ("ping ms", |row| figure(row.ping_p50_ms, 2)),
    ("99 %", |row| figure(row.ping_p99_ms, 2)),
    ("request ms", |row| figure(row.request_p50_ms, 2)),
    ("99 %", |row| figure(row.request_p99_ms, 2)),
    ("broken", |row| count(row.failed)),
];

const EXCHANGES: [Shown; 10] = [
    ("per s", |row| figure(row.connections_per_s, 0)),
    ("of kernel", |row| figure(row.of_kernel, 2)),
    ("CPU ms each", |row| figure(row.cpu_ms_per_connection, 3)),
    ("own ms each", |row| figure(row.process_ms_per_connection, 3)),
    ("CPUs", |row| figure(row.processors, 2)),
    ("ping ms", |row| figure(row.ping_p50_ms, 2)),
    ("99 %", |row| figure(row.ping_p99_ms, 2)),
    ("request ms", |row| figure(row.request_p50_ms, 2)),
    ("99 %", |row| figure(row.request_p99_ms, 2)),
    ("failed", |row| count(row.failed)),
];

/// The way of the data in words.
pub(super) fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Down => "server to client",
        Direction::Up => "client to server",
        Direction::Both => "both ways at once",
    }
}

/// Prints all tables.
pub(super) fn print(out: &mut impl Write, rows: &[Row], idle: u32) -> io::Result<()> {
    if idle > 0 {
        writeln!(out, "{idle} more connections are open and carry nothing")?;
    }
    let mut rates: Vec<Option<u64>> = Vec::new();
    for row in rows.iter().filter(|row| row.flows.is_some()) {
        if !rates.contains(&row.rate_bps) {
            rates.push(row.rate_bps);
        }
    }
    for rate in rates {
        match rate {
            None => writeln!(out, "\nAs fast as possible:")?,
            Some(bits) => writeln!(out, "\n{} in all:", Rate::from_bits_per_sec(bits))?,
        }
        let of = |row: &&Row| row.flows.is_some() && row.rate_bps == rate;
        one(out, &rows.iter().filter(of).collect::<Vec<_>>(), Some("flows"), &TRANSFERS)?;
    }
    let exchanges: Vec<&Row> = rows.iter().filter(|row| row.flows.is_none()).collect();
    if !exchanges.is_empty() {
        writeln!(out, "\nNew connections:")?;
        one(out, &exchanges, None, &EXCHANGES)?;
    }
    let unanswered: f64 = rows.iter().map(|row| row.unanswered).sum();
    if unanswered > 0.0 {
        writeln!(out, "{unanswered} pings or requests were not answered")?;
    }
    Ok(())
}

/// Prints one table, without the columns that no row has.
pub(super) fn one(
    out: &mut impl Write,
    rows: &[&Row],
    first: Option<&str>,
    shown: &[Shown],
) -> io::Result<()> {
    let mut columns: Vec<(&str, Vec<String>)> = shown
        .iter()
        .map(|(heading, cell)| (*heading, rows.iter().map(|row| cell(row)).collect()))
        .collect();
    columns.retain(|(_, cells)| cells.iter().any(|cell| !cell.is_empty()));
    let through = rows.iter().map(|row| row.through.clone()).collect();
    columns.insert(0, ("through", through));
    if let Some(heading) = first {
        // Only where it begins: rows of the same number of flows are one group.
        let begins = |at: usize| at == 0 || rows[at].flows != rows[at - 1].flows;
        let flows = |at: usize| {
            let number = rows[at].flows.filter(|_| begins(at));
            number.map_or_else(String::new, |flows| flows.to_string())
        };
        columns.insert(0, (heading, (0..rows.len()).map(flows).collect()));
    }
    let left = |column: usize| columns[column].0 == "through";
    let align = |column| if left(column) { Align::Left } else { Align::Right };
    let mut table = Table::new((0..columns.len()).map(align)).indented(2);
    table.row(columns.iter().map(|(heading, _)| *heading));
    for row in 0..rows.len() {
        table.row(columns.iter().map(|(_, cells)| cells[row].as_str()));
    }
    write!(out, "{table}")
}

fn figure(spread: Option<Spread>, digits: usize) -> String {
    spread.map_or_else(String::new, |spread| format!("{:.digits$}", spread.median))
}

fn count(number: f64) -> String {
    if number > 0.0 { format!("{number:.0}") } else { String::new() }
}

fn goodput(bps: f64) -> String {
    match bps {
        bps if bps >= 2e9 => format!("{:.2} Gbit/s", bps / 1e9),
        bps => format!("{:.1} Mbit/s", bps / 1e6),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn row(through: &str, flows: usize, bps: f64) -> Row {
        let spread = |median| Some(Spread { median, min: median, max: median });
        Row {
            through: through.to_owned(),
            flows: Some(flows),
            rate_bps: None,
            goodput_bps: spread(bps),
            connections_per_s: None,
            of_kernel: (through != "kernel").then(|| spread(0.5)).flatten(),
            of_one_flow: None,
            cpu_s_per_gb: spread(0.25),
            cpu_of_one_flow: None,
            machine_s_per_gb: spread(0.3),
            process_s_per_gb: None,
            cpu_ms_per_connection: None,
            process_ms_per_connection: None,
            processors: None,
            jain: None,
            ping_p50_ms: None,
            ping_p99_ms: None,
            request_p50_ms: None,
            request_p99_ms: None,
            unanswered: 0.0,
            failed: 0.0,
            work: Default::default(),
        }
    }

    #[test]
    fn a_number_of_flows_stands_once_and_empty_columns_are_left_out() {
        let rows = [row("kernel", 1, 4e10), row("gateway", 1, 2e10), row("kernel", 4, 9e8)];
        let mut out = Vec::new();
        print(&mut out, &rows, 0).unwrap();
        let text = "\nAs fast as possible:\n  \
            flows  through       goodput  of kernel  CPU s/GB\n      \
                1  kernel   40.00 Gbit/s                 0.25\n         \
                   gateway  20.00 Gbit/s       0.50      0.25\n      \
                4  kernel   900.0 Mbit/s                 0.25\n";
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }

    #[test]
    fn rates_and_connections_have_tables_of_their_own() {
        let slow = Row { rate_bps: Some(8_000_000), ..row("gateway", 1, 8e6) };
        let connections = Row { flows: None, goodput_bps: None, ..row("gateway", 1, 0.0) };
        let mut out = Vec::new();
        print(&mut out, &[row("gateway", 1, 1e9), slow, connections], 5).unwrap();
        let text = String::from_utf8(out).unwrap();
        let headings: Vec<&str> = text.lines().filter(|line| line.ends_with(':')).collect();
        assert_eq!(headings, ["As fast as possible:", "8Mbit/s in all:", "New connections:"]);
        assert!(text.starts_with("5 more connections are open"), "{text}");
    }
}

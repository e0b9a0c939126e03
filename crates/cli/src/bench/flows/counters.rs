//! The table of gateways' counters, as far as their status has them.

use super::table::{self, Shown};
use bentpipe_bench::flows::{Counter, Row};
use std::io::{self, Write};

const COLUMNS: [Shown; 7] = [
    ("bytes a read", |row| quotient(row, "read_bytes", "reads")),
    ("bytes a write", |row| quotient(row, "written_bytes", "writes")),
    ("bare ACKs/MB", |row| per_mb(row, |name| name == "bare_acks")),
    ("waits/MB", |row| per_mb(row, |name| name == "waits")),
    ("system calls/MB", |row| per_mb(row, |name| name == "system_calls")),
    ("page faults/MB", |row| per_mb(row, |name| name.ends_with("_faults"))),
    ("switches/MB", |row| per_mb(row, |name| name == "context_switches")),
];

/// Prints it.
pub(super) fn print(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let counted = |row: &&Row| row.flows.is_some() && !row.work.is_empty();
    let rows: Vec<&Row> = rows.iter().filter(counted).collect();
    if rows.is_empty() {
        return writeln!(out, "\nThe gateways' status has no counters.");
    }
    writeln!(out, "\nCounters of the gateways:")?;
    table::one(out, &rows, Some("flows"), &COLUMNS)
}

/// The sum of the counters whose last name fits, of all devices, for a megabyte.
fn sum(row: &Row, fits: impl Fn(&str) -> bool) -> Option<f64> {
    let mut fitting = row.work.iter().filter(|(name, _)| fits(last(name))).peekable();
    fitting.peek()?;
    Some(fitting.filter_map(|(_, counter)| counter.per_mb).sum())
}

/// The last of a counter's names: `reads` of `lan.reads`.
fn last(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, last)| last)
}

/// The quotient of two counters of the device with most bytes: of the other one come ACKs.
fn quotient(row: &Row, dividend: &str, divisor: &str) -> String {
    let fitting = row.work.iter().filter(|(name, _)| last(name) == dividend);
    let most = fitting.max_by(|(_, one), (_, other)| one.per_s.total_cmp(&other.per_s));
    let Some((name, Counter { per_s: bytes, .. })) = most else { return String::new() };
    let calls = row.work.get(&name.replace(dividend, divisor)).map_or(0.0, |calls| calls.per_s);
    if calls > 0.0 { format!("{:.0}", bytes / calls) } else { String::new() }
}

fn per_mb(row: &Row, fits: impl Fn(&str) -> bool) -> String {
    sum(row, fits).map_or_else(String::new, |per_mb| format!("{per_mb:.1}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_summed_and_what_is_not_counted_is_left_out() {
        let mut row = table::tests::row("gateway", 1, 1e9);
        let counters = [
            ("lan.reads", 10.0),
            ("lan.read_bytes", 300.0),
            ("satellite.reads", 10.0),
            ("satellite.read_bytes", 100.0),
            ("minor_faults", 7.0),
            ("major_faults", 1.0),
        ];
        for (name, per_s) in counters {
            row.work.insert(name.to_owned(), Counter { per_s, per_mb: Some(per_s / 2.0) });
        }
        let mut out = Vec::new();
        print(&mut out, &[row, table::tests::row("kernel", 1, 1e9)]).unwrap();
        let text = "\nCounters of the gateways:\n  \
            flows  through  bytes a read  page faults/MB\n      \
                1  gateway            30             4.0\n";
        assert_eq!(String::from_utf8(out).unwrap(), text);
        let mut out = Vec::new();
        print(&mut out, &[table::tests::row("kernel", 1, 1e9)]).unwrap();
        assert!(String::from_utf8(out).unwrap().contains("no counters"));
    }
}

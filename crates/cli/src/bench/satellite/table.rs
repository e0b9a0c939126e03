//! The table for people.

use bentpipe_bench::satellite::row::Row;
use bentpipe_terminal::table::{Align, Table};
use std::io::{self, Write};

/// A column: its heading, and its cell in a row.
type Shown = (&'static str, fn(&Row) -> String);

const COLUMNS: [Shown; 17] = [
    ("case", |row| row.case.clone()),
    ("limit s", |row| seconds(row, "", row.limit_s)),
    ("end to end", |row| seconds(row, "end_to_end_s", row.end_to_end_s)),
    ("with BBR", |row| seconds(row, "end_to_end_bbr_s", row.end_to_end_bbr_s)),
    ("known", |row| seconds(row, "known_s", row.known_s)),
    ("server told", |row| seconds(row, "server_told_s", row.server_told_s)),
    ("client told", |row| seconds(row, "client_told_s", row.client_told_s)),
    ("estimated", |row| seconds(row, "estimated_s", row.estimated_s)),
    ("PEPsal", |row| seconds(row, "pepsal_s", row.pepsal_s)),
    ("ratio (bound)", |row| match (row.ratio, row.ratio_bound) {
        (Some(ratio), Some(bound)) => format!("{ratio:.2} ({bound:.2})"),
        _ => String::new(),
    }),
    ("goodput", |row| {
        let bbr = percent(row.goodput_share_next_to_bbr);
        let bbr = if bbr.is_empty() { bbr } else { format!(" (next to BBR {bbr})") };
        percent(row.goodput_share) + &bbr
    }),
    ("utilisation", |row| percent(row.utilisation)),
    ("Jain", |row| row.jain.map_or_else(String::new, |jain| format!("{jain:.3}"))),
    ("drops", |row| row.drops.map_or_else(String::new, |drops| format!("{drops:.0}"))),
    ("queueing ms", |row| {
        let ms = |ms: Option<f64>| ms.map(|ms| format!("{ms:.0}"));
        let alone = ms(row.queueing_alone_p95_ms).map(|alone| format!(" (alone {alone})"));
        ms(row.queueing_p95_ms).unwrap_or_default() + &alone.unwrap_or_default()
    }),
    ("replies ms", |row| {
        let others = [("alone", row.reply_alone_p99_ms), ("BBR", row.reply_next_to_bbr_p99_ms)];
        let others = others.into_iter().filter_map(|(what, ms)| Some(format!("{what} {:.0}", ms?)));
        let others = others.collect::<Vec<_>>().join(", ");
        match row.reply_p99_ms {
            Some(ms) if others.is_empty() => format!("{ms:.0}"),
            Some(ms) => format!("{ms:.0} ({others})"),
            None => String::new(),
        }
    }),
    ("retransmitted", |row| percent(row.retransmitted_share)),
];

/// Prints it, if there is anything. Columns that no row has are left out.
pub(super) fn print(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut columns: Vec<(&str, Vec<String>)> =
        COLUMNS.iter().map(|(heading, cell)| (*heading, rows.iter().map(cell).collect())).collect();
    columns.retain(|(_, cells)| cells.iter().any(|cell| !cell.is_empty()));
    let met = |row: &Row| match (row.met, &row.target) {
        (Some(true), Some(target)) => format!("yes  {target}"),
        (Some(false), Some(target)) => format!("NO   {target}"),
        _ => String::new(),
    };
    columns.push(("met  target", rows.iter().map(met).collect()));
    let last = columns.len() - 1;
    // Texts to the left, numbers to the right.
    let aligned = |column| if column == 0 || column == last { Align::Left } else { Align::Right };
    let mut table = Table::new((0..=last).map(aligned));
    table.row(columns.iter().map(|(heading, _)| *heading));
    for row in 0..rows.len() {
        table.row(columns.iter().map(|(_, cells)| cells[row].as_str()));
    }
    write!(out, "{table}")?;
    notes(out, rows)
}

fn notes(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    if rows.iter().any(|row| !row.unfinished.is_empty()) {
        writeln!(out, "> some transfers were not complete when their run ended")?;
    }
    for row in rows {
        if let Some(late) = row.late_share {
            let late = 100.0 * late;
            writeln!(
                out,
                "{}: {late:.1} % of a link's packets were late: the machine was busy",
                row.case
            )?;
        }
    }
    let told = rows.iter().filter(|row| row.met.is_some()).count();
    let met = rows.iter().filter(|row| row.met == Some(true)).count();
    writeln!(out, "{met} of {told} targets met")
}

fn seconds(row: &Row, column: &str, seconds: Option<f64>) -> String {
    let sign = if row.unfinished.contains_key(column) { ">" } else { "" };
    seconds.map_or_else(String::new, |seconds| match seconds {
        s if s < 100.0 => format!("{sign}{s:.2}"),
        s => format!("{sign}{s:.1}"),
    })
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(String::new, |share| format!("{:.1} %", 100.0 * share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_without_a_cell_are_left_out_and_unfinished_means_are_marked() {
        let row = Row {
            case: "10 MB".to_owned(),
            limit_s: Some(11.361),
            end_to_end_s: Some(3600.0),
            unfinished: [("end_to_end_s", 1.0)].into(),
            target: Some("known ≤ 1.05 × limit".to_owned()),
            met: Some(false),
            ..Row::default()
        };
        let mut out = Vec::new();
        print(&mut out, &[row]).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "case   limit s  end to end  met  target");
        assert_eq!(lines[1], "10 MB    11.36     >3600.0  NO   known ≤ 1.05 × limit");
        assert_eq!(lines[3], "0 of 1 targets met");
    }
}

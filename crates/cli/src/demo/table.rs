//! The results as a table.

use std::fmt::Write as _;

use bentpipe_bench::demo::lossy::Lossy;
use bentpipe_bench::demo::report::{Report, size};

/// A table for the terminal.
pub(super) fn of(report: &Report) -> String {
    let mut table = format!(
        "{:>8}{:>14}{:>12}{:>10}{:>10}   {}\n",
        "file", "end to end", "gateways", "limit", "faster", "bytes"
    );
    for row in &report.rows {
        let (gateways, faster) = match row.gateways_s {
            Some(s) => (format!("{s:.2} s"), format!("{:.1}x", row.end_to_end_s / s)),
            None => ("-".into(), "-".into()),
        };
        let (file, direct) = (size(row.bytes), format!("{:.2} s", row.end_to_end_s));
        let limit = format!("{:.2} s", row.limit_s);
        _ = writeln!(table, "{file:>8}{direct:>14}{gateways:>12}{limit:>10}{faster:>10}   same");
    }
    table + "\n" + &of_lossy(&report.lossy)
}

/// The same of the downloads with losses.
fn of_lossy(lossy: &Lossy) -> String {
    let mut table = format!(
        "{} where {} % of the packets are lost, each way\n",
        size(lossy.bytes),
        100.0 * lossy.loss
    );
    for transfer in &lossy.transfers {
        let name = transfer.variant.name();
        _ = match (transfer.seconds, transfer.stopped_s) {
            (Some(seconds), _) => writeln!(table, "{name:>30}{seconds:>10.2} s   same"),
            (None, Some(seconds)) => {
                let came = size(transfer.received_bytes / 100_000 * 100_000);
                writeln!(
                    table,
                    "{name:>30}{:>12}   stopped: {came} came",
                    format!("> {seconds:.0} s")
                )
            }
            (None, None) => writeln!(table, "{name:>30}{:>12}   broken", "-"),
        };
    }
    _ = writeln!(table, "{:>30}{:>10.2} s", "limit", lossy.limit_s);
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_bench::demo::lossy::{Transfer, Variant};

    fn transfer(variant: Variant, seconds: Option<f64>) -> Transfer {
        let stopped_s = if seconds.is_none() { Some(60.0) } else { None };
        Transfer { variant, seconds, stopped_s, received_bytes: 4_230_000, hash_matches: true }
    }

    fn lossy() -> Lossy {
        let transfers =
            vec![transfer(Variant::EndToEnd, None), transfer(Variant::Known, Some(11.9))];
        Lossy { bytes: 10_000_000, loss: 0.01, limit_s: 11.83, transfers }
    }

    #[test]
    fn what_was_stopped_says_how_far_it_had_come() {
        let table = of_lossy(&lossy());
        let line = |part: &str| table.lines().find(|line| line.contains(part)).unwrap();
        assert!(line("CUBIC").contains("> 60 s") && line("CUBIC").contains("4.2 MB"), "{table}");
        assert!(line("rate configured").contains("11.90 s   same"), "{table}");
        assert!(line("limit").contains("11.8"), "{table}");
        assert!(!table.contains("BBR"), "{table}");
    }
}

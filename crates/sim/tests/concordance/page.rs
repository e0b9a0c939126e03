//! The page.

use super::study::Study;
use std::fmt::Write;

const HEAD: &str = "\
# Compared with ns-2

*Do whole runs give what ns-2 gives, and where not, why?* The same scenarios were run by this simulator and by ns-2.35, Debian's,
set up as each study says. The simulator of ns counts packets and no bytes. Ours have headers of 40 bytes, so that a packet of
1000 bytes carries 960; throughputs are given in whole packets. Errors of ns are not imitated. If a figure differs by more than
10 %, the reason stands below it, with the side that follows the RFC. Of figures over several seeds that holds if they also differ
by more than the standard deviation of ns.

Two studies are tests of their own, with the numbers and the reasons in them: the four-packet start
(`crates/sim/tests/four_packet.rs`: every printed value) and the buffers of slow start
(`crates/sim/tests/buffer_study.rs` and its table).

This page is written by `BENTPIPE_BLESS=1 cargo test -p bentpipe-sim --test runs concordance`; the numbers of ns, and the
scenarios, are in `crates/sim/tests/concordance`.
";

pub(crate) fn write(studies: &[Study], results: &[Vec<Vec<f64>>]) -> String {
    let mut out = HEAD.to_owned();
    for (study, results) in studies.iter().zip(results) {
        let _ = write!(out, "\n## {}\n\n{}\n", study.title, study.settings.trim());
        for (group, results) in study.group.iter().zip(results) {
            let runs =
                if group.runs > 1 { format!(", {} seeds", group.runs) } else { String::new() };
            let _ = write!(out, "\n| {} | ours{runs} | ns-2 | |\n", group.name);
            out.push_str("| --- | ---: | ---: | ---: |\n");
            for (row, ours) in group.rows.iter().zip(results) {
                let sd = row.sd.map_or(String::new(), |sd| format!(" (sd {})", figure(sd)));
                let mark = if row.is_apart(*ours) { "**" } else { "" };
                let _ = writeln!(
                    out,
                    "| {} | {} | {}{sd} | {mark}{:+.1} %{mark} |",
                    row.name,
                    figure(*ours),
                    figure(row.ns),
                    (ours / row.ns - 1.0) * 100.0
                );
            }
            if let Some(why) = &group.why {
                let _ = write!(out, "\n{}\n", why.trim());
            }
        }
    }
    out
}

/// To about four figures.
fn figure(value: f64) -> String {
    match value {
        value if value >= 1000.0 => format!("{value:.0}"),
        value if value >= 100.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

//! The text in a folder of results that explains it.

use crate::cell::{CellKind, Heading};
use crate::tables::Table;
use bentpipe_scenario::Experiment;
use std::fmt::Write;

/// How results have come about: what the folder says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Made {
    /// By the simulator: the same again whenever it is run.
    Simulated,
    /// On real stacks.
    Measured,
}

/// A table in the folder.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) headings: Vec<Heading>,
}

impl Part {
    /// One of a run's tables with these further columns before its own.
    pub(crate) fn of(table: Table, before: &[Heading]) -> Part {
        let headings = [before, &table.headings()].concat();
        Part { name: table.name(), about: table.about(), headings }
    }
}

/// What is in a folder.
pub(crate) struct Contents<'a> {
    /// Its tables.
    pub(crate) parts: &'a [&'a Part],
    /// Whether there are captures.
    pub(crate) captures: bool,
    /// Whether figures are drawn.
    pub(crate) figures: bool,
    /// Files that the scenario names and that are not there.
    pub(crate) left_out: &'a [String],
}

/// What is said of captures.
const CAPTURES: &str = "\
## packets/

`packets/point-P-run-R/HOST.pcapng` has the packets that passed that host in run R of point P, headers only, with the
simulator's time in nanoseconds from 1970 on: Wireshark, tcpdump and tcptrace read it. A packet is sent when the host
hands it to the link, in front of the link's queue. Checksums are those of the whole packet. If the scenario's `[record]`
names `flows` or `links`, there are the packets of those flows, and the hosts at those links. `mergecap -w both.pcapng
A.pcapng B.pcapng` makes one file of two. A gateway has a file for each side, `GATEWAY@lan.pcapng` and
`GATEWAY@satellite.pcapng`. With `qlog = true`, `HOST.qlog` has what that host's TCP did and why, and `GATEWAY.qlog` what a
gateway's two legs did: bentpipe's docs/qlog-tcp.md says how it is read.

";

/// What is said where no flow has a row in that table.
const NO_TRANSFERS: &str = "\
There is no `transfers.csv`: no flow but background has begun a transfer. The flows of `poisson` and `web` are background unless they say
`background = false`.

";

/// The text of `README.md`. `captures`: there are some.
pub(crate) fn text(experiment: &Experiment, made: Made, contents: &Contents<'_>) -> String {
    let Contents { parts, captures, figures, left_out } = *contents;
    let mut text = String::new();
    let scenario = experiment.point(0).scenario;
    let title = if scenario.title.is_empty() { "An experiment" } else { &scenario.title };
    let _ = writeln!(text, "# {title}\n");
    if !scenario.about.is_empty() {
        let _ = writeln!(text, "{}\n", scenario.about.trim());
    }
    let points = experiment.len();
    let version = env!("CARGO_PKG_VERSION");
    let points = format!("{points} {} of its sweep", if points == 1 { "point" } else { "points" });
    let _ = match made {
        Made::Simulated => writeln!(
            text,
            "Made by bentpipe {version} of `scenario.toml` ({points}): `bentpipe sim \
             scenario.toml` makes the same again. Points and runs are counted from zero; run r has the \
             same random numbers at every point. An empty cell is one without a value. `summary.json` \
             is what `bentpipe sim --json` prints. `runs/` has the finished runs, so that they are not \
             made again; it may be deleted.\n"
        ),
        Made::Measured => writeln!(
            text,
            "Measured by bentpipe {version} on Linux's own TCP in a testbed of `scenario.toml` ({points}): \
             `bentpipe testbed up scenario.toml` and `bentpipe testbed run` measure it again, `bentpipe sim \
             scenario.toml` simulates it. Points and runs are counted from zero; run r draws the same \
             random numbers at every point. An empty cell was not measured. `summary.json` \
             is what `bentpipe testbed run --json` prints. `runs/` has the runs as they were stored; it may be \
             deleted.\n"
        ),
    };
    for control in experiment.controls() {
        let (name, about) = (control.name(), control.about());
        let _ = writeln!(
            text,
            "The congestion control `{name}` is the Python class `{about}`, which is not here: runs are made \
             from Python, with `controls`.\n"
        );
    }
    for path in left_out {
        let _ = writeln!(
            text,
            "`{path}`, which the scenario names, is not here: it would not lie in this folder.\n"
        );
    }
    if figures {
        text.push_str(
            "`index.html` has the figures, `figures/` their files: SVG, PNG and their data. `bentpipe plot` draws them \
             anew.\n\n",
        );
    }
    for part in parts {
        let name = part.name;
        let _ = writeln!(text, "## {name}.csv, {name}.parquet\n\n{}.\n", capitalised(part.about));
        text.push_str("| column | type | unit | meaning |\n| --- | --- | --- | --- |\n");
        for Heading { name, kind, unit, about } in &part.headings {
            let kind = match kind {
                CellKind::Text => "text",
                CellKind::Count => "count",
                CellKind::Number => "number",
                CellKind::Switch => "true, false",
            };
            let _ = writeln!(text, "| `{name}` | {kind} | {unit} | {about} |");
        }
        text.push('\n');
    }
    if !parts.iter().any(|part| part.name == Table::Transfers.name()) {
        text.push_str(NO_TRANSFERS);
    }
    if captures {
        text.push_str(CAPTURES);
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

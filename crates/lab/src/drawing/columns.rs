//! What columns are called in figures, and what they are counted in.

use crate::cell::{CellKind, Heading};
use crate::swept::Swept;
use crate::tables::Table;
use bentpipe_plot::axes::Unit;
use bentpipe_scenario::Experiment;

/// Something that rows differ in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Column {
    /// A swept field: its index among them, and the column's name in files.
    Swept(usize, String),
    /// A column of the figure's table.
    Own(String),
    /// A flow's name without the number of a copy.
    Flows,
    /// The quantity of a series.
    Quantity,
}

/// The quantities that a run can record: name, unit, and what it is.
pub const QUANTITIES: &[(&str, &str, &str)] = &[
    ("cwnd", "bytes", "congestion window"),
    ("ssthresh", "bytes", "slow start threshold"),
    ("flight", "bytes", "bytes in flight"),
    ("srtt", "s", "smoothed round-trip time"),
    ("rto", "s", "retransmission timeout"),
    ("throughput", "bit/s", "throughput"),
    ("sequence", "bytes", "offset in the stream"),
    ("queue-packets", "packets", "queue"),
    ("queue-bytes", "bytes", "queue"),
    ("drops", "packets", "packets dropped"),
    ("losses", "packets", "packets lost"),
    ("delay", "s", "propagation delay"),
    ("memory", "bytes", "bytes held"),
    ("flows", "flows", "flows split"),
    ("spacing-rate", "bit/s", "spacing rate"),
    ("slow-starts", "connections", "connections in slow start"),
];

/// Columns whose names say less than is wanted.
const NAMES: &[(&str, &str)] = &[
    ("completion_mean_s", "mean completion time"),
    ("completion_s", "completion time"),
    ("completion_per_flow_s", "mean completion time"),
    ("goodput_sum_bps", "goodput of all together"),
    ("goodput_per_flow_bps", "goodput of a flow"),
    ("fairness_jain", "Jain's fairness index"),
    ("drop_share", "packets dropped"),
    ("srtt_s", "smoothed round-trip time"),
    ("min_rtt_s", "minimum round-trip time"),
    ("bytes", "size"),
    ("start_s", "start"),
    ("time_s", "time"),
];

/// The heads of the swept columns, in their order.
pub(super) fn swept(experiment: &Experiment) -> Vec<Heading> {
    Swept::of(experiment).headings().collect()
}

/// The heads of all columns of `table`, but for swept ones.
pub(super) fn headings(table: Table) -> Vec<Heading> {
    let mut headings = table.headings();
    headings.push(Heading::new("point", CellKind::Count, "", "point of the sweep"));
    headings.push(Heading::new("run", CellKind::Count, "", "run of the point"));
    headings
}

/// The unit of a column.
pub(super) fn unit(heading: &Heading) -> Unit {
    match heading.unit.as_str() {
        "1/n to 1" => Unit::None,
        unit => Unit::named(unit),
    }
}

/// The name of a column on an axis.
pub(super) fn label(heading: &Heading) -> String {
    if let Some((_, label)) = NAMES.iter().find(|(name, _)| *name == heading.name) {
        return (*label).to_owned();
    }
    let name = heading.name.as_str();
    let ends = ["_bps", "_bytes", "_packets", "_s"];
    let bare = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    bare.replace('_', " ")
}

/// The name of a swept field on an axis: `link.sat.delay` is `delay of sat`.
pub(super) fn swept_label(path: &str) -> String {
    let parts: Vec<&str> = path.split('.').collect();
    let name =
        |last: &str| if last == "bytes" { "size".to_owned() } else { last.replace('-', " ") };
    match parts[..] {
        ["numbers", last] => name(last),
        [_, owner, .., last] => format!("{} of {owner}", name(last)),
        [.., last] => name(last),
        [] => String::new(),
    }
}

/// The shortest end of a swept path that no other of `paths` ends in: `loss`, or `a.loss` beside
/// `b.loss`.
pub(super) fn shortest_name<'p>(path: &'p str, paths: &[&str]) -> &'p str {
    let ends = path.rmatch_indices('.').map(|(dot, _)| &path[dot + 1..]);
    let same = |end: &str, other: &str| {
        other == end || other.strip_suffix(end).is_some_and(|before| before.ends_with('.'))
    };
    let alone = |end: &&str| !paths.iter().any(|other| *other != path && same(end, other));
    ends.into_iter().find(alone).unwrap_or(path)
}

/// A flow's name without the number of a copy.
pub(super) fn without_number(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((before, number))
            if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) =>
        {
            before
        }
        _ => name,
    }
}

/// Whether `name` stands for what is called `text`: itself, all copies, both directions of a link.
pub(super) fn is_named(text: &str, name: &str) -> bool {
    let direction = text.strip_suffix("/forward").or_else(|| text.strip_suffix("/back"));
    text == name || without_number(text) == name || direction == Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_whose_last_part_is_the_same_are_told_apart() {
        let paths = ["link.a.loss", "link.b.loss", "link.a.delay", "loss"];
        assert_eq!(
            paths.map(|path| shortest_name(path, &paths)),
            ["a.loss", "b.loss", "delay", "loss"]
        );
        let alone = ["link.sat.delay"];
        assert_eq!(shortest_name(alone[0], &alone), "delay");
    }
}

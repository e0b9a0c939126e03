//! What the simulator has recorded beside a capture: `results/NAME/packets/point-P-run-R/HOST.pcapng` is of a run whose windows and
//! queues over time are in `results/NAME/series.csv`.

use super::capture::Error;
use bentpipe_capture::{Capture, Connection, Quantity, Recorded};
use bentpipe_lab::drawing::{self, Samples};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Series by element (a flow, a direction of a link) and quantity.
type Run = BTreeMap<(String, String), Samples>;

/// What was recorded in the run that the capture at `path` is of; nothing if it is of none.
pub(super) fn of_run(path: &Path) -> Result<Run, Error> {
    let Some((folder, point, run)) = place(path) else { return Ok(Run::new()) };
    Ok(drawing::recorded(&folder, point, run)?)
}

/// The folder of results, the point and the run.
fn place(path: &Path) -> Option<(std::path::PathBuf, u64, u64)> {
    let path = std::path::absolute(path).ok()?;
    let run = path.parent()?;
    let packets = run.parent()?;
    let name = run.file_name()?.to_str()?.strip_prefix("point-")?;
    let (point, number) = name.split_once("-run-")?;
    let is_ours = packets.file_name()?.to_str()? == "packets";
    let folder = packets.parent().filter(|_| is_ours)?;
    Some((folder.to_owned(), point.parse().ok()?, number.parse().ok()?))
}

/// Those of `run` that belong to a connection: all queues, and a flow's windows and timers where it is clear whose they are, because
/// one flow was recorded, and one connection captured.
pub(super) fn of_connection(
    run: &Run,
    capture: &Capture,
    connection: &Connection,
) -> Vec<Recorded> {
    let quantity = |name: &str| Quantity::ALL.into_iter().find(|one| one.name() == name);
    let of_link = |element: &str| element.ends_with("/forward") || element.ends_with("/back");
    let flows: BTreeSet<&str> = run
        .keys()
        .filter(|(element, name)| !of_link(element) && quantity(name).is_some())
        .map(|(element, _)| element.as_str())
        .collect();
    let one = flows.len() == 1 && capture.connections.len() == 1;
    let first = connection.segments.first().map_or(0, |segment| segment.at);
    let last = first.saturating_add(connection.duration());
    let mut series = Vec::new();
    for ((element, name), samples) in run {
        let Some(quantity) = quantity(name) else { continue };
        let queue = of_link(element);
        // A panel has one unit.
        let in_bytes = (element.clone(), Quantity::QueueBytes.name().to_owned());
        if quantity == Quantity::QueuePackets && run.contains_key(&in_bytes) {
            continue;
        }
        if !queue && !one {
            continue;
        }
        let scale = match quantity {
            Quantity::SmoothedRtt | Quantity::Rto => 1e9,
            _ => 1.0,
        };
        let values = samples
            .iter()
            .map(|&(time, value)| ((time * 1e9) as i64, (value * scale).round() as i64))
            .filter(|&(at, _)| (first..=last).contains(&at));
        let values: Vec<(i64, i64)> = values.collect();
        // A direction of a link that never queues says nothing.
        if values.iter().all(|&(_, value)| value == 0) {
            continue;
        }
        series.push(Recorded {
            quantity,
            name: if queue { format!("queue {element}") } else { name.to_owned() },
            end: (!queue).then(|| connection.main_direction()),
            values,
        });
    }
    series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_of_a_run_is_known_by_its_folders() {
        let place = |path: &str| {
            super::place(Path::new(path))
                .map(|(folder, point, run)| (folder.display().to_string(), point, run))
        };
        let found = place("/a/results/x/packets/point-3-run-12/server.pcapng");
        assert_eq!(found, Some(("/a/results/x".to_owned(), 3, 12)));
        assert_eq!(place("/a/point-3-run-12/server.pcapng"), None);
        assert_eq!(place("/server.pcapng"), None);
    }
}

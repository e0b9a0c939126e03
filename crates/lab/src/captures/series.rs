//! What the simulator has recorded beside a capture:
//! `results/NAME/packets/point-P-run-R/HOST.pcapng` is of a run whose windows and queues over time
//! are in `results/NAME/series.csv`.

use super::{CaptureError, Opened};
use crate::drawing::{self, DrawError, Samples};
use bentpipe_capture::{Capture, Connection, Quantity, ReadError, Recorded, Segment};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

/// Series by element (a flow, a direction of a link) and quantity.
type Series = BTreeMap<(String, String), Samples>;

/// What was recorded in the run that a capture is of.
#[derive(Default)]
struct Run {
    series: Series,
    /// The capture is a gateway's, whose legs have windows of their own.
    of_gateway: bool,
    /// There are gateways on the way of its connections: only who sends has the windows.
    split: bool,
}

/// What was recorded beside a capture, and that capture as a whole where a part of it was read:
/// only with all connections it is known whose a flow's windows are.
pub(super) struct Beside {
    run: Run,
    whole: Option<Capture>,
}

/// What was recorded beside a capture.
pub(super) fn beside(opened: &Opened) -> Result<Beside, CaptureError> {
    let run = of_run(&opened.path)?;
    if !opened.partial || run.series.is_empty() {
        return Ok(Beside { run, whole: None });
    }
    let whole = File::open(&opened.path).map_err(ReadError::from).and_then(bentpipe_capture::read);
    let path = || opened.path.display().to_string();
    let whole = whole.map_err(|why| CaptureError::Read { path: path(), why })?;
    Ok(Beside { run, whole: Some(whole) })
}

impl Beside {
    /// Those series that belong to a connection, as long as it lasts.
    pub(super) fn series(&self, opened: &Opened, connection: &Connection) -> Vec<Recorded> {
        let Beside { run, whole } = self;
        let Some(whole) = whole else { return of_connection(run, &opened.capture, connection) };
        let Some(all) = whole.connections.get(connection.number) else { return Vec::new() };
        let (first, last) = connection.span();
        let mut series = of_connection(run, whole, all);
        for one in &mut series {
            one.values.retain(|&(at, _)| (first..=last).contains(&at));
        }
        series.retain(|one| !one.values.is_empty());
        series
    }
}

/// Of the capture at `path`; nothing if it is of no run.
fn of_run(path: &Path) -> Result<Run, DrawError> {
    let Some((folder, point, run)) = place(path) else { return Ok(Run::default()) };
    let mut beside = path.parent().and_then(|run| fs::read_dir(run).ok()).into_iter().flatten();
    Ok(Run {
        series: drawing::recorded(&folder, point, run)?,
        of_gateway: of_gateway(path),
        split: beside.any(|entry| entry.is_ok_and(|entry| of_gateway(&entry.path()))),
    })
}

/// Whether the capture at `path` is of a gateway's side: `NAME@SIDE.pcapng`.
pub(super) fn of_gateway(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains('@'))
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

/// The flow whose sender's windows and timers are this connection's. Of connections that a flow has
/// at the same time only the sum is recorded.
fn sender<'c>(run: &Run, capture: &'c Capture, connection: &'c Connection) -> Option<&'c str> {
    let flow = connection.flow()?;
    let (first, last) = connection.span();
    let at_once = |other: &Connection| {
        let (from, to) = other.span();
        other.number != connection.number
            && other.flow() == Some(flow)
            && from <= last
            && first <= to
    };
    let main = connection.main_direction();
    let sends = |segment: &Segment| {
        segment.direction == main && segment.len > 0 && segment.recorded.is_some()
    };
    let here = !run.of_gateway && (!run.split || connection.segments.iter().any(sends));
    (here && !capture.connections.iter().any(at_once)).then_some(flow)
}

/// Those of `run` that belong to a connection: all queues, and its flow's windows and timers.
fn of_connection(run: &Run, capture: &Capture, connection: &Connection) -> Vec<Recorded> {
    let quantity = |name: &str| Quantity::ALL.into_iter().find(|one| one.name() == name);
    let of_link = |element: &str| element.ends_with("/forward") || element.ends_with("/back");
    let flow = sender(run, capture, connection);
    let (first, last) = connection.span();
    let mut series = Vec::new();
    for ((element, name), samples) in &run.series {
        let Some(quantity) = quantity(name) else { continue };
        let queue = of_link(element);
        // A panel has one unit.
        let in_bytes = (element.clone(), Quantity::QueueBytes.name().to_owned());
        if quantity == Quantity::QueuePackets && run.series.contains_key(&in_bytes) {
            continue;
        }
        if !queue && flow != Some(element) {
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
    use bentpipe_capture::Flags;

    /// A connection from `first` to `last`, in seconds, whose SYN says that it is the flow's.
    fn connection(number: usize, flow: &str, [first, last]: [i64; 2]) -> Connection {
        let segment = |at: i64, flags| {
            let mut segment = Segment::default();
            (segment.at, segment.flags) = (at * 1_000_000_000, flags);
            segment
        };
        let mut connection = Connection::default();
        connection.number = number;
        connection.segments = vec![segment(first, Flags::SYN), segment(last, Flags::ACK)];
        connection.comments.insert(0, format!("flow: {flow}"));
        connection
    }

    /// The names and first values of what a connection has.
    fn shown(run: &Run, capture: &Capture, number: usize) -> Vec<(String, i64)> {
        let series = of_connection(run, capture, &capture.connections[number]);
        series.into_iter().map(|one| (one.name, one.values[0].1)).collect()
    }

    #[test]
    fn each_connection_has_the_windows_of_its_own_flow() {
        let key = |element: &str, quantity: &str| (element.to_owned(), quantity.to_owned());
        let samples = |value: f64| vec![(1.5, value), (2.5, value + 1.0)];
        let series = Series::from([
            (key("a", "cwnd"), samples(1000.0)),
            (key("b", "cwnd"), samples(2000.0)),
            (key("sat/forward", "queue-packets"), samples(7.0)),
        ]);
        let connections = vec![
            connection(0, "a", [1, 3]),
            connection(1, "b", [1, 3]),
            connection(2, "c", [1, 3]),
        ];
        let capture = Capture { connections, ..Capture::default() };
        let queue = [("queue sat/forward".to_owned(), 7)];
        let run = Run { series, ..Run::default() };
        assert_eq!(shown(&run, &capture, 0), [("cwnd".to_owned(), 1000), queue[0].clone()]);
        assert_eq!(shown(&run, &capture, 1), [("cwnd".to_owned(), 2000), queue[0].clone()]);
        assert_eq!(shown(&run, &capture, 2), queue);

        // One after the other has its own part; at once they have a sum, which is nobody's.
        for (spans, windows) in [([[1, 2], [3, 4]], 1), ([[1, 3], [2, 4]], 0)] {
            let connections = spans.into_iter().enumerate();
            let connections = connections.map(|(number, span)| connection(number, "a", span));
            let connections = connections.collect();
            let capture = Capture { connections, ..Capture::default() };
            assert_eq!(shown(&run, &capture, 0).len(), 1 + windows, "{spans:?}");
        }

        // A gateway's legs have windows of their own, and who only receives through one has not the
        // sender's.
        for (of_gateway, split) in [(true, true), (false, true)] {
            let run = Run { of_gateway, split, series: run.series.clone() };
            assert_eq!(shown(&run, &capture, 0), queue);
        }
    }

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

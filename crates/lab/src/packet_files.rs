//! The captures of a run: a pcapng file for each host and each side of a gateway, and for each host
//! and gateway a recording of what its TCP does and why, written while the run goes on.
//!
//! A file for each, and not one with an interface for each: programs that read captures take a
//! packet that was seen at both ends, or on both sides of a gateway, for a retransmission.
//! Recordings say which leg of a gateway they are of.

use bentpipe_capture::pcapng::{self, Packet, Way};
use bentpipe_core::time::Instant;
use bentpipe_core::wire::HEADERS_MAX;
use bentpipe_gateway::Side;
use bentpipe_record::{Direction, Endpoint, ObservedConnection, Recorder, Segment, qlog};
use bentpipe_results::{Captured, End, EventSink, Interface, Observed, PacketSink, Passage};
use bentpipe_scenario::{NodeIndex, NodeKind, Scenario, SeriesRecording};
use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tempfile::TempDir;

/// A run's captures in the making. What was not finished is removed.
#[derive(Debug)]
pub(crate) struct PacketFiles {
    folder: TempDir,
    files: Rc<RefCell<Files>>,
    packets: bool,
    qlog: bool,
}

#[derive(Debug)]
struct Files {
    /// By the scenario's node, and by side; a host's is the first.
    packets: Vec<[Option<pcapng::Writer<BufWriter<File>>>; 2]>,
    /// By the scenario's node.
    events: Vec<Option<Recorder<qlog::Writer<BufWriter<File>>>>>,
    /// What has gone wrong first.
    error: Option<io::Error>,
}

impl PacketFiles {
    /// Begins them beside their place.
    pub(crate) fn begin(beside: &Path, scenario: &Scenario) -> io::Result<PacketFiles> {
        let folder = tempfile::Builder::new().prefix(".new-").tempdir_in(beside)?;
        let mut packets: Vec<_> = scenario.nodes.iter().map(|_| [None, None]).collect();
        let mut events: Vec<_> = scenario.nodes.iter().map(|_| None).collect();
        for index in scenario.captured_nodes() {
            let name = &scenario.node(index).name;
            let create = |side, suffix| {
                let file = folder.path().join(file_name(index.0, name, side, suffix));
                File::create_new(file).map(BufWriter::new)
            };
            for side in sides(scenario, index).iter().filter(|_| scenario.record.packets) {
                let interface = Interface { node: index, side: *side };
                let description = description(scenario, interface);
                let interface = pcapng::Interface { name, description: &description };
                let out = create(*side, "pcapng")?;
                let writer = pcapng::Writer::new(out, &[interface], HEADERS_MAX)?;
                packets[index.0][place(*side)] = Some(writer);
            }
            if scenario.record.qlog {
                let header = qlog::Header { title: name, vantage_point: name, wall_clock: None };
                let writer = qlog::Writer::new(create(None, "qlog")?, header)?;
                events[index.0] = Some(Recorder::new(writer));
            }
        }
        let files = Rc::new(RefCell::new(Files { packets, events, error: None }));
        let SeriesRecording { packets, qlog, .. } = scenario.record;
        Ok(PacketFiles { folder, files, packets, qlog })
    }

    /// Where a run's packets go, if they are wanted.
    pub(crate) fn packet_sink(&self) -> Option<Box<dyn PacketSink>> {
        let sink = || Box::new(Sink(Rc::clone(&self.files))) as Box<dyn PacketSink>;
        self.packets.then(sink)
    }

    /// Where it goes what connections do, if that is wanted.
    pub(crate) fn event_sink(&self) -> Option<Box<dyn EventSink>> {
        let sink = || Box::new(Sink(Rc::clone(&self.files))) as Box<dyn EventSink>;
        self.qlog.then(sink)
    }

    /// Puts them all in the folder `path`. Returns their length in bytes.
    pub(crate) fn finish(self, path: &Path) -> io::Result<u64> {
        let mut files = self.files.borrow_mut();
        if let Some(error) = files.error.take() {
            return Err(error);
        }
        for file in files.packets.drain(..).flatten().flatten() {
            file.into_inner().into_inner().map_err(io::IntoInnerError::into_error)?;
        }
        for recorder in files.events.drain(..).flatten() {
            let out = recorder.into_sink().finish()?;
            out.into_inner().map_err(io::IntoInnerError::into_error)?;
        }
        let length = length(self.folder.path())?.unwrap_or(0);
        remove(path)?;
        match fs::rename(self.folder.path(), path) {
            // Another point of the sweep that is the same was faster.
            Err(_) if path.is_dir() => Ok(length),
            renamed => renamed.map(|()| length),
        }
    }
}

#[derive(Debug)]
struct Sink(Rc<RefCell<Files>>);

impl PacketSink for Sink {
    fn packet(&mut self, packet: &Captured) {
        let Files { packets, error, .. } = &mut *self.0.borrow_mut();
        if error.is_none()
            && let Some(files) = packets.get_mut(packet.interface.node.0)
            && let Some(file) = &mut files[place(packet.interface.side)]
        {
            let cause = packet.cause.map(|cause| format!("cause: {cause}"));
            let flow = packet.flow.as_ref().map(|flow| format!("flow: {flow}"));
            let comment = match (cause, flow) {
                (Some(cause), Some(flow)) => Some(format!("{cause}\n{flow}")),
                (cause, flow) => cause.or(flow),
            };
            let packet = Packet {
                interface: 0,
                at: packet.at.as_nanos(),
                bytes: &packet.headers,
                len: packet.len,
                way: Some(match packet.direction {
                    bentpipe_results::Direction::Sent => Way::Outbound,
                    bentpipe_results::Direction::Received => Way::Inbound,
                }),
                comment: comment.as_deref().unwrap_or_default(),
            };
            *error = file.packet(&packet).err();
        }
    }
}

impl EventSink for Sink {
    fn segment(&mut self, at: Instant, end: &End, segment: Passage<'_>) {
        let Passage { tcp, len, cause, .. } = segment;
        let segment = Segment { direction: direction(segment.direction), tcp, len, cause };
        self.record(end, |recorder, endpoint| recorder.segment(at, endpoint, segment));
    }

    fn observed(&mut self, at: Instant, end: &End, observed: &Observed) {
        let Observed { state, limiter, tcb, agreed, over } = observed;
        let seen =
            ObservedConnection { state: *state, limiter: *limiter, observation: tcb.as_ref() };
        self.record(end, |recorder, endpoint| {
            if let Some(agreed) = agreed {
                recorder.forget_if_many();
                recorder.agreed(endpoint, agreed.isns, agreed.shifts);
            }
            recorder.observe(at, endpoint, seen);
            if *over {
                recorder.forget(endpoint);
            }
        });
    }
}

impl Sink {
    fn record(
        &self,
        end: &End,
        record: impl FnOnce(&mut Recorder<qlog::Writer<BufWriter<File>>>, &Endpoint),
    ) {
        let End { interface, local, remote } = *end;
        if let Some(Some(recorder)) = self.0.borrow_mut().events.get_mut(interface.node.0) {
            record(recorder, &Endpoint { local, remote, leg: interface.side.map(Side::name) });
        }
    }
}

fn direction(direction: bentpipe_results::Direction) -> Direction {
    match direction {
        bentpipe_results::Direction::Sent => Direction::Sent,
        bentpipe_results::Direction::Received => Direction::Received,
    }
}

/// How long the captures in the folder `path` are together; None if there are none.
pub(crate) fn length(path: &Path) -> io::Result<Option<u64>> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    let mut sum = 0;
    for entry in entries {
        sum += entry?.metadata()?.len();
    }
    Ok(Some(sum))
}

/// Gives the captures in `from` a place in the folder `to`, too, which is made. They take no more
/// room on the disk by it, where the file system knows links.
pub(crate) fn link(from: &Path, to: &Path) -> io::Result<Vec<String>> {
    fs::create_dir_all(to)?;
    let mut names = Vec::new();
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        match fs::remove_file(&place) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        if fs::hard_link(entry.path(), &place).is_err() {
            fs::copy(entry.path(), &place)?;
        }
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}

/// Removes what was left of earlier results in `folder`: captures of runs that do not count now.
pub(crate) fn clear(folder: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        if is_ours(&path) {
            remove(&path)?;
        }
    }
    // Only if nothing is in it that somebody else has put there.
    let _ = fs::remove_dir(folder);
    Ok(())
}

/// The folder of a run's captures.
pub(crate) fn folder_name(point: usize, run: u32) -> String {
    format!("point-{point}-run-{run}")
}

fn is_ours(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let numbers = name.strip_prefix("point-").and_then(|rest| rest.split_once("-run-"));
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(point, run)| number(point) && number(run))
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The sides at which packets of a node are captured: a host has none.
fn sides(scenario: &Scenario, node: NodeIndex) -> &'static [Option<Side>] {
    match scenario.node(node).kind {
        NodeKind::Gateway(_) => &[Some(Side::Lan), Some(Side::Satellite)],
        _ => &[None],
    }
}

/// Which of a node's files.
fn place(side: Option<Side>) -> usize {
    side.map_or(0, |side| side as usize)
}

/// A node's name if it can be a file's, else its number; of a gateway's side `NAME@SIDE`, which no
/// node is called.
fn file_name(index: usize, name: &str, side: Option<Side>, suffix: &str) -> PathBuf {
    let side = side.map(|side| format!("@{}", side.name())).unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match name.chars().all(plain) && !name.starts_with('.') && name.len() <= 200 {
        true => format!("{name}{side}.{suffix}").into(),
        false => format!("#{index}{side}.{suffix}").into(),
    }
}

/// Which links the interface is at.
fn description(scenario: &Scenario, Interface { node, side }: Interface) -> String {
    let on_side = |link: usize| match (&scenario.node(node).kind, side) {
        (NodeKind::Gateway(gateway), Some(side)) => {
            gateway.lan.iter().any(|lan| lan.0 == link) == (side == Side::Lan)
        }
        _ => true,
    };
    let links = scenario.links.iter().enumerate();
    let links = links.filter(|(index, link)| link.between.contains(&node) && on_side(*index));
    let links: Vec<&str> = links.map(|(_, link)| link.name.as_str()).collect();
    format!("link {}", links.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_runs_are_cleared() {
        for name in ["point-0-run-0", "packets/point-12-run-3"] {
            assert!(is_ours(Path::new(name)), "{name}");
        }
        for name in ["point--run-0", "point-0-run-", "point-0-run-0.txt", "mine", "point-x-run-1"] {
            assert!(!is_ours(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn no_name_of_a_host_leads_out_of_the_folder() {
        assert_eq!(file_name(3, "server-1.a", None, "pcapng"), Path::new("server-1.a.pcapng"));
        for name in ["../x", "a/b", "..", ".x", "a b", "Zürich"] {
            assert_eq!(file_name(3, name, None, "qlog"), Path::new("#3.qlog"), "{name}");
        }
        let lan = file_name(4, "near", Some(Side::Lan), "pcapng");
        assert_eq!(lan, Path::new("near@lan.pcapng"));
    }
}

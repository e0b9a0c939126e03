//! Captures as an experiment leaves them, read by somebody else's reader of pcapng.

use bentpipe_lab::{Executed, Folder, Options, execute};
use bentpipe_results::{Captured, Direction, PacketSink, Sinks};
use bentpipe_scenario::Experiment;
use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{Block, Linktype, OptionCode, PcapBlockOwned, PcapError, PcapNGReader};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const TEXT: &str = r#"
[run]
duration = "10s"
[repeat]
runs = 2
[host.server]
[host."the client"]
[router.modem]
[link.lan]
between = ["modem", "the client"]
profile = "ethernet-100"
[link.sat]
between = ["server", "modem"]
rate = "1Mbit/s"
delay = "250ms"
loss = 0.01
[flow.file]
from = "server"
to = "the client"
bytes = "100KB"
[flow.ping]
from = "the client"
to = "server"
workload = "ping"
packets = 3
[record]
packets = true
[sweep]
"link.sat.delay" = ["20ms", "250ms"]
"#;

fn experiment() -> Experiment {
    Experiment::parse("x.toml", TEXT, &|_| Err(String::new())).unwrap()
}

fn sitting(path: &Path, threads: usize, stop_after: u64) -> Executed {
    sitting_of(&experiment(), path, threads, stop_after)
}

fn sitting_of(experiment: &Experiment, path: &Path, threads: usize, stop_after: u64) -> Executed {
    let (folder, store) = Folder::open(path).unwrap();
    let (stop, made) = (AtomicBool::new(false), AtomicU64::new(0));
    let threads = NonZeroUsize::new(threads).unwrap();
    let options = Options {
        runner: &bentpipe_sim::run_into,
        threads,
        point: None,
        run: None,
        shard: None,
        stop: &stop,
    };
    let executed = execute(experiment, &store, &options, &|event| {
        if let bentpipe_lab::Event::Finished { stored: false, .. } = event
            && made.fetch_add(1, Ordering::Relaxed) + 1 >= stop_after
        {
            stop.store(true, Ordering::Relaxed);
        }
    });
    let executed = executed.unwrap();
    assert_eq!(executed.failures, []);
    if !executed.stopped {
        folder.write(experiment, &store, &executed).unwrap();
    }
    executed
}

/// All captures, by their path.
fn captures(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for run in fs::read_dir(path.join("packets")).unwrap() {
        let run = run.unwrap();
        for file in fs::read_dir(run.path()).unwrap() {
            let file = file.unwrap();
            let name = format!("{}/{}", run.file_name().display(), file.file_name().display());
            files.insert(name, fs::read(file.path()).unwrap());
        }
    }
    files
}

/// A packet as read: time in nanoseconds, whether it was sent, original length, captured bytes,
/// comment.
type Read = (u64, bool, u64, Vec<u8>, Option<String>);

/// What is in a capture: the interface's name, and its packets.
fn read(bytes: &[u8]) -> (String, Vec<Read>) {
    let mut reader = PcapNGReader::new(65_536, bytes).unwrap();
    let (mut name, mut packets) = (None, Vec::new());
    loop {
        let (used, block) = match reader.next() {
            Ok((used, PcapBlockOwned::NG(block))) => (used, block),
            Ok(_) => panic!("an older format"),
            Err(PcapError::Eof) => break,
            Err(PcapError::Incomplete(_)) => {
                reader.refill().unwrap();
                continue;
            }
            Err(error) => panic!("{error:?}"),
        };
        match block {
            Block::SectionHeader(header) => {
                assert_eq!((header.major_version, header.minor_version), (1, 0));
            }
            Block::InterfaceDescription(interface) => {
                assert_eq!((interface.linktype, interface.if_tsresol), (Linktype::RAW, 9));
                assert_eq!(interface.snaplen, 100);
                let option = interface.options.iter().find(|o| o.code == OptionCode::IfName);
                let text = option.unwrap().as_str().unwrap().to_owned();
                assert!(name.replace(text).is_none(), "one interface");
            }
            Block::EnhancedPacket(packet) => {
                assert_eq!(packet.if_id, 0);
                let time = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                let flags = packet.options.iter().find(|o| o.code == OptionCode(2)).unwrap();
                let sent = match flags.as_bytes().unwrap() {
                    [1, 0, 0, 0] => false,
                    [2, 0, 0, 0] => true,
                    other => panic!("{other:?}"),
                };
                let comment = packet.options.iter().find(|o| o.code == OptionCode(1));
                let comment = comment.map(|option| option.as_str().unwrap().to_owned());
                let bytes = packet.packet_data().to_vec();
                packets.push((time, sent, packet.origlen.into(), bytes, comment));
            }
            other => panic!("{other:?}"),
        }
        reader.consume(used);
    }
    (name.unwrap(), packets)
}

#[derive(Debug, Clone, Default)]
struct Collected(Rc<RefCell<Vec<Captured>>>);

impl PacketSink for Collected {
    fn packet(&mut self, packet: &Captured) {
        self.0.borrow_mut().push(packet.clone());
    }
}

#[test]
fn captures_have_every_packet_of_their_run() {
    let folder = tempfile::tempdir().unwrap();
    sitting(folder.path(), 2, u64::MAX);
    let files = captures(folder.path());
    assert_eq!(files.len(), 2 * 2 * 2, "{:?}", files.keys());
    for point in 0..2 {
        let scenario = experiment().point(point).scenario;
        for run in 0..2 {
            let all = Collected::default();
            let packets: Option<Box<dyn PacketSink>> = Some(Box::new(all.clone()));
            let sinks = Sinks { packets, ..Sinks::default() };
            bentpipe_sim::run_into(&scenario, run, sinks, &mut |_| true).unwrap();
            let all = all.0.take();
            // The client's name could lie elsewhere as a file's.
            for (file, host) in [("server", "server"), ("#1", "the client")] {
                let (name, packets) =
                    read(&files[&format!("point-{point}-run-{run}/{file}.pcapng")]);
                assert_eq!(name, host);
                let mine =
                    all.iter().filter(|packet| scenario.node(packet.interface.node).name == host);
                let mine: Vec<Read> = mine
                    .map(|p| {
                        let sent = p.direction == Direction::Sent;
                        let cause = p.cause.map(|cause| format!("cause: {cause}"));
                        let flow = p.flow.as_ref().map(|flow| format!("flow: {flow}"));
                        let comment: Vec<String> = cause.into_iter().chain(flow).collect();
                        let comment = (!comment.is_empty()).then(|| comment.join("\n"));
                        (p.at.as_nanos(), sent, p.len, p.headers.to_vec(), comment)
                    })
                    .collect();
                assert!(mine.len() > 100, "{}", mine.len());
                assert_eq!(packets, mine);
                // Each segment that the host sends has a cause; pings have none. Each SYN,
                // whichever way, has its flow.
                let segment = |bytes: &[u8]| bytes[9] == 6;
                let syn = |bytes: &[u8]| segment(bytes) && bytes[33] & 2 != 0;
                assert!(packets.iter().all(|(_, sent, _, bytes, comment)| {
                    let comment = comment.as_deref().unwrap_or_default();
                    comment.contains("cause: ") == (*sent && segment(bytes))
                        && comment.contains("flow: file") == syn(bytes)
                }));
            }
        }
    }
    let readme = fs::read_to_string(folder.path().join("README.md")).unwrap();
    assert!(readme.contains("packets/point-P-run-R/HOST.pcapng"));
}

#[test]
fn hosts_whose_links_are_not_recorded_have_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        TEXT.replace("packets = true", "packets = true\nlinks = [\"sat\"]\nflows = [\"ping\"]");
    let experiment = Experiment::parse("x.toml", &text, &|_| Err(String::new())).unwrap();
    sitting_of(&experiment, folder.path(), 2, u64::MAX);
    let files = captures(folder.path());
    assert_eq!(files.len(), 2 * 2, "{:?}", files.keys());
    for (path, bytes) in files {
        let (name, packets) = read(&bytes);
        assert!(path.ends_with("/server.pcapng") && name == "server", "{path}");
        // Three requests and their answers, of which one in a hundred packets is lost.
        assert!((4..=6).contains(&packets.len()), "{path}: {packets:?}");
    }
}

#[test]
fn captures_are_the_same_on_any_number_of_threads_and_when_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    sitting(&path("one"), 1, u64::MAX);
    let expected = captures(&path("one"));
    sitting(&path("four"), 4, u64::MAX);
    assert_eq!(captures(&path("four")), expected);
    let half = sitting(&path("resumed"), 1, 2);
    assert!(half.stopped && half.made == 2);
    assert!(!path("resumed/packets").exists());
    let rest = sitting(&path("resumed"), 2, u64::MAX);
    assert_eq!((rest.found, rest.made), (2, 2));
    assert_eq!(captures(&path("resumed")), expected);

    // A run whose capture is gone or cut short is made again, alone; what is left over goes.
    let stored = |at: usize| {
        let runs = fs::read_dir(path("one/runs")).unwrap().map(|entry| entry.unwrap().path());
        let mut runs: Vec<_> =
            runs.filter(|path| path.extension().is_some_and(|e| e == "packets")).collect();
        runs.sort();
        runs[at].clone()
    };
    fs::remove_dir_all(stored(0)).unwrap();
    fs::write(stored(0).join("server.pcapng"), "").unwrap();
    fs::create_dir(path("one/packets/point-7-run-0")).unwrap();
    let again = sitting(&path("one"), 2, u64::MAX);
    assert_eq!((again.found, again.made), (2, 2));
    assert_eq!(captures(&path("one")), expected);
    assert_eq!(sitting(&path("one"), 2, u64::MAX).made, 0);
    // Nothing half made is left.
    let left = fs::read_dir(path("one/runs")).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.display().to_string().starts_with('.')).collect();
    assert!(left.is_empty(), "{left:?}");
}

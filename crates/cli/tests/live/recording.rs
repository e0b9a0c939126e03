//! What a running gateway does is recorded, and read by others.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, SystemTime};

use bentpipe_core::units::Probability;
use bentpipe_linux::netns::Namespace;
use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::five_hosts::{GatewayPosition, TestbedConfig};
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::Value;

use crate::stage::{Family, GATEWAY, StageEnds, build, fast_link, gateways_wanted, start_gateways};
use crate::toolbox::{PATIENCE, accept, content, receive, send, wait_until};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("both_legs_are_recorded", both_legs_are_recorded),
    ("a_slow_disk_delays_no_transfer", a_slow_disk_delays_no_transfer),
];

/// Bytes that are transferred: so few that no part of the recording is lost, even if all of it has
/// to wait to be written.
const SIZE: usize = 500_000;
/// What a recording says that it lacks.
const LACKS: &str = "tcp:events_lost";
/// More than a recording can wait with.
const LONG: usize = 30_000_000;

/// A transfer over a link that loses packets, as packets and as events. One recording at a time:
/// the second begins when the first was told to end.
fn both_legs_are_recorded() {
    if !gateways_wanted() {
        return;
    }
    let loss = Probability::new(0.03).expect("a probability");
    let link = Some(fast_link().with_loss(loss));
    let mut testbed = build(TestbedConfig { link, ..TestbedConfig::default() });
    start_gateways(&mut testbed);
    let testbed = Arc::new(testbed);
    let folder = tempfile::tempdir().expect("a folder");
    let ends = StageEnds::of(&testbed, Family::V4);
    // The server is behind the far gateway, which sends its data over the link.
    let (_, namespace) = testbed.gateway_at(GatewayPosition::Far);
    for (name, look) in [("far.pcapng", packets as fn(&Path)), ("far.qlog", events)] {
        let path = folder.path().join(name);
        let recording = begin(namespace, &path);
        // A second one is refused, and takes no file away.
        let second = folder.path().join("second.qlog");
        fs::write(&second, "an older one").expect("a file");
        let arguments = ["record", "-o", second.to_str().expect("a path")];
        let error = namespace.output(GATEWAY, &arguments).expect_err("one at a time").to_string();
        assert!(error.contains("another recording is under way"), "{error}");
        assert_eq!(fs::read_to_string(&second).expect("the file"), "an older one");
        let (listener, address) = ends.listen();
        let client = ends.connect(address);
        let server = accept(&listener);
        thread::scope(|scope| {
            scope.spawn(|| send(&server, &content(3, SIZE)));
            assert_eq!(receive(&client, SIZE).len(), SIZE);
        });
        let summary = end(recording);
        assert_eq!(summary["lost"], 0, "{summary}");
        assert_eq!(summary["end"], "it was to end", "{summary}");
        let len = fs::metadata(&path).expect("the file").len();
        assert_eq!(summary["bytes"], len, "{summary}");
        look(&path);
    }
    // What is asked for in vain is said in a line.
    let refused = |arguments: &[&str]| {
        let arguments = [&["record"], arguments].concat();
        let error = namespace.output(GATEWAY, &arguments).expect_err("it is refused");
        error.to_string()
    };
    assert!(refused(&["-o", "x.pcap"]).contains("ends in .pcapng or .qlog"));
    assert!(refused(&["-o", "x.qlog", "--flow", "colour red"]).contains("`colour`"));
}

/// A recording into a pipe that nobody reads until the transfer is over: what the recording lacks
/// is counted, in the file too once it goes on, and the rest can be read.
fn a_slow_disk_delays_no_transfer() {
    if !gateways_wanted() {
        return;
    }
    let link = Some(fast_link());
    let mut testbed = build(TestbedConfig { link, ..TestbedConfig::default() });
    start_gateways(&mut testbed);
    let testbed = Arc::new(testbed);
    let folder = tempfile::tempdir().expect("a folder");
    let ends = StageEnds::of(&testbed, Family::V4);
    let (_, namespace) = testbed.gateway_at(GatewayPosition::Far);
    let path = folder.path().join("pipe.qlog");
    mkfifo(&path, Mode::S_IRWXU).expect("a pipe");
    let recording = start(namespace, &path);
    let mut pipe = File::open(&path).expect("the pipe");
    let mut begun = vec![0; 100];
    pipe.read_exact(&mut begun).expect("the header's beginning");
    let text = Mutex::new(begun);
    let (transferred, over) = mpsc::channel::<()>();
    let summary = thread::scope(|scope| {
        let text = &text;
        scope.spawn(move || {
            // Over, or it has failed.
            let _ = over.recv();
            let mut part = vec![0; 65_536];
            loop {
                let length = pipe.read(&mut part).expect("the rest");
                text.lock().expect("text").extend_from_slice(&part[..length]);
                if length == 0 {
                    return;
                }
            }
        });
        let (listener, address) = ends.listen();
        let client = ends.connect(address);
        let server = accept(&listener);
        let writer = server.try_clone().expect("a socket");
        scope.spawn(move || send(&writer, &content(3, LONG)));
        assert_eq!(receive(&client, LONG).len(), LONG);
        drop(transferred);
        wait_until("the recording says what it lacks", || {
            send(&server, b"more");
            assert_eq!(receive(&client, 4), b"more");
            let says = String::from_utf8_lossy(&text.lock().expect("text")).contains(LACKS);
            if says { Ok(()) } else { Err("it does not".to_owned()) }
        });
        end(recording)
    });
    let text = String::from_utf8(text.into_inner().expect("text")).expect("text");
    let lost = records(&text)
        .iter()
        .filter(|event| event["name"] == LACKS)
        .fold(0, |sum, event| sum + event["data"]["count"].as_u64().expect("a count"));
    assert!(lost > 0 && Some(lost) <= summary["lost"].as_u64(), "{lost} of {summary}");
    assert_eq!(summary["bytes"], text.len(), "{summary}");
}

/// A recording that is under way: its file has begun.
fn begin(namespace: &Namespace, path: &Path) -> Process {
    let recording = start(namespace, path);
    wait_until("the recording begins", || match fs::metadata(path) {
        Ok(file) if file.len() > 0 => Ok(()),
        other => Err(format!("{other:?}, {}", recording.stderr())),
    });
    recording
}

fn start(namespace: &Namespace, path: &Path) -> Process {
    let file = path.to_str().expect("a path");
    let mut command = namespace.command(GATEWAY);
    command.args(["record", "--json", "-o", file]);
    Process::start("bentpipe gateway record", &mut command).expect("it starts")
}

/// Ends it as Ctrl-C does. What it says.
fn end(mut recording: Process) -> Value {
    recording.signal(Signal::SIGINT);
    let status = recording.wait(PATIENCE).expect("it ends");
    let output = recording.stdout();
    assert!(status.success(), "{output} {}", recording.stderr());
    serde_json::from_str(output.trim()).unwrap_or_else(|error| panic!("{output}: {error}"))
}

/// tshark reads it; each segment with data that the gateway has sent has a cause, and what the link
/// lost was retransmitted.
fn packets(path: &Path) {
    let file = path.to_str().expect("a path");
    let fields = [
        "frame.interface_name",
        "frame.packet_flags_direction",
        "tcp.len",
        "frame.comment",
        "frame.time_epoch",
    ];
    let fields = fields.iter().flat_map(|field| ["-e", field]);
    let arguments: Vec<&str> = ["-r", file, "-T", "fields"].into_iter().chain(fields).collect();
    let output = std::process::Command::new("tshark").args(arguments).output().expect("tshark");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a time");
    let at: f64 = rows[0][4].parse().expect("a time");
    assert!((since.as_secs_f64() - at).abs() < 600.0, "{at}, now it is {since:?}");
    let mut sent = 0;
    for row in rows.iter().filter(|row| row[0] == "satellite" && row[1].ends_with('2')) {
        let len: usize = row[2].parse().unwrap_or(0);
        assert!(row[3].starts_with("cause: "), "{row:?}");
        sent += len;
    }
    assert!(sent > SIZE, "{sent} bytes, what was lost twice: {}", &text[..text.len().min(500)]);
    assert!(rows.iter().any(|row| row[0] == "lan"), "both legs are there");
    let again = |cause: &str| rows.iter().any(|row| row[3] == format!("cause: {cause}"));
    assert!(again("fast-retransmit") && again("handshake"), "{text:.2000}");
}

/// The events of a file, behind its header.
fn records(text: &str) -> Vec<Value> {
    let records = text.split('\x1E').skip(2);
    records.map(|record| serde_json::from_str(record).expect("a record")).collect()
}

/// Each segment with data has a cause; the legs have their limiters and windows.
fn events(path: &Path) {
    let text = fs::read_to_string(path).expect("the file");
    let events = records(&text);
    let header: Value =
        serde_json::from_str(&text[1..text.find('\n').expect("a line")]).expect("JSON");
    let clock = header["trace"]["common_fields"]["reference_time"]["wall_clock_time"].as_str();
    let zero = humantime::parse_rfc3339(clock.expect("a wall clock")).expect("a time");
    let ago = SystemTime::now().duration_since(zero).expect("the gateway has begun");
    assert!(ago < Duration::from_secs(600), "{clock:?}");
    let named = |name: &str| -> Vec<&Value> {
        let name = format!("tcp:{name}");
        events.iter().filter(|event| event["name"] == name.as_str()).collect()
    };
    let sent = named("segment_sent");
    let data = sent.iter().filter(|event| event["data"]["length"].as_u64() > Some(0));
    let over_link = data.filter(|event| {
        assert!(event["data"]["cause"].is_string(), "{event}");
        event["group_id"].as_str().is_some_and(|group| group.ends_with("/satellite"))
    });
    let bytes: u64 = over_link.filter_map(|event| event["data"]["length"].as_u64()).sum();
    assert!(bytes > SIZE as u64, "{bytes}");
    assert!(!named("limiter_updated").is_empty() && !named("segment_received").is_empty());
    let metrics = named("metrics_updated");
    for figure in ["cwnd", "smoothed_rtt", "lost"] {
        assert!(metrics.iter().any(|event| event["data"][figure].is_number()), "{figure}");
    }
    assert!(named("events_lost").is_empty());
}

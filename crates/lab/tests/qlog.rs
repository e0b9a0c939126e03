//! Recordings as an experiment leaves them: valid by the published schema, and whole.

use bentpipe_lab::{Folder, Options, execute};
use bentpipe_scenario::Experiment;
use cddl::validator::Validator;
use cddl::validator::json::JSONValidator;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

const TEXT: &str = r#"
[run]
duration = "60s"
[host.server]
[host.client]
[link.sat]
between = ["server", "client"]
rate = "2Mbit/s"
delay = "50ms"
queue = "12packets"
[flow.file]
from = "server"
to = "client"
bytes = "200KB"
[record]
qlog = true
"#;

/// The events of a host or gateway, each checked against the schema.
fn events(folder: &Path, host: &str) -> Vec<Value> {
    let page = include_str!("../../../docs/qlog-tcp.md");
    let (_, schema) = page.split_once("```cddl\n").unwrap();
    let schema = cddl::cddl_from_str(schema.split_once("```").unwrap().0, true).unwrap();
    let file = folder.join(format!("packets/point-0-run-0/{host}.qlog"));
    let text = fs::read_to_string(file).unwrap();
    let records: Vec<Value> =
        text.split('\x1E').skip(1).map(|record| serde_json::from_str(record).unwrap()).collect();
    for record in &records {
        let valid = JSONValidator::new(&schema, record.clone(), None).validate();
        assert!(valid.is_ok(), "{record}: {valid:?}");
    }
    records[1..].to_vec()
}

fn named<'a>(events: &'a [Value], name: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event["name"].as_str().unwrap()[4..] == *name)
}

/// What retransmissions of lost segments have for causes.
const AGAIN: [&str; 8] = [
    "fast-retransmit",
    "rack",
    "fast-recovery",
    "partial-ack",
    "rescue",
    "spare-copy",
    "timeout",
    "after-timeout",
];

/// A folder with the results of this scenario.
fn results(text: &str) -> TempDir {
    let experiment = Experiment::parse("x.toml", text, &|_| Err(String::new())).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (results, store) = Folder::open(folder.path()).unwrap();
    let (threads, stop) = (NonZeroUsize::MIN, AtomicBool::new(false));
    let options = Options {
        runner: &bentpipe_sim::run_into,
        threads,
        point: None,
        run: None,
        shard: None,
        stop: &stop,
    };
    let executed = execute(&experiment, &store, &options, &|_| {}).unwrap();
    assert_eq!(executed.failures, []);
    results.write(&experiment, &store, &executed).unwrap();
    folder
}

/// A connection through two gateways, the link between them loses, and so does the client's.
const SPLIT: &str = r#"
[run]
duration = "60s"
[host.server]
[host.client]
[gateway.g1]
lan-links = "net"
[gateway.g2]
lan-links = "home"
[link.net]
between = ["server", "g1"]
rate = "100Mbit/s"
delay = "5ms"
[link.sat]
between = ["g1", "g2"]
rate = "4Mbit/s"
delay = "250ms"
loss = 0.01
[link.home]
between = ["g2", "client"]
rate = "20Mbit/s"
delay = "5ms"
loss = 0.01
[flow.file]
from = "server"
to = "client"
bytes = "500KB"
count = 2
[flow.other]
from = "client"
to = "server"
bytes = "100KB"
[record]
packets = true
qlog = true
"#;

/// Time in nanoseconds, length, cause.
type Sent = (i64, u64, String);

#[test]
fn both_legs_of_a_gateway_are_recorded() {
    let folder = results(SPLIT);
    let run = folder.path().join("packets/point-0-run-0");
    let names: BTreeSet<String> = fs::read_dir(&run)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let expected = [
        "client.pcapng",
        "client.qlog",
        "g1.qlog",
        "g1@lan.pcapng",
        "g1@satellite.pcapng",
        "g2.qlog",
        "g2@lan.pcapng",
        "g2@satellite.pcapng",
        "server.pcapng",
        "server.qlog",
    ];
    assert!(names.iter().eq(&expected), "{names:?}");
    let mut again = BTreeSet::new();
    for gateway in ["g1", "g2"] {
        let all = events(folder.path(), gateway);
        for leg in ["lan", "satellite"] {
            let of_leg = |event: &&Value| {
                event["group_id"].as_str().unwrap().rsplit_once('/').unwrap().1 == leg
            };
            let mine: Vec<Value> = all.iter().filter(of_leg).cloned().collect();
            // Of three connections, each once.
            assert_eq!(named(&mine, "connection_started").count(), 3, "{gateway} {leg}");
            let started = named(&mine, "connection_started");
            assert!(started.into_iter().all(|it| it["data"]["leg"] == leg));
            again.extend(leg_is_told(&mine).map(|cause| (gateway, leg, cause)));

            // What has passed that side, and why, is in its capture, too: none is missing, and none
            // is there twice.
            let capture = fs::File::open(run.join(format!("{gateway}@{leg}.pcapng"))).unwrap();
            let capture = bentpipe_capture::read(capture).unwrap();
            let segments = capture.connections.iter().flat_map(|it| &it.segments);
            let mut sent: Vec<Sent> = segments
                .filter_map(|it| Some((it.at, it.len.into(), it.recorded?.name().to_owned())))
                .collect();
            let mut told: Vec<Sent> = named(&mine, "segment_sent")
                .map(|event| {
                    let (at, data) = (event["time"].as_f64().unwrap(), &event["data"]);
                    let cause = data["cause"].as_str().expect("a cause").to_owned();
                    ((at * 1e6).round() as i64, data["length"].as_u64().unwrap(), cause)
                })
                .collect();
            sent.sort();
            told.sort();
            assert!(sent.len() > 200 && sent == told, "{gateway} {leg}: {}", sent.len());
        }
    }
    let lossy = [("g1", "satellite"), ("g2", "lan")];
    for (gateway, leg) in lossy {
        assert!(again.iter().any(|it| (it.0, it.1) == (gateway, leg)), "{gateway} {leg}");
    }
    assert!(!again.iter().any(|it| (it.0, it.1) == ("g1", "lan")), "it loses nothing: {again:?}");
}

/// The events of a leg tell of each connection why data left, what kept it back, and by which rules
/// windows changed. Returns the causes of what was retransmitted.
fn leg_is_told(events: &[Value]) -> impl Iterator<Item = String> + use<> {
    let mut highest: BTreeMap<&str, u64> = BTreeMap::new();
    let mut causes = BTreeSet::new();
    for event in named(events, "segment_sent") {
        let data = &event["data"];
        let (seq, len) = (data["seq"].as_u64().unwrap(), data["length"].as_u64().unwrap());
        let cause = data["cause"].as_str().expect("a cause");
        if len > 0 {
            let highest = highest.entry(event["group_id"].as_str().unwrap()).or_default();
            let again = AGAIN.contains(&cause);
            assert!(cause == "tail-loss-probe" || again == (seq < *highest), "{event}");
            *highest = (*highest).max(seq + len);
            causes.extend(again.then(|| cause.to_owned()));
        }
    }
    for group in highest.keys() {
        let mine = |event: &&Value| event["group_id"] == **group;
        let limiters = named(events, "limiter_updated").filter(mine);
        let limiters: Vec<&str> = limiters.map(|it| it["data"]["new"].as_str().unwrap()).collect();
        assert_eq!(limiters.last(), Some(&"closed"), "{group}: {limiters:?}");
        assert!(limiters.windows(2).all(|two| two[0] != two[1]), "{group}: {limiters:?}");
        for event in named(events, "metrics_updated").filter(mine).skip(1) {
            let data = &event["data"];
            let changed = data["cwnd"].is_u64() || data["ssthresh"].is_u64();
            assert_eq!(data["rule"].is_string(), changed, "{event}");
        }
    }
    let times: Vec<f64> = events.iter().map(|event| event["time"].as_f64().unwrap()).collect();
    assert!(times.is_sorted(), "in the order of time");
    causes.into_iter()
}

#[test]
fn every_segment_has_a_cause_and_every_silence_a_limiter() {
    let folder = results(TEXT);
    let files = fs::read_dir(folder.path().join("packets/point-0-run-0")).unwrap();
    assert_eq!(files.count(), 2, "no captures of packets: they were not asked for");

    let events_of = |host| events(folder.path(), host);
    let (server, client) = (events_of("server"), events_of("client"));
    let mut highest = 0;
    let mut bytes = 0;
    for event in named(&server, "segment_sent") {
        let data = &event["data"];
        let (seq, len) = (data["seq"].as_u64().unwrap(), data["length"].as_u64().unwrap());
        let cause = data["cause"].as_str().expect("a cause");
        if len > 0 {
            let probe = cause == "tail-loss-probe";
            assert!(probe || AGAIN.contains(&cause) == (seq < highest), "{event}");
            highest = highest.max(seq + len);
            bytes += len;
        }
    }
    assert_eq!(highest, 200_001, "all was sent");
    assert!(bytes > 200_000, "and something again");
    assert!(named(&client, "segment_sent").all(|event| event["data"]["cause"].is_string()));

    // While data is outstanding, the window and at last the end of the stream are what limits.
    let limiters: Vec<&str> =
        named(&server, "limiter_updated").map(|it| it["data"]["new"].as_str().unwrap()).collect();
    assert_eq!(limiters.first(), Some(&"handshake"));
    assert_eq!(limiters.last(), Some(&"closed"));
    assert!(limiters.contains(&"cwnd"), "{limiters:?}");
    assert!(limiters.windows(2).all(|two| two[0] != two[1]), "{limiters:?}");

    // Each change of a window has its rule, and the rules are those of losses in slow start.
    let mut rules = BTreeSet::new();
    for event in named(&server, "metrics_updated").skip(1) {
        let data = &event["data"];
        let changed = data["cwnd"].is_u64() || data["ssthresh"].is_u64();
        assert_eq!(data["rule"].is_string(), changed, "{event}");
        rules.extend(data["rule"].as_str());
    }
    for rule in ["slow-start", "recovery-entered", "timeout"] {
        assert!(rules.contains(rule), "{rules:?}");
    }
    let phases: Vec<_> = named(&server, "congestion_state_updated").collect();
    assert!(phases.iter().any(|event| event["data"]["new"] == "recovery"), "{phases:?}");
    let times: Vec<f64> = server.iter().map(|event| event["time"].as_f64().unwrap()).collect();
    assert!(times.is_sorted(), "in the order of time");
    assert_eq!(named(&server, "connection_started").count(), 1);
}

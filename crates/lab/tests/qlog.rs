//! Recordings as an experiment leaves them: valid by the published schema, and whole.

use bentpipe_lab::{Folder, Options, execute};
use bentpipe_scenario::Experiment;
use cddl::validator::Validator;
use cddl::validator::json::JSONValidator;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

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

/// The events of a host, each checked against the schema.
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

#[test]
fn every_segment_has_a_cause_and_every_silence_a_limiter() {
    let experiment = Experiment::parse("x.toml", TEXT, &|_| Err(String::new())).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (results, store) = Folder::open(folder.path()).unwrap();
    let (threads, stop) = (NonZeroUsize::MIN, AtomicBool::new(false));
    let options = Options { threads, point: None, run: None, shard: None, stop: &stop };
    let executed = execute(&experiment, &store, &options, &|_| {}).unwrap();
    results.write(&experiment, &store, &executed).unwrap();
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
            let again =
                ["fast-retransmit", "rack", "fast-recovery", "rescue", "timeout", "after-timeout"];
            let probe = cause == "tail-loss-probe";
            assert!(probe || again.contains(&cause) == (seq < highest), "{event}");
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

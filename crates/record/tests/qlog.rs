//! Recordings are as `docs/qlog-tcp.md` specifies: its CDDL takes them, and refuses spoilt ones.

use bentpipe_core::tcp::cause::Cause;
use bentpipe_core::tcp::connection::State;
use bentpipe_core::tcp::limiter::Limiter;
use bentpipe_core::tcp::observation::{Observation, Phase, Signs, TimersAt};
use bentpipe_core::tcp::window_rule::WindowRule;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Offset};
use bentpipe_core::wire::{Flags, SackBlock, SeqNum, TcpHeader};
use bentpipe_record::{
    Change, Direction, Endpoint, Event, ObservedConnection, Recorder, Segment, Sink, Timer, qlog,
};
use cddl::validator::Validator;
use cddl::validator::json::JSONValidator;
use serde_json::{Value, json};

const PAGE: &str = include_str!("../../../docs/qlog-tcp.md");

/// The schema in the page.
fn schema() -> &'static str {
    let (_, rest) = PAGE.split_once("```cddl\n").expect("the page has it");
    rest.split_once("```").expect("it ends").0
}

fn validate(record: &Value) -> Result<(), String> {
    let cddl = cddl::cddl_from_str(schema(), true).expect("it is CDDL");
    let mut validator = JSONValidator::new(&cddl, record.clone(), None);
    validator.validate().map_err(|error| error.to_string())
}

/// The records of a file.
fn records(file: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(file).unwrap();
    assert!(text.starts_with('\x1E') && text.ends_with('\n'), "RFC 7464");
    text.split('\x1E').skip(1).map(|record| serde_json::from_str(record).unwrap()).collect()
}

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn endpoint() -> Endpoint {
    let (local, remote) = ("10.0.0.1:80".parse().unwrap(), "[2001:db8::2]:4000".parse().unwrap());
    Endpoint { local, remote, leg: Some("lan") }
}

fn observation() -> Observation {
    Observation {
        limiter: None,
        phase: Phase::Open,
        cwnd: Bytes::new(10_000),
        ssthresh: None,
        in_flight: Bytes::new(10_000),
        snd_una: Offset::new(1),
        snd_nxt: Offset::new(10_001),
        window_edge: Offset::new(100_001),
        written: Offset::new(50_001),
        delivered: Bytes::ZERO,
        lost: Bytes::ZERO,
        srtt: None,
        rttvar: Duration::ZERO,
        min_rtt: None,
        rto: Duration::from_secs(1),
        timers: TimersAt::default(),
        signs: Signs::default(),
        rcv_nxt: Offset::FIRST,
    }
}

/// What `write` gives, without the header.
fn written(write: impl FnOnce(&mut Recorder<qlog::Writer<Vec<u8>>>)) -> Vec<Value> {
    let header =
        qlog::Header { title: "a \"test\"", vantage_point: "host", wall_clock: Some("now") };
    let mut recorder = Recorder::new(qlog::Writer::new(Vec::new(), header).unwrap());
    write(&mut recorder);
    let file = recorder.into_sink().finish().unwrap();
    let mut records = records(&file);
    for record in &records {
        validate(record).unwrap_or_else(|error| panic!("{record}: {error}"));
    }
    records.remove(0);
    records
}

fn names(records: &[Value]) -> Vec<&str> {
    records.iter().map(|record| record["name"].as_str().unwrap()).collect()
}

/// A SYN with a window scale, and data behind it near the end of the numbers.
#[test]
fn positions_are_offsets_and_windows_are_scaled() {
    let isn = SeqNum(u32::MAX - 10);
    let mut syn = TcpHeader { seq: isn, flags: Flags::SYN, window: 1000, ..TcpHeader::default() };
    syn.options.window_scale = Some(3);
    let mut answer = TcpHeader { seq: SeqNum(500), ack: isn + 1, ..syn.clone() };
    answer.flags = Flags::SYN | Flags::ACK;
    let mut data =
        TcpHeader { seq: isn + 101, ack: SeqNum(501), window: 1000, ..TcpHeader::default() };
    data.flags = Flags::ACK | Flags::PSH;
    let (left, right) = (SeqNum(601), SeqNum(701));
    data.options.sack.push(SackBlock { left, right });
    let records = written(|recorder| {
        let mut pass = |direction, tcp: &TcpHeader, len, cause| {
            let segment = Segment { direction, tcp, len, cause };
            recorder.segment(at(1), &endpoint(), segment);
        };
        pass(Direction::Sent, &syn, 0, Some(Cause::Handshake));
        pass(Direction::Received, &answer, 0, None);
        pass(Direction::Sent, &data, 50, Some(Cause::Written));
    });
    let expected = ["connection_started", "segment_sent", "segment_received", "segment_sent"];
    assert_eq!(names(&records), expected.map(|name| format!("tcp:{name}")));
    assert_eq!(records[0]["data"]["local_isn"], isn.0);
    assert_eq!(records[1]["data"]["window"], 1000, "of a SYN it is not scaled");
    assert_eq!(
        records[3]["data"],
        json!({
            "seq": 101, "length": 50, "ack": 1, "flags": ["psh", "ack"], "window": 8000,
            "sack": [[101, 201]], "cause": "written",
        })
    );
    assert_eq!(records[3]["group_id"], "10.0.0.1:80-[2001:db8::2]:4000/lan");
}

#[test]
fn what_has_not_changed_is_not_written() {
    let first = observation();
    let mut second = first;
    second.timers.retransmission = Some(at(300));
    let mut third = second;
    third.snd_una = Offset::new(1_001);
    third.cwnd = Bytes::new(11_000);
    third.srtt = Some(Duration::from_micros(2_500));
    third.timers.retransmission = None;
    let mut fourth = third;
    fourth.phase = Phase::Loss;
    fourth.timers.recovery = Some(at(400));
    let mut fifth = fourth;
    fifth.timers.recovery = None;
    let records = written(|recorder| {
        let mut see = |at, limiter, observation| {
            let state = Some(State::Established);
            let observation = Some(observation);
            recorder.observe(at, &endpoint(), ObservedConnection { state, limiter, observation });
        };
        see(at(0), None, &first);
        see(at(0), Some(Limiter::Cwnd), &second);
        see(at(10), Some(Limiter::Cwnd), &second);
        see(at(100), None, &third);
        see(at(100), Some(Limiter::PeerWindow), &fourth);
        see(at(400), Some(Limiter::PeerWindow), &fifth);
    });
    let short: Vec<(f64, &str, Value)> = records
        .iter()
        .map(|it| (it["time"].as_f64().unwrap(), it["name"].as_str().unwrap(), it["data"].clone()))
        .collect();
    let timer = |event_type: &str, timer: &str| json!({"timer": timer, "event_type": event_type});
    assert_eq!(
        names(&records[..4])[1..],
        ["tcp:connection_state_updated", "tcp:congestion_state_updated", "tcp:metrics_updated"]
    );
    let set = json!({"timer": "retransmission", "event_type": "set", "delta": 300.0});
    assert_eq!(short[4], (0.0, "tcp:timer_updated", set));
    assert_eq!(short[5], (0.0, "tcp:limiter_updated", json!({"new": "cwnd"})));
    assert_eq!(short[6], (100.0, "tcp:timer_updated", timer("cancelled", "retransmission")));
    let changed = json!({
        "cwnd": 11_000, "snd_una": 1_001, "smoothed_rtt": 2.5, "rtt_variance": 0.0, "rule": "slow-start"
    });
    assert_eq!(short[7], (100.0, "tcp:metrics_updated", changed));
    assert_eq!(short[9].2, json!({"old": "open", "new": "loss"}));
    assert_eq!(short[10].2, json!({"old": "cwnd", "new": "peer-window"}));
    assert_eq!(short[11], (400.0, "tcp:timer_updated", timer("expired", "recovery")));
    assert_eq!(short.len(), 12);
}

/// The page lists every name that there is, and no other.
#[test]
fn the_schema_knows_every_name() {
    let header = qlog::Header::default();
    let mut writer = qlog::Writer::new(Vec::new(), header).unwrap();
    let endpoint = Endpoint { leg: None, ..endpoint() };
    let tcp = TcpHeader::default();
    let (old, new) = (observation(), observation());
    let mut put = |event: &Event<'_>| writer.event(at(5), &endpoint, event);
    for &cause in Cause::ALL {
        let segment = Segment { direction: Direction::Sent, tcp: &tcp, len: 1, cause: Some(cause) };
        put(&Event::Segment { segment, seq: 1, ack: None, window: 0, sack: &[] });
    }
    for &new in Limiter::ALL {
        put(&Event::Limiter { old: Some(new), new });
    }
    for &rule in WindowRule::ALL {
        put(&Event::Metrics { old: Some(&old), new: &new, rule: Some(rule) });
    }
    for timer in Timer::ALL {
        for change in [Change::Set(at(7)), Change::Expired, Change::Cancelled] {
            put(&Event::Timer { timer, change });
        }
    }
    for &new in <State as strum::VariantArray>::VARIANTS {
        put(&Event::State { old: Some(new), new });
    }
    for new in [Phase::Open, Phase::Recovery, Phase::Loss] {
        put(&Event::Phase { old: None, new });
    }
    put(&Event::Lost { count: 7 });
    for record in records(&writer.finish().unwrap()) {
        validate(&record).unwrap_or_else(|error| panic!("{record}: {error}"));
    }
    let listed = |head: &str| {
        let (_, rest) = PAGE.split_once(head).unwrap();
        let rows = rest
            .lines()
            .skip_while(|line| !line.starts_with("| `"))
            .take_while(|line| line.starts_with('|'));
        rows.map(|row| row.split('`').nth(1).unwrap().to_owned()).collect::<Vec<_>>()
    };
    let sorted = |names: &mut Vec<String>| names.sort();
    for (head, names) in [
        ("### Causes", Cause::ALL.iter().map(|it| it.name().to_owned()).collect::<Vec<_>>()),
        ("### Limiters", Limiter::ALL.iter().map(|it| it.name().to_owned()).collect()),
        ("### Rules", WindowRule::ALL.iter().map(|it| it.name().to_owned()).collect()),
    ] {
        let (mut listed, mut names) = (listed(head), names);
        sorted(&mut listed);
        sorted(&mut names);
        assert_eq!(listed, names, "{head}");
    }
}

#[test]
fn spoilt_records_are_refused() {
    let good = json!({
        "time": 1.5, "name": "tcp:segment_sent", "group_id": "a",
        "data": {"seq": 1, "length": 2, "flags": ["ack"], "window": 3, "cause": "rack"},
    });
    assert_eq!(validate(&good), Ok(()));
    let spoil = |pointer: &str, value: Value| {
        let mut record = good.clone();
        *record.pointer_mut(pointer).unwrap() = value;
        validate(&record)
    };
    for (pointer, value) in [
        ("/time", json!("1.5")),
        ("/name", json!("tcp:segment_lost")),
        ("/data/seq", json!("1")),
        ("/data/flags", json!(["nonsense"])),
        ("/data/cause", json!("because")),
        ("/data", json!({"seq": 1})),
        ("/group_id", json!(7)),
    ] {
        assert!(spoil(pointer, value.clone()).is_err(), "{pointer}: {value}");
    }
    let mut more = good.clone();
    more["data"]["colour"] = json!("red");
    assert!(validate(&more).is_err(), "nothing that the page does not say");
}

//! Recordings as an end writes them, and spoilt ones.

use super::*;
use crate::connection::Flags;
use crate::direction::Direction;
use crate::series::Quantity;
use crate::{Class, analyse};
use crate::{Limiter, Said};
use bentpipe_core::tcp::cause::Cause;

const HEADER: &str = r#"{"file_schema":"urn:ietf:params:qlog:file:sequential","serialization_format":"application/qlog+json-seq","trace":{}}"#;
const GROUP: &str = "10.0.0.1:80-10.0.0.2:4000";

fn file(texts: &[String]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for text in std::iter::once(&HEADER.to_owned()).chain(texts) {
        bytes.push(RECORD_SEPARATOR);
        bytes.extend(text.as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

fn event(time: f64, name: &str, data: &str) -> String {
    format!(r#"{{"time":{time:?},"name":"tcp:{name}","group_id":"{GROUP}","data":{data}}}"#)
}

fn started(isn: &str) -> String {
    let ends = r#""local":{"ip":"10.0.0.1","port":80},"remote":{"ip":"10.0.0.2","port":4000}"#;
    event(1.0, "connection_started", &format!("{{{ends},{isn}}}"))
}

fn recording() -> Vec<String> {
    vec![
        event(
            1.0,
            "connection_started",
            r#"{"local":{"ip":"10.0.0.1","port":80},"remote":{"ip":"10.0.0.2","port":4000},"local_isn":4294967290,"remote_isn":7}"#,
        ),
        event(1.0, "segment_received", r#"{"seq":0,"length":0,"flags":["syn"],"window":65535}"#),
        event(
            1.0,
            "segment_sent",
            r#"{"seq":0,"length":0,"ack":1,"flags":["syn","ack"],"window":65535,"cause":"handshake"}"#,
        ),
        event(1.0, "limiter_updated", r#"{"new":"handshake"}"#),
        event(
            51.0,
            "segment_received",
            r#"{"seq":1,"length":0,"ack":1,"flags":["ack"],"window":1048576}"#,
        ),
        event(
            51.0,
            "metrics_updated",
            r#"{"cwnd":14480,"ssthresh":1000000,"smoothed_rtt":50.0,"rto":200.0,"rule":"slow-start","unknown":[1]}"#,
        ),
        event(
            52.0,
            "segment_sent",
            r#"{"seq":1,"length":1000,"ack":1,"flags":["ack","psh"],"window":65535,"cause":"written"}"#,
        ),
        event(52.0, "limiter_updated", r#"{"old":"handshake","new":"cwnd"}"#),
        event(60.0, "unheard_of", r#"{"seq":"no number"}"#),
        event(
            102.0,
            "segment_received",
            r#"{"seq":1,"length":0,"ack":1,"flags":["ack"],"window":1048576,"sack":[[1001,2001]]}"#,
        ),
        event(
            102.5,
            "segment_sent",
            r#"{"seq":1,"length":1000,"ack":1,"flags":["ack"],"window":65535,"cause":"fast-retransmit"}"#,
        ),
    ]
}

#[test]
fn an_ends_recording_is_a_connection_with_what_it_knows() {
    let capture = crate::read(&file(&recording())[..]).unwrap();
    assert_eq!((capture.counts.tcp, capture.connections.len()), (6, 1));
    let connection = &capture.connections[0];
    // The peer sent the SYN: it is the first end.
    assert_eq!(connection.ends.map(|end| end.to_string()), ["10.0.0.2:4000", "10.0.0.1:80"]);
    let segments = &connection.segments;
    assert_eq!(segments[3].direction, Direction::Backward);
    assert_eq!((segments[3].seq, segments[3].recorded), (4_294_967_291, Some(Cause::Written)));
    assert_eq!(segments[3].at, 52_000_000);
    assert_eq!(segments[0].ack, 0);
    assert!(!segments[0].flags.has(Flags::ACK) && segments[1].flags.has(Flags::ACK));
    let analysis = analyse(connection);
    assert_eq!(analysis.facts[2].window, Some(1_048_576), "it was scaled already");
    assert_eq!((analysis.facts[3].seq, analysis.facts[3].ack), (1, Some(1)));
    assert_eq!(analysis.sacks_of(4), [(1001, 2001)]);
    assert_eq!(Class::of(&segments[5], &analysis.facts[5]), Some(Class::FastRetransmit));
    let quantities: Vec<_> = connection.series.iter().map(|one| one.quantity).collect();
    assert_eq!(
        quantities,
        [Quantity::Cwnd, Quantity::Ssthresh, Quantity::SmoothedRtt, Quantity::Rto]
    );
    let timer = [(51_000_000, 200_000_000), (102_500_000, 200_000_000)];
    assert_eq!(connection.series[3].values, timer, "it holds until the end");
    assert_eq!(connection.series[0].end, Some(Direction::Backward));
    let [none, limits] = &connection.limits;
    assert!(none.is_empty());
    let limits: Vec<_> = limits.iter().map(|l| (l.begin, l.end, l.said())).collect();
    assert_eq!(
        limits,
        [
            (0, 51_000_000, Said::One(Limiter::Handshake)),
            (51_000_000, 101_500_000, Said::One(Limiter::CongestionWindow))
        ]
    );
    let story = crate::explain::explain(connection, &analysis, Direction::Backward);
    let silence = story.silences().next().unwrap();
    assert_eq!((silence.said(), silence.inferred()), (Said::One(Limiter::CongestionWindow), false));
}

#[test]
fn a_group_whose_beginning_is_missing_is_known_by_its_name() {
    let sent = r#"{"seq":3000000000,"length":9,"flags":[],"window":1}"#;
    let text = event(1.0, "segment_sent", sent).replace(GROUP, "[::1]:5-[::2]:6/lan");
    let capture = crate::read(&file(&[text])[..]).unwrap();
    let connection = &capture.connections[0];
    assert_eq!(connection.ends.map(|end| end.to_string()), ["[::1]:5", "[::2]:6"]);
    assert_eq!(analyse(connection).facts[0].seq, 0);
}

#[test]
fn another_initial_sequence_number_is_another_connection() {
    let mut texts = recording();
    texts.push(started(r#""remote_isn":8"#));
    texts.push(event(
        200.0,
        "segment_received",
        r#"{"seq":0,"length":0,"flags":["syn"],"window":9}"#,
    ));
    let capture = crate::read(&file(&texts)[..]).unwrap();
    let lengths: Vec<_> = capture.connections.iter().map(|one| one.segments.len()).collect();
    assert_eq!(lengths, [6, 1]);
}

#[test]
fn spoilt_files_get_one_clear_line() {
    let why = |bytes: &[u8]| {
        let why = crate::read(bytes).unwrap_err().to_string();
        assert_eq!(why.lines().count(), 1, "{why}");
        why
    };
    let with = |text: String| file(&[text]);
    assert!(why(b"{\"qlog_version\":1}").contains("RFC 7464"));
    assert!(why(b"\x1E{}\n").contains("JSON text 1 cannot be read: missing field `file_schema`"));
    assert!(why(b"\x1E{\"file_schema\":\"x\"}\n").contains("its file_schema is \"x\""));
    let text = with(event(1.0, "limiter_updated", r#"{"new":"gremlins"}"#));
    assert!(why(&text).contains("JSON text 2 cannot be read: there is no limiter \"gremlins\""));
    let text = with(event(1.0, "segment_sent", r#"{"seq":-1}"#));
    assert!(why(&text).contains("JSON text 2 cannot be read: invalid value"), "{}", why(&text));
    let sent = r#"{"seq":1,"length":9,"flags":[],"window":1}"#;
    let text = with(event(1.0, "segment_sent", sent).replace(GROUP, "nobody"));
    assert!(why(&text).contains("its group_id \"nobody\" names no addresses"));
    let long = format!("\x1E{}", "x".repeat(TEXT_MAX as usize + 9));
    assert!(why(long.as_bytes()).contains("longer than"));
}

#[test]
fn a_file_whose_writer_was_stopped_is_read_up_to_there() {
    let mut bytes = file(&recording());
    bytes.truncate(bytes.len() - 30);
    let capture = crate::read(&bytes[..]).unwrap();
    assert_eq!(capture.damage, Some(Damage::Truncated));
    assert_eq!(capture.connections[0].segments.len(), 5);
}

proptest::proptest! {
    #[test]
    fn no_recording_makes_it_panic(
        changes in proptest::collection::vec((0_usize..2500, proptest::num::u8::ANY), 0..6),
        digits in proptest::collection::vec((0_usize..2500, b'0'..=b'9'), 0..20),
    ) {
        let mut bytes = file(&recording());
        for (at, value) in digits {
            // Numbers that are other ones than before.
            if let Some(byte) = bytes.get_mut(at).filter(|byte| byte.is_ascii_digit()) {
                *byte = value;
            }
        }
        for (at, value) in changes {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        if let Ok(capture) = crate::read(&bytes[..]) {
            for connection in &capture.connections {
                let graph = crate::page::Graph {
                    file: String::new(),
                    connection,
                    direction: Direction::Backward,
                    series: Vec::new(),
                };
                let _ = crate::page::write("", &[graph], false);
            }
        }
    }
}

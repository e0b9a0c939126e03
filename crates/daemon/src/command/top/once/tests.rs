use super::*;
use crate::command::top::look::Question;
use crate::command::top::model::tests::{flow, leg, status};
use bentpipe_linux::serve::ClientError;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

/// A gateway that has run a second longer with each question for its status.
fn gateway(question: Question) -> Result<Vec<u8>, ClientError> {
    static SECONDS: AtomicU64 = AtomicU64::new(0);
    let seconds = match question {
        Question::Status => SECONDS.fetch_add(1, Ordering::Relaxed) + 1,
        _ => SECONDS.load(Ordering::Relaxed),
    };
    let legs = [
        leg("lan", 250_000 * seconds, 0, "application"),
        leg("satellite", 1_000_000 * seconds, 9, "link-turn"),
    ];
    let answer = match question {
        Question::Status => status(seconds as f64, 1_000_000 * seconds),
        Question::Flows => {
            json!([flow(1, "10.0.0.7:40112", "192.0.2.9:443", 5.0 + seconds as f64, legs)])
        }
        Question::Unsplit => json!([]),
    };
    Ok(answer.to_string().into_bytes())
}

#[test]
fn a_look_has_the_same_as_text_and_as_json() {
    let text = look(gateway, Duration::ZERO, false).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    assert!(text.starts_with("splits  peer known"), "{text}");
    for words in ["192.0.2.9:443", "8.00M", "2.00M", "↑link", "192.0.2.0/24", "new-reason"] {
        assert!(text.contains(words), "no {words} in {text}");
    }
    let report: Value =
        serde_json::from_str(&look(gateway, Duration::ZERO, true).unwrap()).unwrap();
    assert_eq!(report["interval_s"], 1.0);
    let flow = &report["flows"][0];
    assert_eq!(flow["legs"]["server"]["rate_bps"], 8e6);
    assert_eq!(
        flow["held_back"],
        json!({ "leg": "server", "side": "satellite", "limiter": "link-turn" })
    );
    assert_eq!(report["link"]["to_satellite_bps"], 8e6);
    assert_eq!(report["link"]["state"], "splits");
    assert_eq!(
        (&report["subscribers"][0]["address"], &report["subscribers"][0]["flows"]),
        (&json!("10.0.0.7"), &json!(1))
    );
    assert_eq!(report["not_split"]["reasons"][0]["reason"], "new-reason");
}

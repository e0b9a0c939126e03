//! A story as JSON.

use super::super::{Event, Outcome, Run, Shares, Sums, Trigger, Why};
use super::{Told, Totals, tell};
use crate::analysis::Repeat;
use crate::connection::Connection;
use crate::evidence::{Evidence, Said};
use crate::silence::{Basis, Silence};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

fn s(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

/// What both ends of a connection sent, and why; `file` is the capture's path.
#[must_use]
pub fn as_json(file: &str, connection: &Connection) -> Value {
    let Told { handshake, left_out, directions } = tell(connection);
    let directions = directions.into_iter().map(|(direction, sums, story)| {
        let acks = story.acks.iter().map(|(class, count)| {
            (class.map_or("unknown", |class| class.name()).to_owned(), json!(count))
        });
        json!({
            "sender": connection.ends[direction.index()].to_string(),
            "recorded": story.recorded,
            "sums": sums_as_json(&sums),
            "events": story.events.iter().map(event_as_json).collect::<Vec<_>>(),
            "acks_recorded": story.acks_recorded,
            "acks": acks.collect::<Map<String, Value>>(),
        })
    });
    let handshake = handshake.map(|handshake| {
        let (outcome, opened) = match handshake.outcome {
            Outcome::Opened { at, .. } => {
                ("opened", Some(s(at.saturating_sub(handshake.called.0))))
            }
            Outcome::AnswerMissing => ("opened", None),
            Outcome::HalfOpen => ("half-open", None),
            Outcome::Refused => ("refused", None),
            Outcome::Unanswered => ("unanswered", None),
        };
        json!({
            "outcome": outcome,
            "syns": handshake.syns,
            "answers": handshake.answers,
            "accurate_ecn": handshake.accurate_ecn,
            "calling_s": s(handshake.called.1.saturating_sub(handshake.called.0)),
            "opened_s": opened,
        })
    });
    json!({
        "file": file,
        "number": connection.number,
        "ends": connection.ends.map(|end| end.to_string()),
        "handshake": handshake,
        "copies": left_out.0,
        "earlier": left_out.1,
        "directions": directions.collect::<Vec<Value>>(),
    })
}

/// What kept a sender from sending: what it is called, the one or two that it may be, and why
/// nothing is said.
fn said_as_json(said: Said) -> (Value, Value, Value) {
    let limiters: Vec<&str> = said.limiters().map(crate::Limiter::name).collect();
    let unknown = match said {
        Said::Unknown(reason) => Some(reason.name()),
        _ => None,
    };
    let name = if limiters.is_empty() { "unknown".to_owned() } else { said.name() };
    (json!(name), json!(limiters), json!(unknown))
}

/// The sums of several connections.
#[must_use]
pub fn totals_as_json(totals: &Totals) -> Value {
    json!({
        "connections": totals.connections,
        "refused": totals.failed.0,
        "never_answered": totals.failed.1,
        "sums": sums_as_json(&totals.sums),
    })
}

fn sums_as_json(sums: &Sums) -> Value {
    let Sums { summary: sums, shares, waits, causes: by_cause } = sums;
    let Shares { total, sending } = *shares;
    let limited = waits.times.iter().map(|(&said, &(time, times))| {
        let (name, limiters, unknown) = said_as_json(said);
        json!({
            "limiter": name, "limiters": limiters, "unknown": unknown,
            "time_s": s(time), "times": times,
        })
    });
    let mut causes: BTreeMap<&str, u64> = BTreeMap::new();
    for (&why, &count) in by_cause {
        *causes.entry(cause(why)).or_default() += count;
    }
    let trips = &sums.round_trips;
    json!({
        "time_s": s(total),
        "sending_s": s(sending),
        "limited": limited.collect::<Vec<_>>(),
        "longest_wait_s": s(waits.longest),
        "segments": causes,
        "packets": sums.packets,
        "copies": sums.copies,
        "bytes": sums.bytes,
        "retransmissions": sums.retransmissions,
        "retransmitted_bytes": sums.retransmitted_bytes,
        "late": sums.late,
        "late_or_retransmitted": sums.undecided,
        "round_trip": {
            "samples": trips.samples,
            "min_s": trips.min.map(s),
            "mean_s": trips.mean().map(s),
            "max_s": trips.max.map(s),
        },
        "duplicate_acks": sums.duplicate_acks,
        "sacks": sums.sacks.0,
        "dsacks": sums.sacks.1,
        "zero_windows": sums.zero_windows,
        "initial_window_bytes": sums.initial_window,
        "first_answer_s": sums.first_answer.map(s),
        "ecn": { "ce": sums.ecn[0], "ece": sums.ecn[1], "cwr": sums.ecn[2] },
    })
}

fn event_as_json(event: &Event) -> Value {
    match event {
        Event::Run(run) => run_as_json(run),
        Event::Silence(silence) => silence_as_json(silence),
        Event::Missing { at, packet, bytes } => json!({
            "event": "missing", "at_s": s(*at), "packet": packet, "bytes": bytes,
        }),
        Event::Reduced { at, packet, echo } => json!({
            "event": "cwnd-reduced", "at_s": s(*at), "packet": packet, "ece_packet": echo,
        }),
    }
}

fn cause(why: Why) -> &'static str {
    match why {
        Why::Recorded(cause) => cause.name(),
        Why::Inferred(cause) => cause.name(),
        Why::Untold(_) => "unknown",
        Why::New => "new data",
        Why::Late => "late",
        Why::Undecided => "late or retransmitted",
        Why::WindowProbe => "window probe",
        Why::KeepAlive => "keep-alive",
    }
}

fn run_as_json(run: &Run) -> Value {
    let proof = match run.repeat {
        Repeat::Retransmitted(proof) | Repeat::Late(proof) => Some(proof.name()),
        Repeat::New | Repeat::Undecided => None,
    };
    let unknown = match run.why {
        Why::Untold(reason) => Some(reason.name()),
        _ => None,
    };
    json!({
        "event": "segments",
        "begin_s": s(run.begin),
        "end_s": s(run.end),
        "packets": [run.frames.0, run.frames.1],
        "segments": run.segments,
        "bytes": run.bytes,
        "sequence": [run.seq.0, run.seq.1],
        "cause": cause(run.why),
        "unknown": unknown,
        "inferred": !matches!(run.why, Why::Recorded(_)),
        "again": run.again,
        "proof": proof,
        "trigger": run.trigger.map(|trigger| match trigger {
            Trigger::Ack { frame, ack, duplicates, sacked } => json!({
                "packet": frame, "ack": ack, "duplicates": duplicates, "sacked_to": sacked,
            }),
            Trigger::Quiet { nanos, acked } => json!({ "quiet_s": s(nanos), "acked": acked }),
        }),
    })
}

fn silence_as_json(silence: &Silence) -> Value {
    let (name, limiters, unknown) = said_as_json(silence.said());
    let evidence = match silence.basis {
        Basis::Recorded(_) => Value::Null,
        Basis::Inferred(evidence) => evidence_as_json(evidence),
    };
    json!({
        "event": "silence",
        "begin_s": s(silence.begin),
        "end_s": s(silence.end),
        "limiter": name,
        "limiters": limiters,
        "unknown": unknown,
        "inferred": silence.inferred(),
        "evidence": evidence,
    })
}

fn evidence_as_json(evidence: Evidence) -> Value {
    let mut fields = match evidence {
        Evidence::Opening | Evidence::Ended | Evidence::WindowAndLoss | Evidence::None(_) => {
            json!({})
        }
        Evidence::WindowFull { packet, .. } => json!({ "packet": packet }),
        Evidence::WindowZero { packet } => json!({ "packet": packet }),
        Evidence::AllAcknowledged { packet, nanos } | Evidence::BrieflyIdle { packet, nanos } => {
            json!({ "packet": packet, "acknowledged_s": s(nanos) })
        }
        Evidence::AllSent { packet, bytes } | Evidence::ShortBehindFull { packet, bytes } => {
            json!({ "packet": packet, "in_flight": bytes })
        }
        Evidence::PeersData { packet, all, .. } => {
            json!({ "packet": packet, "acknowledges_all": all })
        }
        Evidence::Unprompted { nanos, .. } | Evidence::MoreWritten { nanos } => {
            json!({ "quiet_s": s(nanos) })
        }
        Evidence::AckClock { packet, flights, room, recovery, paced, .. } => json!({
            "packet": packet,
            "in_flight": flights.0,
            "max_in_flight": flights.1,
            "window_has_room": room,
            "recovery_since_packet": recovery,
            "paced": paced,
        }),
        Evidence::ShortSegments { packet, times, writes, .. } => {
            json!({ "packet": packet, "times": times, "writes": writes })
        }
    };
    if let Value::Object(fields) = &mut fields {
        fields.insert("shown".to_owned(), json!(evidence.id()));
    }
    fields
}

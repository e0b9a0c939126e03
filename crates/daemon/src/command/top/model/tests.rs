use super::*;
use crate::command::top::look::Status;
use crate::command::top::model::flows::End;
use serde_json::{Value, json};

/// A leg that has delivered so much.
pub(crate) fn leg(side: &str, delivered: u64, backlog: u64, limiter: &str) -> Value {
    json!({
        "side": side, "srtt_s": 0.612, "rttvar_s": 0.004, "min_rtt_s": 0.571,
        "cwnd_bytes": 1_200_000, "ssthresh_bytes": null, "in_flight_bytes": backlog.min(1_100_000),
        "usable_window_bytes": 65_535, "delivered_bytes": delivered, "backlog_bytes": backlog,
        "retransmissions": delivered / 1_000_000, "retransmitted_bytes": delivered / 100,
        "timeouts": 0, "limiter": limiter,
    })
}

/// A flow of this age, that uploads over the satellite.
pub(crate) fn flow(
    number: usize,
    client: &str,
    server: &str,
    age_s: f64,
    legs: [Value; 2],
) -> Value {
    let address = client.rsplit_once(':').unwrap().0.trim_matches(['[', ']']);
    let [client_leg, server_leg] = legs;
    json!({
        "number": number, "opener": address, "client": client, "server": server, "state": "open",
        "age_s": age_s, "idle_s": 0.1, "held_bytes": 1_234_567, "remote": null,
        "legs": { "client": client_leg, "server": server_leg },
    })
}

/// What a gateway says of itself after so long, when it has delivered so much over the satellite.
pub(crate) fn status(uptime_s: f64, delivered: u64) -> Value {
    json!({
        "uptime_s": uptime_s, "peer_known": true, "observes": false, "diverting": true,
        "findings": [], "satellite_link": { "losses": "link", "rate_bps": 8_000_000,
            "rate_told": false, "used_at_bps": 6_150_000, "circuit_broken": false },
        "remotes": [], "flows": { "open": 12, "opening": 2 }, "held_bytes": 12_300_000,
        "memory_bytes": 512_000_000,
        "totals": {
            "legs": { "satellite": { "received_bytes": delivered / 10, "delivered_bytes": delivered,
                "retransmitted_bytes": delivered / 50 } },
            "forwarded_flows": { "policy": 3, "options": 0, "new-reason": 1 },
            "forwarded_packets": { "policy": 30, "options": 0, "new-reason": 9 },
            "forwarded_bytes": { "policy": 3_000, "options": 0, "new-reason": 9_000 },
        },
    })
}

pub(crate) fn look(status: Value, flows: Vec<Value>) -> Look {
    let status: Status = serde_json::from_value(status).unwrap();
    let flows = serde_json::from_value(Value::Array(flows)).unwrap();
    Look { status, flows, unsplit: None }
}

/// An upload, whose satellite leg has delivered so much.
fn upload(number: usize, age_s: f64, delivered: u64) -> Value {
    let legs = [leg("lan", 0, 0, "application"), leg("satellite", delivered, 500_000, "link-turn")];
    flow(number, "10.0.0.7:40112", "192.0.2.9:443", age_s, legs)
}

#[test]
fn rates_are_differences_over_what_the_gateways_clock_says() {
    let mut model = Model::new(look(status(100.0, 1_000_000), vec![upload(1, 10.0, 500_000)]), 3);
    assert_eq!((model.flows[0].up_bps(), model.link.to_satellite_bps), (None, None));
    assert!(model.histories.of(history::id(&model.flows[0])).is_none());
    // Two seconds of the gateway's, however long that took here.
    let flows = vec![upload(1, 12.0, 1_500_000), upload(2, 0.5, 100_000)];
    model.take(look(status(102.0, 2_000_000), flows));
    assert_eq!(model.flows[0].up_bps(), Some(4e6));
    assert_eq!(model.flows[0].down_bps(), Some(0.0));
    assert_eq!(model.flows[1].up_bps(), Some(1.6e6), "since it began");
    assert_eq!(model.link.to_satellite_bps, Some(4e6));
    assert_eq!(model.link.from_satellite_bps, Some(4e5));
    let share = model.link.recent.share().unwrap();
    assert!((share - 20_000.0 / 1_020_000.0).abs() < 1e-9, "{share}");
    // A flow with the same number is another one.
    model.take(look(status(103.0, 2_000_000), vec![upload(1, 0.5, 50_000)]));
    assert_eq!(model.flows[0].up_bps(), Some(8e5));
}

#[test]
fn a_gateway_that_has_restarted_is_looked_at_afresh() {
    let mut model = Model::new(look(status(100.0, 1_000_000), vec![upload(1, 10.0, 500_000)]), 3);
    model.take(look(status(101.0, 1_000_000), vec![upload(1, 11.0, 600_000)]));
    assert!(model.histories.of(history::id(&model.flows[0])).is_some());
    model.take(look(status(1.0, 0), vec![upload(1, 60.0, 900_000)]));
    assert_eq!((model.flows[0].up_bps(), model.link.to_satellite_bps), (None, None));
    assert!(model.histories.of(history::id(&model.flows[0])).is_none());
}

#[test]
fn the_leg_with_more_waiting_says_what_holds_a_flow_back() {
    let held = |legs| {
        let flow = flow(1, "10.0.0.7:1", "192.0.2.9:2", 10.0, legs);
        Model::new(look(status(100.0, 0), vec![flow]), 1).flows[0].held_back.clone()
    };
    let both = held([leg("lan", 9, 5_000, "peer-window"), leg("satellite", 9, 400, "cwnd")]);
    let both = both.unwrap();
    assert_eq!((both.leg, &*both.side, &*both.limiter), (End::Client, "lan", "peer-window"));
    // All that there is has been sent.
    let legs = [leg("lan", 9, 0, "application"), leg("satellite", 9, 400, "application")];
    let sent = flow(1, "10.0.0.7:1", "192.0.2.9:2", 10.0, legs);
    let model = Model::new(look(status(100.0, 0), vec![sent]), 1);
    assert!(!model.flows[0].is_waiting() && model.link.limits.is_empty());
    assert_eq!(
        held([leg("lan", 9, 0, "application"), leg("satellite", 9, 0, "application")]),
        None
    );
}

#[test]
fn the_queue_is_above_the_shortest_round_trip_to_the_remote() {
    let to = |number, remote: &str, min_rtt: f64| {
        let mut flow = upload(number, 10.0, 1);
        flow["remote"] = json!(remote);
        flow["legs"]["server"]["min_rtt_s"] = json!(min_rtt);
        flow
    };
    let flows = vec![
        to(1, "1a2b3c4d", 0.6),
        to(2, "1a2b3c4d", 0.5),
        to(3, "carrier", 0.4),
        to(4, "carrier", 0.6),
    ];
    let model = Model::new(look(status(100.0, 0), flows), 1);
    let queues = model.flows.iter().map(|flow| flow.over_satellite().unwrap().1.queue_s.unwrap());
    let millis: Vec<i64> = queues.map(|queue| (queue * 1e3).round() as i64).collect();
    assert_eq!(millis, [112, 112, 212, 12], "behind a carrier each has its own");
}

#[test]
fn flows_are_summed_by_subscriber_and_by_remote() {
    let mut named = upload(3, 10.0, 4_000);
    named["remote"] = json!("1a2b3c4d");
    let other = flow(
        4,
        "[2001:db8::7]:5",
        "[2001:db8:1:2::9]:443",
        10.0,
        [leg("lan", 10, 0, "application"), leg("satellite", 20, 0, "application")],
    );
    let mut status = status(100.0, 0);
    status["remotes"] =
        json!([{ "name": "1a2b3c4d", "flows": 1, "used_at_bps": 5_000_000, "window_bytes": null }]);
    let model = Model::new(
        look(status, vec![upload(1, 10.0, 1_000), upload(2, 10.0, 2_000), named, other]),
        1,
    );
    let subscribers: Vec<_> = model
        .subscribers
        .iter()
        .map(|row| (row.address.to_string(), row.sums.flows, row.sums.up_bytes))
        .collect();
    assert_eq!(subscribers, [("10.0.0.7".into(), 3, 7_000), ("2001:db8::7".into(), 1, 20)]);
    let remotes: Vec<_> =
        model.remotes.iter().map(|row| (&*row.name, row.sums.flows, row.used_at_bps)).collect();
    let found = Some(5_000_000);
    let expected =
        [("192.0.2.0/24", 2, None), ("1a2b3c4d", 1, found), ("2001:db8:1::/48", 1, None)];
    assert_eq!(remotes, expected);
    assert_eq!(&*model.remotes[0].sums.held_back.as_ref().unwrap().limiter, "link-turn");
    let limits: Vec<_> = model.link.limits.iter().map(|it| (&*it.limiter, it.flows)).collect();
    assert_eq!(limits, [("link-turn", 3)]);
}

#[test]
fn reasons_are_those_that_there_were() {
    let model = Model::new(look(status(100.0, 0), Vec::new()), 1);
    let reasons: Vec<_> =
        model.reasons.iter().map(|row| (&*row.reason, row.connections, row.bytes)).collect();
    assert_eq!(reasons, [("new-reason", 1, 9_000), ("policy", 3, 3_000)]);
    assert_eq!(model.reasons[0].meaning, None);
    assert!(model.reasons[1].meaning.is_some_and(|meaning| meaning.contains("policy")));
}

#[test]
fn a_history_has_so_many_samples_and_the_shares_of_limiters() {
    let mut model = Model::new(look(status(100.0, 0), vec![upload(1, 10.0, 0)]), 3);
    for second in 1..=5 {
        let mut flow = upload(1, 10.0 + second as f64, 1_000 * second);
        if second == 5 {
            flow["legs"]["server"]["limiter"] = json!("cwnd");
            flow["legs"]["server"]["srtt_s"] = Value::Null;
        }
        model.take(look(status(100.0 + second as f64, 0), vec![flow]));
    }
    let curves = model.histories.of(history::id(&model.flows[0])).unwrap();
    assert_eq!(curves.up_bps, [8_000.0; 3]);
    assert!(curves.srtt_s[..2].iter().all(Option::is_some) && curves.srtt_s[2].is_none());
    let shares: Vec<_> =
        curves.limiters.iter().map(|(word, share)| (&**word, (share * 3.0).round())).collect();
    assert_eq!(shares, [("link-turn", 2.0), ("cwnd", 1.0)]);
    let gone = history::id(&model.flows[0]);
    model.take(look(status(106.0, 0), Vec::new()));
    assert!(model.histories.of(gone).is_none());
}

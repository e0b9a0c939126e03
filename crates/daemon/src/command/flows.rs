//! The flows of a running gateway, for people and for machines.

mod json;

pub(super) use json::json;

use super::inquiry::UNSPLIT;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Rate;
use bentpipe_gateway::{FlowView, LegView, Unsplit};
use bentpipe_terminal::table::{Align, Table};
use json::FlowJson;
use serde_json::{Value, json};

const HEAD: [&str; 18] = [
    "flow",
    "client",
    "server",
    "state",
    "age",
    "idle",
    "held B",
    "leg to",
    "rtt ms",
    "± ms",
    "cwnd B",
    "ssthresh B",
    "in flight",
    "backlog",
    "retransmitted",
    "timeouts",
    "delivered",
    "goodput",
];

/// Columns from the left that are texts.
const TEXTS: usize = 4;

/// A table with a line for each leg.
pub(super) fn table(flows: &mut [FlowView]) -> String {
    flows.sort_by_key(|flow| (flow.client, flow.server));
    let is_text = |column| column < TEXTS || column == LEG;
    let columns = (0..HEAD.len()).map(|column| match is_text(column) {
        true => Align::Left,
        false => Align::Right,
    });
    let mut table = Table::new(columns);
    table.row(HEAD);
    flows.iter().flat_map(lines).for_each(|line| table.row(line));
    table.to_string()
}

/// The column that says towards which side a leg goes.
const LEG: usize = 7;

fn lines(flow: &FlowView) -> Vec<[String; HEAD.len()]> {
    let own = [
        flow.number.to_string(),
        flow.client.to_string(),
        flow.server.to_string(),
        flow.state.name().to_owned(),
        span(flow.age),
        span(flow.idle),
        flow.held.count().to_string(),
    ];
    let row = |own: [String; LEG], leg: Option<LegView>| {
        let leg = leg.map_or_else(Default::default, |leg| cells(&leg));
        let mut cells = own.into_iter().chain(leg);
        std::array::from_fn(|_| cells.next().unwrap_or_default())
    };
    match flow.legs {
        None => vec![row(own, None)],
        // What is the flow's is said once.
        Some([client, server]) => {
            vec![row(own, Some(client)), row(Default::default(), Some(server))]
        }
    }
}

fn cells(leg: &LegView) -> [String; HEAD.len() - LEG] {
    let millis = |span: Duration| format!("{:.1}", span.as_secs_f64() * 1e3);
    let none = || "-".to_owned();
    [
        leg.side.name().to_owned(),
        leg.srtt.map_or_else(none, millis),
        leg.srtt.map_or_else(none, |_| millis(leg.rttvar)),
        leg.cwnd.count().to_string(),
        leg.ssthresh.map_or_else(none, |bytes| bytes.count().to_string()),
        leg.in_flight.count().to_string(),
        leg.backlog.count().to_string(),
        leg.retransmissions.to_string(),
        leg.timeouts.to_string(),
        leg.delivered.count().to_string(),
        rate(leg.goodput),
    ]
}

/// A rate with its unit, to three digits or so.
fn rate(rate: Rate) -> String {
    let bits = rate.bits_per_sec() as f64;
    let units = [("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)];
    match units.into_iter().find(|(_, scale)| bits >= *scale) {
        Some((unit, scale)) => format!("{:.2} {unit}", bits / scale),
        None => format!("{bits} bit/s"),
    }
}

/// A span of time as far as it matters.
pub(super) fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0..60 => format!("{:.1}s", span.as_secs_f64()),
        60..3600 => format!("{}min{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}min", seconds / 3600, seconds / 60 % 60),
    }
}

/// A flow among other facts.
pub(super) fn flow(flow: &FlowView) -> Value {
    json!(FlowJson::from(flow))
}

/// A table of connections that were not split, the last ones first, as of `now`.
pub(super) fn unsplit_table(unsplit: &mut [Unsplit], now: Duration) -> String {
    unsplit.sort_by_key(|it| std::cmp::Reverse((it.at, it.number)));
    use Align::{Left, Right};
    let mut table = Table::new([Left, Left, Left, Left, Right, Right]);
    table.row(["flow", "client", "server", "not split for", "times", "ago"]);
    for it in unsplit.iter() {
        let opened = if it.opener == it.hosts.client.ip() {
            String::new()
        } else {
            format!(" ({})", it.opener)
        };
        table.row([
            format!("{UNSPLIT}{}", it.number),
            format!("{}{opened}", it.hosts.client),
            it.hosts.server.to_string(),
            it.reason.name().to_owned(),
            it.times.to_string(),
            span(age(it, now)),
        ]);
    }
    table.to_string()
}

/// As JSON, as of `now`.
pub(super) fn unsplit_json(unsplit: &[Unsplit], now: Duration) -> Value {
    unsplit.iter().map(|it| self::unsplit(it, now)).collect()
}

/// One of them.
pub(super) fn unsplit(unsplit: &Unsplit, now: Duration) -> Value {
    let Unsplit { number, hosts, opener, reason, times, .. } = unsplit;
    json!({
        "number": format!("{UNSPLIT}{number}"),
        "client": hosts.client.to_string(),
        "server": hosts.server.to_string(),
        "opener": opener.to_string(),
        "reason": reason.name(),
        "times": times,
        "ago_s": age(unsplit, now).as_secs_f64(),
    })
}

/// How long ago it was not split.
pub(super) fn age(unsplit: &Unsplit, now: Duration) -> Duration {
    now.saturating_sub(unsplit.at.saturating_since(Instant::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::tcp::limiter::Limiter;
    use bentpipe_core::units::Bytes;
    use bentpipe_gateway::{FlowState, RemoteName, Side};

    fn flow(client: &str, legs: Option<[LegView; 2]>) -> FlowView {
        FlowView {
            number: 7,
            opener: "10.0.0.1".parse().unwrap(),
            client: client.parse().unwrap(),
            server: "[2001:db8::9]:443".parse().unwrap(),
            state: if legs.is_some() { FlowState::Open } else { FlowState::Opening },
            age: Duration::from_secs(3725),
            idle: Duration::from_millis(1500),
            held: Bytes::new(16_384),
            remote: legs.map(|_| RemoteName::Carrier),
            legs,
        }
    }

    fn leg(side: Side) -> LegView {
        LegView {
            side,
            srtt: Some(Duration::from_micros(512_300)),
            rttvar: Duration::from_micros(4_000),
            min_rtt: Some(Duration::from_micros(499_000)),
            cwnd: Bytes::new(500_000),
            ssthresh: None,
            in_flight: Bytes::new(400_000),
            usable_window: Bytes::new(1),
            received: Bytes::new(2),
            delivered: Bytes::new(1_000_000),
            backlog: Bytes::new(450_000),
            retransmissions: 3,
            retransmitted: Bytes::new(4_380),
            timeouts: 1,
            limiter: Some(Limiter::LinkTurn),
            goodput: Rate::from_bits_per_sec(7_654_321),
        }
    }

    #[test]
    fn a_flow_takes_a_line_for_each_leg_under_one_head() {
        let legs = [leg(Side::Lan), leg(Side::Satellite)];
        let mut flows = [flow("10.0.0.2:4", None), flow("10.0.0.1:4000", Some(legs))];
        let text = table(&mut flows);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 2 + 1, "{text}");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let first = words(lines[1]);
        assert_eq!(
            first[..7],
            ["7", "10.0.0.1:4000", "[2001:db8::9]:443", "open", "1h02min", "1.5s", "16384"]
        );
        let figures = [
            "satellite",
            "512.3",
            "4.0",
            "500000",
            "-",
            "400000",
            "450000",
            "3",
            "1",
            "1000000",
            "7.65",
            "Mbit/s",
        ];
        assert_eq!(words(lines[2]), figures);
        assert_eq!(lines[1].find("lan"), lines[2].find("satellite"), "{text}");
        assert!(lines[3].contains("10.0.0.2:4") && lines[3].contains("opening"), "{text}");
    }

    #[test]
    fn json_names_units_and_has_null_for_what_is_not_known() {
        let new = LegView { srtt: None, ..leg(Side::Lan) };
        let value = |flow: FlowView| {
            let text = json(&[flow]).unwrap();
            assert!(text.ends_with(b"]\n"));
            serde_json::from_slice::<Value>(&text).unwrap()
        };
        let new = flow("10.0.0.1:1", Some([new, leg(Side::Satellite)]));
        assert_eq!(value(new.clone())[0], super::flow(&new));
        let (value, opening) = (value(new), value(flow("10.0.0.1:1", None)));
        let legs = &value[0]["legs"];
        assert_eq!(legs["client"]["srtt_s"], Value::Null);
        assert_eq!(legs["client"]["rttvar_s"], Value::Null);
        assert_eq!(legs["server"]["srtt_s"], 0.5123);
        assert_eq!(
            (&legs["server"]["min_rtt_s"], &legs["server"]["limiter"]),
            (&json!(0.499), &json!("link-turn"))
        );
        assert_eq!(value[0]["remote"], "carrier");
        assert_eq!(legs["server"]["goodput_bps"], 7_654_321);
        assert_eq!(opening[0]["legs"], Value::Null);
    }
}

//! `[satellite]` and `[lan]`: how the two sides' TCP behaves.

use super::bounds::{RATES, ROUND_TRIPS, Size, Span, check_range};
#[cfg(test)]
use super::forms::Edges;
use super::forms::{Conditional, Form, InScenarios, Optional, named};
use super::key::{self, Help, Key, fields, key};
use super::quantity::within;
use super::runs::Runs;
use crate::document::{Entry, Node, Table, Value};
use crate::error::DocumentError;
use crate::reader::{Context, Field, Reader, Result, Section, field};
use crate::tcp::TcpLayer;
use bentpipe_core::tcp::congestion::CongestionAlgorithm;
use bentpipe_core::tcp::pacing::Pacing;
use bentpipe_core::tcp::presets;
use bentpipe_core::tcp::receiver::AckPolicy;
use bentpipe_core::tcp::sender::InitialWindow;
use bentpipe_core::time::Duration;
use bentpipe_core::units::Rate;
use bentpipe_gateway::{FirstWindow, LegConfig, LegError, MssLimit};
use std::ops::RangeInclusive;

pub(super) const LEG: Section = Section {
    path: "gateway.NAME.satellite, gateway.NAME.lan",
    about: "TCP of a gateway towards one side.",
    fields: &fields::<_, { KEYS.len() }>(KEYS),
    example: "satellite = { rate = \"8Mbit/s\", round-trip = \"500ms\", recovery = \"fack\", iw = 4, rto.min = \"2s\" }",
};

/// In the order in which they are read: a congestion control decides on `losses` unless they are
/// given.
pub(super) const KEYS: &[Key<LegConfig>] = &[
    key!(LegConfig: "rate" => rate,
        Optional { form: within(RATES), absent: "unknown" },
        "of the link behind it: paces every flow, and sizes the initial window together with `round-trip`",
        help: Help {
            value: "\"8Mbit/s\"",
            remark: "paces what goes out, and sizes the initial window",
        },
    ),
    key!(LegConfig: "return-rate" => return_rate,
        Optional { form: within(RATES), absent: "unknown" },
        "of what comes from that link, if it is another one: sizes what streams from there may hold, and what their senders may begin with; where acknowledgments to a gateway would take more than a tenth of `rate`, they are thinned (`ack=thinned:8:200ms`) unless `ack` is given",
        help: Help {
            value: "\"8Mbit/s\"",
            remark: "of what comes: with `rate`, decides on thinning acknowledgments",
        },
    ),
    key!(LegConfig: "round-trip" => round_trip,
        Optional { form: within(ROUND_TRIPS), absent: "unknown" },
        "of that link",
        help: Help { value: "\"500ms\"", remark: "" },
    ),
    Key {
        field: field(
            "tcp",
            "TCP settings",
            "satellite `gateway-satellite`, LAN `gateway-terrestrial`",
            "recovery, congestion control, timers and all else that a leg decides itself",
        ),
        read: |reader, leg, _| read_tcp(reader, leg),
        // Whatever of a leg has no key here is a TCP setting.
        differs: |a, b| a != b,
        help: Help {
            value: "\"reduction=plain,max-retries=10\"",
            remark: "the same as a list, below the keys; may begin with a preset",
        },
        ..Key::USUAL
    },
    key!(LegConfig: "losses" => losses,
        Conditional {
            form: named(),
            default: "`link`; with a preset or a congestion control of one's own, `believed`",
        },
        "what a loss is taken for: the link's own where `rate` is given and the other end is a gateway, and elsewhere unless a queue stands; or congestion in any case",
        help: Help { value: "", remark: "what a loss is taken for, unless `congestion` is given" },
    ),
    key!(LegConfig: "found-by" => found_by,
        named(),
        "by whom the rate of a link is found of which nothing is known: `all-flows` to a remote gateway find one window together, which keeps the link's queue at some milliseconds unless others fill it, if both gateways do so. `all-remotes`: the same for the flows to all remotes, which lie behind one carrier. `each-flow`: each finds a window of its own, as also with an `iw` other than `by-round-trip`",
        help: Help { value: "", remark: "all-flows (default), all-remotes behind one carrier, each-flow" },
    ),
    key!(LegConfig: "mss" => mss,
        Mss,
        "how long segments may be: as the hosts agree, as both sides' MTUs allow, or so many bytes",
        help: Help {
            value: "",
            remark: "longest segments; or \"clamp\" (what both sides' interfaces carry), 1360",
        },
    ),
    key!(LegConfig: "discard" => discard,
        named(),
        "whether segments from this side are discarded while what they bring has a backlog",
        help: Help { value: "", remark: "segments from there, at a backlog" },
    ),
    key!(LegConfig: "mtu" => mtu,
        InScenarios { form: within(576..=65_535), deployed: "the interfaces say so" },
        "in scenarios: the largest IP packet; elsewhere the interfaces say so",
    ),
];

/// The TCP settings that a leg has, from the core's declaration.
pub(super) const LEG_TCP: Section = Section {
    path: "gateway.NAME.satellite, gateway.NAME.lan: TCP settings",
    about: "Those of the core that are a leg's own, over what `tcp` says; the others come from the hosts.",
    fields: &{
        let mut fields = [tcp(""); LegConfig::KEYS.len()];
        let mut i = 0;
        while i < fields.len() {
            fields[i] = tcp(LegConfig::KEYS[i]);
            i += 1;
        }
        fields
    },
    example: "",
};

/// The core's parameter of this name, as a key.
const fn tcp(name: &'static str) -> Field {
    if is_same(name, "iw") {
        return field(
            "iw",
            "segments, bytes with their unit, rfc3390, by-round-trip, or from-load",
            "that of `tcp`",
            "a TCP setting; `by-round-trip`, the default of the satellite side: on a path of which nothing is known ten segments for every 100 ms of its round trip, fifty at most, spread over that; `from-load`, where `rate` and `round-trip` are known: what of the link is free when a flow has its first data, shared with those that are still to begin",
        );
    }
    let mut i = 0;
    while i < presets::KEYS.len() {
        if is_same(presets::KEYS[i].name, name) {
            return field(name, presets::KEYS[i].takes, "that of `tcp`", "a TCP setting");
        }
        i += 1;
    }
    field(name, "", "", "")
}

const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// The table at `node` with `rto.min` as one key, whether it is written so or as a table `rto`.
pub(super) fn flat(context: &Context<'_>, node: &Node, name: &str) -> Result<Table> {
    let Value::Table(table) = &node.value else {
        return Err(context.type_error(node, &format!("a table of {name}")));
    };
    let mut flat = Table::default();
    for entry in &table.entries {
        match &entry.node.value {
            Value::Table(inner) if entry.key == "rto" => {
                let inner = inner.entries.iter();
                let dotted = |inner: &Entry| format!("{}.{}", entry.key, inner.key);
                flat.entries
                    .extend(inner.map(|inner| Entry { key: dotted(inner), ..inner.clone() }));
            }
            _ => flat.entries.push(entry.clone()),
        }
    }
    Ok(flat)
}

/// Changes `leg` as the table says.
pub(super) fn read(reader: &Reader<'_>, leg: &mut LegConfig, runs: Runs) -> Result<()> {
    key::read(KEYS, reader, leg, runs)?;
    check(leg).map_err(|(key, why)| at_fault(reader, key, why))
}

/// Changes the TCP of `leg`: `tcp` first, then the settings that have a key of their own.
fn read_tcp(reader: &Reader<'_>, leg: &mut LegConfig) -> Result<()> {
    let layer: TcpLayer = reader.or("tcp", TcpLayer::default())?;
    *leg = layer.over_leg(*leg).map_err(|why| reader.bad("tcp", why.to_string()))?;
    for key in LegConfig::KEYS {
        let Some(node) = reader.node(key) else { continue };
        let text = node.scalar().ok_or_else(|| reader.context.type_error(node, "one value"))?;
        if *key == "congestion"
            && let Some(control) = reader.context.external_control(node, &text)
        {
            leg.choose_congestion(CongestionAlgorithm::External(control?));
            continue;
        }
        let refused = |why: LegError| reader.context.with_own_controls(key, why.to_string());
        leg.set(key, &text).map_err(|why| reader.bad(key, refused(why)))?;
    }
    Ok(())
}

/// An error about `key`, where it stands: by itself, in `tcp`, or nowhere.
fn at_fault(reader: &Reader<'_>, key: &str, why: String) -> DocumentError {
    let stands = reader.table.get(key).is_some();
    reader.bad(if stands { key } else { "tcp" }, why)
}

/// The longest segments.
struct Mss;

/// RFC 9293, 3.7.1: what every host takes; and what fits into an IPv4 packet.
const MSS: RangeInclusive<i64> = 536..=65_495;

impl Form<LegConfig> for Mss {
    type Value = MssLimit;

    fn takes(&self) -> String {
        format!("`hosts`, `clamp`, or {} to {}", MSS.start(), MSS.end())
    }

    fn read(
        &self,
        reader: &Reader<'_>,
        key: &str,
        _: &LegConfig,
        _: Runs,
    ) -> Result<Option<MssLimit>> {
        let Some(node) = reader.node(key) else { return Ok(None) };
        match &node.value {
            Value::Text(text) if text == "hosts" => Ok(Some(MssLimit::Hosts)),
            Value::Text(text) if text == "clamp" => Ok(Some(MssLimit::Clamp)),
            Value::Integer(mss) if MSS.contains(mss) => Ok(Some(MssLimit::At(*mss as u16))),
            _ => {
                let (min, max) = (MSS.start(), MSS.end());
                let is = format!("is none of \"hosts\", \"clamp\", {min} to {max}");
                Err(reader.bad(key, format!("{key}: `{}` {is}", node.label())))
            }
        }
    }

    fn write(&self, value: &MssLimit) -> Option<Value> {
        Some(match value {
            MssLimit::Hosts => Value::Text("hosts".to_owned()),
            MssLimit::Clamp => Value::Text("clamp".to_owned()),
            MssLimit::At(mss) => Value::Integer((*mss).into()),
        })
    }

    fn label(&self, value: &MssLimit) -> String {
        self.write(value).map(|value| format!("`{}`", value.label())).unwrap_or_default()
    }

    #[cfg(test)]
    fn edges(&self, _: &LegConfig) -> Edges {
        let (min, max) = MSS.into_inner();
        let texts = |numbers: [i64; 2]| numbers.map(|number| number.to_string()).to_vec();
        Edges {
            taken: texts([min, max]),
            refused: texts([min - 1, max + 1]),
            range: format!("{min} to {max}"),
        }
    }
}

/// RFC 9293, 3.8.6.3: an acknowledgment is delayed by less than half a second.
const MAX_ACK_DELAY: Duration = Duration::from_millis(500);
/// Acknowledgments for a segment: more would be a flood.
const ACK_PARTS: RangeInclusive<u32> = 1..=64;
/// A window is at most 1 GiB (RFC 7323, 2.3).
const WINDOWS: RangeInclusive<Size> = Size(1)..=Size(1 << 30);
/// RFC 9293, 3.8.3: R1 is three retransmissions at least; and what a silent host holds is given
/// back one day.
const RETRIES: RangeInclusive<u32> = 3..=100;
const MAX_TIMEOUTS: RangeInclusive<Span> =
    Span(Duration::from_secs(1))..=Span(Duration::from_secs(3600));
/// BSD's clock ticks twice a second.
const TICKS: RangeInclusive<Span> = Span(Duration::ZERO)..=Span(Duration::from_secs(1));
const MIN_TIMEOUT: Duration = Duration::from_millis(1);
/// From hardly any growth to as much as there can be.
const FACTORS: RangeInclusive<f64> = 0.001..=1_000_000.0;
const REFERENCES: RangeInclusive<Span> =
    Span(Duration::from_millis(1))..=Span(Duration::from_secs(10));
/// Reconfigurations come every 15 seconds.
const OFFSETS: RangeInclusive<Span> =
    Span(Duration::from_millis(1))..=Span(Duration::from_secs(15));

/// A key that is at fault, and why.
type Fault = (&'static str, String);

/// Says what of a leg cannot work: what is out of range, or contradicts something else.
fn check(leg: &LegConfig) -> std::result::Result<(), Fault> {
    check_pacing(leg.pacing, leg.rate).map_err(|why| ("pacing", why))?;
    let sender = &leg.sender;
    if let InitialWindow::Bytes(bytes) = sender.initial_window {
        check_range("iw", &Size(bytes.count()), &WINDOWS).map_err(|why| ("iw", why))?;
    }
    if let Some(ssthresh) = sender.initial_ssthresh {
        check_range("ssthresh", &Size(ssthresh.count()), &WINDOWS)
            .map_err(|why| ("ssthresh", why))?;
    }
    check_range("max-retries", &sender.max_retries, &RETRIES)
        .map_err(|why| ("max-retries", why))?;
    if leg.first_window == FirstWindow::FromLoad && leg.bandwidth_delay_product().is_none() {
        let why = "iw: from-load needs the link's `rate` and `round-trip`";
        return Err(("iw", why.to_owned()));
    }
    check_timer(leg)?;
    check_congestion(sender.congestion).map_err(|why| ("congestion", why))?;
    check_ack(leg.ack_policy).map_err(|why| ("ack", why))
}

fn check_ack(policy: AckPolicy) -> std::result::Result<(), String> {
    match policy {
        AckPolicy::PerSegment => Ok(()),
        AckPolicy::Division(parts) => check_range("ack", &parts, &ACK_PARTS),
        AckPolicy::Delayed(delay)
        | AckPolicy::Heartbeat(delay)
        | AckPolicy::Thinned { delay, .. } => {
            if delay > MAX_ACK_DELAY {
                let [delay, max] = [delay, MAX_ACK_DELAY].map(Span);
                return Err(format!("ack: acknowledgments wait for {delay}, {max} is the maximum"));
            }
            Ok(())
        }
    }
}

fn check_pacing(pacing: Option<Pacing>, link: Option<Rate>) -> std::result::Result<(), String> {
    let Some(Pacing::Window { cap: Some(rate) }) = pacing else { return Ok(()) };
    check_range("pacing", &rate, &RATES)?;
    match link {
        Some(link) if rate > link => {
            Err(format!("pacing: {rate} is more than the link's rate, {link}"))
        }
        _ => Ok(()),
    }
}

fn check_timer(leg: &LegConfig) -> std::result::Result<(), Fault> {
    let rto = &leg.sender.rto;
    for (key, time, range) in [
        ("rto.max", rto.max, &MAX_TIMEOUTS),
        ("rto.tick", rto.tick, &TICKS),
        ("rto.granularity", rto.granularity, &TICKS),
        ("rtt-tick", rto.rtt_tick.unwrap_or_default(), &TICKS),
    ] {
        check_range(key, &Span(time), range).map_err(|why| (key, why))?;
    }
    for (key, time) in [("rto.min", rto.min), ("rto.initial", rto.initial)] {
        if time > rto.max {
            let [time, max] = [time, rto.max].map(Span);
            return Err((key, format!("{key}: {time} is more than rto.max, {max}")));
        }
    }
    // What varies little would time out with every acknowledgment that is a moment late.
    if rto.min.max(rto.granularity).max(rto.tick) < MIN_TIMEOUT {
        let why = "rto.min, rto.granularity, rto.tick: one of them must be 1ms at least";
        return Err(("rto.min", why.to_owned()));
    }
    Ok(())
}

fn check_congestion(control: CongestionAlgorithm) -> std::result::Result<(), String> {
    match control {
        CongestionAlgorithm::KnownLink { rate } => check_range("known-link: rate", &rate, &RATES),
        CongestionAlgorithm::ConstantRate { c } => check_range("constant-rate: c", &c, &FACTORS),
        CongestionAlgorithm::IncreaseByK { k, above_rtt } => {
            check_range("increase-by-k: k", &k, &FACTORS)?;
            above_rtt.map_or(Ok(()), |rtt| {
                check_range("increase-by-k: above-rtt", &Span(rtt), &REFERENCES)
            })
        }
        CongestionAlgorithm::Vegas { alpha, beta, gamma, .. } => {
            [("vegas: alpha", alpha), ("vegas: beta", beta), ("vegas: gamma", gamma)]
                .into_iter()
                .try_for_each(|(key, value)| check_range(key, &value, &FACTORS))
        }
        CongestionAlgorithm::LeoCc { offset, fluctuation } => {
            if let Some(offset) = offset {
                check_range("leocc: offset", &Span(offset), &OFFSETS)?;
            }
            check_range("leocc: fluctuation", &Span(fluctuation), &REFERENCES)
        }
        CongestionAlgorithm::Copa { delta } => check_range("copa: delta", &delta, &FACTORS),
        CongestionAlgorithm::Scalable { a, .. } => check_range("scalable: a", &a, &FACTORS),
        CongestionAlgorithm::Hybla { rtt0 } => check_range("hybla: rtt0", &Span(rtt0), &REFERENCES),
        // The others have no numbers to be set; a test holds those that have to it.
        _ => Ok(()),
    }
}

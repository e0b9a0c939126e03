//! Comparisons as JSON.

use super::super::{Compared, Hop, Loss, Lost, Sample, Spread, Way};
use super::{Common, File};
use serde_json::{Value, json};

/// Delays over time have so many values.
const PARTS: i64 = 100;

/// Returns what happened to a connection between the files.
#[must_use]
pub fn as_json(files: &[File<'_>], common: &Common<'_>) -> Value {
    let numbers = common.connections.iter().map(|one| one.number).collect::<Vec<_>>();
    let ends = common.connections[0].ends.map(|end| end.to_string());
    let hops = common.hops.iter().map(|(places, hop)| {
        let names = places.map(|place| files[place].name);
        hop_as_json(names, &ends, hop)
    });
    json!({
        "files": files.iter().map(|file| file.name).collect::<Vec<_>>(),
        "connections": numbers,
        "ends": ends,
        "hops": hops.collect::<Vec<Value>>(),
    })
}

fn hop_as_json(names: [&str; 2], ends: &[String; 2], hop: &Hop) -> Value {
    let clock = &hop.clock;
    let ahead = clock.ahead();
    json!({
        "between": names,
        "compared_by": match hop.basis {
            Compared::Packets => "packets",
            Compared::Bytes => "bytes",
        },
        "data_segments": hop.same.0,
        "data_segments_at_both": hop.same.1,
        "begin_s": s(hop.begin),
        "drift_ppm": clock.drift.map(|drift| drift.part * 1e6),
        "delays_sum_min_s": clock.round_trip().map(s),
        "clock_ahead_s": ahead.map(|(from, to)| [s(from), s(to)]),
        "clock_ahead_if_symmetric_s":
            ahead.map(|(from, to)| s(from.saturating_add(to.saturating_sub(from) / 2))),
        "directions": hop.ways.iter().map(|way| way_as_json(names, ends, hop, way)).collect::<Vec<Value>>(),
    })
}

fn way_as_json(names: [&str; 2], ends: &[String; 2], hop: &Hop, way: &Way) -> Value {
    let [up, down] = way.places;
    let since = |at: i64| s(at.saturating_sub(hop.begin));
    let by_packets = hop.basis == Compared::Packets;
    let counted = |lost: Lost| by_packets.then(|| sum(lost));
    let spread = way.spread.map(|Spread { p50, p95, p99, max }| {
        json!({ "p50_s": s(p50), "p95_s": s(p95), "p99_s": s(p99), "max_s": s(max) })
    });
    let values = way.backlog.values.iter().map(|&(at, bytes)| json!([since(at), bytes]));
    json!({
        "sender": ends[way.direction.index()],
        "upstream": names[up],
        "downstream": names[down],
        "seen_upstream": sum(way.seen[up]),
        "seen_downstream": sum(way.seen[down]),
        "lost": counted(way.lost),
        "not_recorded_downstream": counted(way.unrecorded),
        "not_recorded_upstream": counted(way.only),
        "outside_downstream_packets": by_packets.then_some(way.outside[0]),
        "outside_upstream_packets": by_packets.then_some(way.outside[1]),
        "duplicated_packets": by_packets.then_some(way.duplicated),
        "reordered": by_packets.then(|| json!({
            "packets": way.reordered.packets,
            "extent_max_packets": way.reordered.extent,
            "late_max_s": s(way.reordered.late),
        })),
        "losses": way.losses.iter().map(|loss| loss_as_json(loss, &since)).collect::<Vec<Value>>(),
        "delay_min_as_captured_s": hop.clock.least[way.direction.index()].map(s),
        "delay_above_min": spread,
        "delay_above_min_over_time": over_time(hop, way, &since),
        "backlog_max_bytes": way.backlog.max.map(|max| max.1),
        "backlog_max_at_s": way.backlog.max.map(|max| since(max.0)),
        "backlog_bytes": values.collect::<Vec<Value>>(),
        "stream": way.streamed.map(|streamed| json!({
            "bytes_upstream": streamed.bytes[up],
            "bytes_downstream": streamed.bytes[down],
            "bytes_at_both": streamed.both,
            "acknowledged_bytes": streamed.acknowledged,
            "acknowledged_between_bytes": streamed.locally,
            "acknowledged_before_downstream_bytes": streamed.unseen,
            "acknowledged_earlier_max_s": s(streamed.earlier),
        })),
    })
}

/// Of each hundredth of the time that has any: when it begins, and the least, the median and the
/// largest delay above the least of all.
fn over_time(hop: &Hop, way: &Way, since: &dyn Fn(i64) -> f64) -> Vec<Value> {
    let times = || way.samples.iter().map(|one| one.at);
    let (Some(first), Some(last)) = (times().min(), times().max()) else { return Vec::new() };
    let width = (last.saturating_sub(first) / PARTS).max(1);
    let part = |one: &Sample| one.at.saturating_sub(first) / width;
    let mut delays: Vec<(i64, i64)> =
        way.samples.iter().map(|one| (part(one), hop.clock.above(way.direction, *one))).collect();
    delays.sort_unstable();
    let parts = delays.chunk_by(|a, b| a.0 == b.0);
    parts
        .map(|all| {
            let [least, median, most] = [0, all.len() / 2, all.len() - 1].map(|at| s(all[at].1));
            json!([since(first.saturating_add(all[0].0 * width)), least, median, most])
        })
        .collect()
}

fn loss_as_json(loss: &Loss, since: &dyn Fn(i64) -> f64) -> Value {
    json!({
        "at_s": since(loss.at),
        "duration_s": s(loss.times.1.saturating_sub(loss.times.0)),
        "packets": loss.lost.packets,
        "bytes": loss.lost.bytes,
        "first_byte": loss.place,
        "retransmitted_bytes": loss.retransmitted,
    })
}

fn sum(lost: Lost) -> Value {
    json!({ "packets": lost.packets, "bytes": lost.bytes })
}

fn s(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

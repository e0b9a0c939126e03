//! How windows grow: bbn's e-mails and article.

use super::Function;
use crate::run::trace::{Trace, series};
use crate::run::{Number, Part, PointRuns, Ran};
use bentpipe_lab::tables::Table;

/// By claim.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("B-EM-3", half_is_enough),
    ("B-EM-6", paced_slow_start),
    ("B-N-13", relative_growth),
    ("B-T1-c", bytes_of_slow_start),
    ("B-T2-a", rounds_until_overflow),
];

type Numbers = Result<Vec<Number>, String>;

/// A packet in all, and its data, in bytes.
const PACKET: f64 = 1024.0;
const DATA: f64 = 984.0;
/// The round trip, in seconds.
const RTT: f64 = 0.5;
const SAT: [(&str, &str); 2] = [("link", "sat"), ("from", "ground")];

/// A swept rate or size, without its unit.
fn swept(point: &PointRuns, path: &str, unit: &str) -> Result<f64, String> {
    let value = point.value(path).ok_or_else(|| format!("{path} is not swept"))?;
    let (number, factor) = match (value.strip_suffix(unit), value.strip_suffix("Mbit/s")) {
        (_, Some(number)) if unit == "bit/s" => (number, 1e6),
        (Some(number), _) => (number, 1.0),
        (None, _) => return Err(format!("{path} = {value}")),
    };
    number.parse::<f64>().map(|n| n * factor).map_err(|_| format!("{path} = {value}"))
}

/// Packets that a point's path holds.
fn path(point: &PointRuns) -> Result<f64, String> {
    Ok(swept(point, "link.sat.rate", "bit/s")? * RTT / 8.0 / PACKET)
}

fn half_is_enough(ran: &Ran) -> Numbers {
    let part = ran.part("threshold")?;
    let (mut drops, mut over) = (0.0_f64, f64::NEG_INFINITY);
    for point in &part.points {
        drops = drops.max(point.column(Table::Links, &SAT, "dropped_packets")?[0]);
        let packets = path(point)?;
        let trace = Trace::new(part, point, "main")?;
        // Full: a window of the path's size has been sent in a round.
        let rounds = trace.rounds();
        let full = rounds.iter().position(|round| round.packets as f64 >= packets.floor());
        let full = full.ok_or("the path is never full")? as f64 + 1.0;
        over = over.max(full - (packets.log2().ceil() + 1.0));
    }
    Ok(vec![Number::new("most-drops", drops), Number::new("rounds-over", over)])
}

/// When the acknowledgments of a round trip first come to 95 % of the link's rate, in seconds.
fn full(part: &Part, point: &PointRuns, rate: f64, rtt: f64) -> Result<f64, String> {
    let bytes = 0.95 * rate / 8.0 * rtt * DATA / PACKET;
    let reached = Trace::new(part, point, "main")?.reaches(bytes, rtt);
    reached.ok_or_else(|| "the link is never full".to_owned())
}

/// Of the ten round trips after slow start: the window's growth in a round trip by the path, beside
/// one part of it.
fn relative_growth(ran: &Ran) -> Numbers {
    let part = ran.part("avoidance")?;
    let windows = series(part, part.point(&[])?, "main", "cwnd")?;
    let path = 1.5e6 * RTT / 8.0 / PACKET;
    let begin = windows.iter().position(|(_, cwnd)| *cwnd >= path.floor() * DATA);
    let begin = begin.ok_or("the window never reaches the path")? + 1;
    let (first, last) = windows.get(begin).zip(windows.get(begin + 10)).ok_or("too short")?;
    // A queue lengthens round trips; growth is a segment in each.
    let segments = (last.1 - first.1) / DATA;
    let queued = (first.1 + last.1) / 2.0 / DATA - path;
    let rounds = (last.0 - first.0) / (RTT + queued.max(0.0) * PACKET * 8.0 / 1.5e6);
    Ok(vec![Number::new("growth-to-formula", segments / rounds)])
}

/// Bytes that were sent before the first round trip that fills the link: those that are
/// acknowledged when it begins.
fn bytes_of_slow_start(ran: &Ran) -> Numbers {
    let part = ran.part("table-1")?;
    let names = ["geo-1_5-bytes", "leo-155-bytes", "geo-155-bytes"];
    let paths = [(1.5e6, 0.5), (155e6, 0.2), (155e6, 0.5)];
    let mut numbers = Vec::new();
    for ((point, name), (rate, rtt)) in part.points.iter().zip(names).zip(paths) {
        let at = full(part, point, rate, rtt)?;
        let trace = Trace::new(part, point, "main")?;
        let until = trace.acknowledged.iter().take_while(|ack| ack.at <= at - rtt);
        let sent = until.map(|ack| ack.next).max().unwrap_or(1) - 1;
        numbers.push(Number::new(name, sent as f64));
    }
    Ok(numbers)
}

/// Of all of the transfer: the greatest rate of twenty packets, beside the link's, at which
/// acknowledgments come back to back; and what is dropped.
fn paced_slow_start(ran: &Ran) -> Numbers {
    let part = ran.part("paced")?;
    let point = part.point(&[])?;
    let trace = Trace::new(part, point, "main")?;
    let rate = 1_474_560.0 / 8.0 / PACKET;
    let times: Vec<f64> = trace.sent.iter().map(|sent| sent.at).collect();
    let over = times.windows(21).map(|times| 20.0 / (times[20] - times[0]) / rate);
    let drops = series(part, point, "sat/forward", "drops")?;
    Ok(vec![
        Number {
            name: "utilisation".to_owned(),
            samples: point.column(Table::Links, &SAT, "utilisation")?,
        },
        Number::new("drops", drops.iter().map(|(_, drops)| drops).sum()),
        Number::new("rate-to-ack-rate", over.fold(0.0, f64::max)),
    ])
}

/// Round trips from the threshold to the first drop: each moment counts by the round trip that it
/// has, which is longer the more of the window waits above the path.
fn rounds_until_overflow(ran: &Ran) -> Numbers {
    const INTERVAL: f64 = 0.1;
    const RATE: f64 = 1.5e6;
    let part = ran.part("overflow")?;
    let path = RATE * RTT / 8.0 / PACKET;
    let mut numbers = Vec::new();
    for (point, name) in part.points.iter().zip(["rounds-10", "rounds-100"]) {
        let drops = series(part, point, "sat/forward", "drops")?;
        let first = drops.iter().find(|(_, drops)| *drops > 0.0).ok_or("nothing is dropped")?.0;
        let windows = series(part, point, "main", "cwnd")?;
        let begun = windows.iter().skip_while(|(_, cwnd)| *cwnd < path.ceil() * DATA);
        let rounds = begun.take_while(|(at, _)| *at < first).map(|(_, cwnd)| {
            let waiting = (cwnd / DATA - path).max(0.0);
            INTERVAL / (RTT + waiting * PACKET * 8.0 / RATE)
        });
        numbers.push(Number::new(name, rounds.sum()));
    }
    Ok(numbers)
}

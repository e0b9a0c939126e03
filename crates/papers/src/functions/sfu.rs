//! What sfu's claims speak of and no cell of a table says: rounds, bursts, variation.

use super::samples::{less, max, mean, min, per_run, ratio, scaled};
use super::{Function, losses};
use crate::run::trace::{Trace, series};
use crate::run::{Number, Part, PointRuns, Ran};
use bentpipe_lab::tables::Table;

/// By claim.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("S-3.2-b", smoothness),
    ("S-F-2", largest_unscaled_window),
    ("S-3.4-a", time_to_full_link),
    ("S-3.5-b", saving_of_long_transfers),
    ("S-3.5-c", packets_of_rounds),
    ("S-3.6-b", overrun),
    ("S-3.6-c", headers),
    ("S-3.7-E", error_points),
    ("S-3.7-d", vegas),
    ("S-3.7-e", repairs_of_vegas),
    ("S-3.7-f", timeouts_of_windows),
    ("S-4-E", switch_points),
    ("S-4-a", peaks),
    ("S-4-h", silence),
    ("S-F-4", buffer_basic),
    ("S-F-5", buffer_delayed),
];

type Numbers = Result<Vec<Number>, String>;

/// The link, in bit/s.
const T1: f64 = 1.544e6;
/// The round trip, in seconds.
const RTT: f64 = 0.56;
/// A packet, and the bytes of data in it.
const PACKET: f64 = 1000.0;
const DATA: f64 = 960.0;
/// Packets that the path holds.
const PATH: u64 = 108;

const TCP: &str = "flow.main.tcp";
const QUEUE: &str = "link.down.queue";

fn one<'a>(part: &'a Part, path: &str, value: &str) -> Result<&'a PointRuns, String> {
    part.point(&[(path, value)])
}

/// Of the seconds 20 to 60, when slow start is over.
fn smoothness(ran: &Ran) -> Numbers {
    let part = ran.part("course")?;
    let variation = |window: &str| -> Result<f64, String> {
        let samples = series(part, one(part, TCP, window)?, "main", "throughput")?;
        let late: Vec<f64> =
            samples.iter().filter(|(at, _)| *at > 20.0).map(|(_, rate)| *rate).collect();
        let mean = mean(&late);
        let square = late.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
        Ok((square / (late.len() as f64 - 1.0)).sqrt() / mean)
    };
    let others = ["receive-buffer=15360B", "receive-buffer=30720B", "receive-buffer=61440B"];
    let others = others.map(variation).into_iter().collect::<Result<Vec<_>, _>>()?;
    let largest = variation("receive-buffer=122880B")?;
    Ok(vec![Number::new("variation-128-less-least-other", largest - min(others))])
}

fn largest_unscaled_window(ran: &Ran) -> Numbers {
    let part = ran.part("unscaled")?;
    let goodput = part.point(&[])?.column(Table::Results, &[("flow", "main")], "goodput_bps")?;
    Ok(vec![
        Number::new("bytes-per-second", 65_535.0 / RTT),
        Number { name: "simulated-bps".to_owned(), samples: goodput },
    ])
}

/// When the acknowledgments of a round trip first come to 95 % of the link.
fn time_to_full_link(ran: &Ran) -> Numbers {
    let part = ran.part("rounds")?;
    let time = |iw: &str| -> Result<f64, String> {
        let trace = Trace::new(part, one(part, "flow.main.tcp.iw", iw)?, "main")?;
        let bytes = 0.95 * T1 / 8.0 * RTT * DATA / PACKET;
        trace.reaches(bytes, RTT).ok_or_else(|| format!("iw {iw} never fills the link"))
    };
    let [one, two, three, four] = [time("1")?, time("2")?, time("3")?, time("4")?];
    Ok(vec![
        Number::new("iw-1-less-iw-2-s", one - two),
        Number::new("iw-2-less-iw-4-s", two - four),
        Number::new("iw-2-less-iw-3-s", two - three),
        Number::new("iw-3-less-iw-4-s", three - four),
    ])
}

/// The share that four segments save of 10,000 packets, beside the share of 300.
fn saving_of_long_transfers(ran: &Ran) -> Numbers {
    let part = ran.part("sizes")?;
    let time = |bytes: &str, iw: &str| {
        let at = [("flow.main.bytes", bytes), ("flow.main.tcp.iw", iw)];
        let point = part.point(&at)?;
        point.completion()
    };
    let saving = |bytes: &str| Ok::<f64, String>(1.0 - time(bytes, "4")? / time(bytes, "1")?);
    Ok(vec![Number::new("share-of-saving", saving("9600000")? / saving("288000")?)])
}

fn packets_of_rounds(ran: &Ran) -> Numbers {
    let part = ran.part("rounds")?;
    let mut max_off: u64 = 0;
    for point in &part.points {
        let window: u64 = point
            .value("flow.main.tcp.iw")
            .and_then(|iw| iw.parse().ok())
            .ok_or("no initial window")?;
        let rounds = Trace::new(part, point, "main")?.rounds();
        for (round, before) in rounds.iter().zip(0_u32..) {
            let expected = window << before;
            if expected >= PATH {
                break;
            }
            max_off = max_off.max(round.packets.abs_diff(expected));
        }
    }
    Ok(vec![Number::new("most-packets-off", max_off as f64)])
}

fn overrun(ran: &Ran) -> Numbers {
    let part = ran.part("course")?;
    let mut numbers = Vec::new();
    for (name, mss) in [("drops-576", "536"), ("drops-1152", "1112"), ("drops-1728", "1688")] {
        let point = one(part, "flow.main.tcp.mss", mss)?;
        let rows = [("link", "sat"), ("from", "ground")];
        let samples = point.column(Table::Links, &rows, "dropped_packets")?;
        numbers.push(Number { name: name.to_owned(), samples });
    }
    let large = one(part, "flow.main.tcp.mss", "1688")?;
    let timeouts = large.column(Table::Results, &[("flow", "main")], "timeouts")?;
    numbers.push(Number { name: "timeouts-1728".to_owned(), samples: timeouts });
    // Slow start is over after five seconds; the first twenty count.
    let rates = series(part, large, "main", "throughput")?;
    let early = rates.iter().filter(|(at, _)| (5.0..=20.0).contains(at));
    let lowest = min(early.map(|(_, rate)| *rate));
    numbers.push(Number::new("lowest-share-1728", lowest / T1));
    Ok(numbers)
}

fn headers(ran: &Ran) -> Numbers {
    let part = ran.part("sizes")?;
    let time = |mss: &str| {
        let point = one(part, "flow.main.tcp.mss", mss)?;
        point.completion()
    };
    let (small, middle, large) = (time("536")?, time("1112")?, time("1688")?);
    Ok(vec![
        Number::new("header-576", 40.0 / 576.0),
        Number::new("header-1152", 40.0 / 1152.0),
        Number::new("header-1728", 40.0 / 1728.0),
        Number::new("time-576-less-1152-s", small - middle),
        Number::new("time-1152-less-1728-s", middle - large),
    ])
}

const SACK: &str = "recovery=sack";
const RENO: &str = "recovery=reno,sack=off";
const VEGAS: &str = "recovery=reno,congestion=vegas:decrease=0.25,sack=off";
const ERRORS: &str = "link.sat.bit-errors";

/// The paper's variants; there are more curves than those.
fn error_points(ran: &Ran) -> Numbers {
    let points = &ran.part("errors")?.points;
    let paper = [SACK, RENO, VEGAS];
    let of = points.iter().filter(|point| point.value(TCP).is_some_and(|tcp| paper.contains(&tcp)));
    Ok(vec![Number::new("points", of.count() as f64)])
}

fn of_errors(ran: &Ran, rate: &str, tcp: &str, column: &str) -> Result<Vec<f64>, String> {
    let point = ran.part("errors")?.point(&[(ERRORS, rate), (TCP, tcp)])?;
    point.column(Table::Results, &[("flow", "main")], column)
}

fn vegas(ran: &Ran) -> Numbers {
    let mut numbers = Vec::new();
    let mut of_reno = Vec::new();
    for rate in ["1e-7", "1e-6", "1e-5", "1e-4"] {
        let carried = |tcp: &str| of_errors(ran, rate, tcp, "goodput_bps");
        let vegas = carried(VEGAS)?;
        for (name, other) in [("sack", SACK), ("reno", RENO)] {
            let samples = ratio(&vegas, &carried(other)?);
            if other == RENO && ["1e-6", "1e-5"].contains(&rate) {
                of_reno.push(samples.clone());
            }
            numbers.push(Number { name: format!("vegas-to-{name}-{rate}"), samples });
        }
    }
    let samples = per_run(&of_reno, mean);
    numbers.push(Number { name: "mean-vegas-to-reno".to_owned(), samples });
    Ok(numbers)
}

fn repairs_of_vegas(ran: &Ran) -> Numbers {
    let of = |tcp: &str, column: &str| of_errors(ran, "1e-6", tcp, column);
    let timeouts = less(&of(VEGAS, "timeouts")?, &of(RENO, "timeouts")?);
    let share = |tcp: &str| {
        let delivered = scaled(&of(tcp, "delivered_bytes")?, 1.0 / DATA);
        Ok::<_, String>(ratio(&of(tcp, "retransmissions")?, &delivered))
    };
    let repeated = less(&share(VEGAS)?, &share(RENO)?);
    Ok(vec![
        Number { name: "timeouts-vegas-less-reno".to_owned(), samples: timeouts },
        Number { name: "retransmissions-vegas-less-reno".to_owned(), samples: repeated },
    ])
}

/// Of the windows in which at least two packets were lost, the share that ended in a timeout.
fn timeouts_of_windows(ran: &Ran) -> Numbers {
    let part = ran.part("windows")?;
    let mut numbers = Vec::new();
    for (name, tcp) in [("reno-timeouts-share", RENO), ("sack-timeouts-share", SACK)] {
        let point = one(part, TCP, tcp)?;
        let mut samples = Vec::new();
        for run in 0..point.runs.len() {
            let episodes = losses::episodes(part, point, run as u32)?;
            let several: Vec<_> = episodes.iter().filter(|episode| episode.lost >= 2).collect();
            let expired = several.iter().filter(|episode| episode.timeout).count();
            if !several.is_empty() {
                samples.push(expired as f64 / several.len() as f64);
            }
        }
        numbers.push(Number { name: name.to_owned(), samples });
    }
    Ok(numbers)
}

fn switch_points(ran: &Ran) -> Numbers {
    let points = |name: &str| Ok::<f64, String>(ran.part(name)?.points.len() as f64);
    Ok(vec![Number::new("basic", points("basic")?), Number::new("delayed", points("delayed")?)])
}

/// The queue's peaks, a round trip each, from four packets on until it is largest.
fn peaks(ran: &Ran) -> Numbers {
    let part = ran.part("large")?;
    let samples = series(part, part.point(&[])?, "down/forward", "queue-packets")?;
    let largest = max(samples.iter().map(|(_, packets)| *packets));
    let when = samples.iter().find(|(_, packets)| *packets == largest).map_or(0.0, |(at, _)| *at);
    let mut peaks = vec![0.0_f64];
    for (at, packets) in &samples {
        let last = peaks.len() - 1;
        if *packets > 0.0 {
            peaks[last] = peaks[last].max(*packets);
        } else if peaks[last] > 0.0 && *at < when {
            peaks.push(0.0);
        }
        if *at > when {
            break;
        }
    }
    let growth: Vec<f64> =
        peaks.windows(2).filter(|pair| pair[0] >= 4.0).map(|pair| pair[1] / pair[0]).collect();
    let after: Vec<f64> = samples
        .iter()
        .filter(|(at, _)| (when + RTT..when + 11.0 * RTT).contains(at))
        .map(|(_, packets)| *packets)
        .collect();
    Ok(vec![
        Number::new("least-growth", min(growth.iter().copied())),
        Number::new("most-growth", max(growth.iter().copied())),
        Number::new("mean-after-less-peak", mean(&after) - largest),
    ])
}

/// In each round of less than half of the path: the share of the round trip in which nothing is
/// sent.
fn silence(ran: &Ran) -> Numbers {
    let part = ran.part("sequence")?;
    let rounds = Trace::new(part, part.point(&[])?, "main")?.rounds();
    let early = rounds.iter().take_while(|round| round.packets < PATH / 2);
    let idle = early.map(|round| 1.0 - (round.to - round.from) / RTT);
    Ok(vec![Number::new("least-idle-share", min(idle))])
}

const DOWN: [(&str, &str); 2] = [("link", "down"), ("from", "satellite")];

/// The smallest buffer from which on nothing is dropped, in packets.
fn smallest_buffer(part: &Part) -> Result<f64, String> {
    let mut smallest = None;
    for point in &part.points {
        let buffer: f64 = point
            .value(QUEUE)
            .and_then(|queue| queue.trim_end_matches("packets").parse().ok())
            .ok_or("no buffer")?;
        let dropped = point.column(Table::Links, &DOWN, "dropped_packets")?[0];
        smallest = if dropped > 0.0 { None } else { smallest.or(Some(buffer)) };
    }
    smallest.ok_or_else(|| "every buffer drops".to_owned())
}

fn buffer_basic(ran: &Ran) -> Numbers {
    let large = ran.part("large")?.point(&[])?;
    let peak = large.column(Table::Links, &DOWN, "queue_max_packets")?;
    Ok(vec![
        Number { name: "peak-queue".to_owned(), samples: peak },
        Number::new("smallest-buffer", smallest_buffer(ran.part("search")?)?),
    ])
}

fn buffer_delayed(ran: &Ran) -> Numbers {
    let large = one(ran.part("large")?, "flow.main.tcp.ack", "delayed:100ms")?;
    let peak = large.column(Table::Links, &DOWN, "queue_max_packets")?;
    Ok(vec![
        Number { name: "peak-queue".to_owned(), samples: peak },
        Number::new("smallest-buffer", smallest_buffer(ran.part("search")?)?),
    ])
}

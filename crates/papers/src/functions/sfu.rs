//! What sfu's claims speak of and no cell of a table says: rounds, bursts, variation.

use super::samples::{max, mean, min};
use super::{Function, losses};
use crate::run::trace::{Trace, series};
use crate::run::{Number, Part, PointRuns, Ran};

/// By claim.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("S-3.5-c", packets_of_rounds),
    ("S-3.7-f", timeouts_of_windows),
    ("S-4-a", peaks),
    ("S-4-h", silence),
];

type Numbers = Result<Vec<Number>, String>;

/// The round trip, in seconds.
const RTT: f64 = 0.56;
/// Packets that the path holds.
const PATH: u64 = 108;

const TCP: &str = "flow.main.tcp";

fn one<'a>(part: &'a Part, path: &str, value: &str) -> Result<&'a PointRuns, String> {
    part.point(&[(path, value)])
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

const SACK: &str = "recovery=sack";
const RENO: &str = "recovery=reno,sack=off";

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

//! Figure 4.13: 10 MB over a satellite, by the round trip, for four variants.

use super::{
    DATA, Function, Numbers, PACKET, Samples, at, flow, mean, min_by_mean, number, per_run, ratio,
    scaled,
};
use crate::functions::samples::share_of_runs;
use crate::run::packets::Packets;
use crate::run::{Number, PointRuns, Ran};
use bentpipe_core::tcp::cause::Cause;
use bentpipe_lab::tables::Table;
use bentpipe_scenario::repeat::SampleSummary;

pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("H-4.11-E", filled),
    ("H-4.13-E", drawn),
    ("H-4.13-a", little_lost),
    ("H-4.13-b", fast_below),
    ("H-4.13-c", different_above),
    ("H-4.13-d", sack_is_fastest),
    ("H-4.13-e", sack_reno),
    ("H-4.13-f", newreno),
    ("H-4.13-g", reno),
    ("H-4.13-h", low_orbits),
    ("H-F-13", min_time),
    ("H-D-25", light_traffic),
];

/// The satellite, in bit/s, and its longest round trip, in seconds.
pub(super) const SATELLITE: f64 = 1.3e6;
pub(super) const GEO: f64 = 0.6;
/// Round trips in milliseconds, as swept.
pub(super) const TRIPS: [u32; 9] = [20, 40, 80, 100, 200, 300, 400, 500, 600];
const SACK: &str = "recovery=sack";
const SACK_RENO: &str = "recovery=sack-reno";
const NEWRENO: &str = "recovery=newreno-less-careful,sack=off";
const RENO: &str = "recovery=reno,sack=off";
const VARIANTS: [&str; 4] = [SACK, SACK_RENO, NEWRENO, RENO];

/// The satellite's delay, one way: half a round trip less 0.6 ms of the others.
pub(super) fn delay(trip: u32) -> String {
    format!("{}us", trip * 500 - 600)
}

fn point<'a>(ran: &'a Ran, trip: u32, tcp: &str) -> Result<&'a PointRuns, String> {
    at(ran.part("variants")?, &[("link.sat.delay", &delay(trip)), ("flow.main.tcp", tcp)])
}

/// Application data, in bit/s.
fn goodput(ran: &Ran, trip: u32, tcp: &str) -> Result<Samples, String> {
    flow(point(ran, trip, tcp)?, "main", "goodput_bps")
}

/// All four variants, the fastest first.
fn ordered(ran: &Ran, trip: u32) -> Result<Vec<Samples>, String> {
    let of = VARIANTS.map(|tcp| goodput(ran, trip, tcp));
    let mut of = of.into_iter().collect::<Result<Vec<_>, _>>()?;
    of.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
    Ok(of)
}

fn filled(ran: &Ran) -> Numbers {
    Ok(vec![number("share-at-20-ms", scaled(&goodput(ran, 20, SACK)?, 1.0 / SATELLITE))])
}

fn drawn(ran: &Ran) -> Numbers {
    let there = VARIANTS.iter().filter(|tcp| point(ran, 600, tcp).is_ok()).count();
    let runs = point(ran, 600, SACK)?.runs.len();
    Ok(vec![Number::new("variants", there as f64), Number::new("runs", runs as f64)])
}

fn little_lost(ran: &Ran) -> Numbers {
    let ratio = ratio(&goodput(ran, 600, SACK)?, &goodput(ran, 20, SACK)?);
    Ok(vec![number("600-to-20-ms", ratio)])
}

fn fast_below(ran: &Ran) -> Numbers {
    let mut shares = Vec::new();
    for trip in TRIPS.into_iter().filter(|trip| *trip < 100) {
        for tcp in VARIANTS {
            shares.push(scaled(&goodput(ran, trip, tcp)?, 1.0 / SATELLITE));
        }
    }
    Ok(vec![number("smallest-share", min_by_mean(shares)?)])
}

/// Between the 95 % intervals of the best and the worst.
fn gap(best: &[f64], worst: &[f64]) -> f64 {
    let half = |samples| SampleSummary::of(samples).and_then(|s| s.half_width_95).unwrap_or(0.0);
    mean(best) - half(best) - mean(worst) - half(worst)
}

fn different_above(ran: &Ran) -> Numbers {
    let mut ratios = Vec::new();
    let mut gaps = Vec::new();
    for trip in TRIPS.into_iter().filter(|trip| *trip >= 200) {
        let variants = ordered(ran, trip)?;
        ratios.push(ratio(&variants[0], &variants[3]));
        gaps.push(gap(&variants[0], &variants[3]));
    }
    let at_600 = ratios.last().cloned().ok_or("no round trips")?;
    Ok(vec![
        number("best-to-worst-600", at_600),
        number("smallest-best-to-worst", min_by_mean(ratios)?),
        Number::new("smallest-gap-bps", gaps.into_iter().fold(f64::INFINITY, f64::min)),
    ])
}

fn sack_is_fastest(ran: &Ran) -> Numbers {
    let mut leads = Vec::new();
    let mut once = Vec::new();
    for trip in TRIPS.into_iter().filter(|trip| *trip >= 100) {
        for other in &VARIANTS[1..] {
            leads.push(ratio(&goodput(ran, trip, SACK)?, &goodput(ran, trip, other)?));
        }
        let halvings = flow(point(ran, trip, SACK)?, "main", "first_recovery_reductions")?;
        once.extend(share_of_runs(&halvings, |halvings| halvings == 1.0));
    }
    Ok(vec![number("smallest-lead", min_by_mean(leads)?), number("runs-with-one-halving", once)])
}

fn sack_reno(ran: &Ran) -> Numbers {
    let halvings = flow(point(ran, 600, SACK_RENO)?, "main", "first_recovery_reductions")?;
    let ratio = ratio(&goodput(ran, 600, SACK_RENO)?, &goodput(ran, 600, SACK)?);
    Ok(vec![number("halvings", halvings), number("to-sack-newreno", ratio)])
}

/// The recovery by the losses of one transfer without other traffic: those of what was sent before
/// it began.
fn newreno(ran: &Ran) -> Numbers {
    let part = ran.part("newreno")?;
    let alone = at(part, &[])?;
    let packets = Packets::new(part, alone, 0, ("s", "d"))?;
    let began = packets.sent.iter().find(|packet| packet.cause == Some(Cause::FastRetransmit));
    let began = began.ok_or("nothing was recovered")?.at;
    let lost = packets.lost().filter(|packet| packet.at < began).count();
    let lasted = flow(alone, "main", "first_recovery_s")?;
    let ratio = ratio(&goodput(ran, 600, NEWRENO)?, &goodput(ran, 600, SACK)?);
    Ok(vec![
        number("recovery-over-losses", scaled(&lasted, 1.0 / (lost as f64 * GEO))),
        number("to-sack-newreno", ratio),
    ])
}

fn reno(ran: &Ran) -> Numbers {
    let early = at(ran.part("early")?, &[])?;
    let timeouts = flow(early, "main", "timeouts")?;
    let halvings = flow(early, "main", "window_reductions")?;
    let both = [timeouts, halvings];
    let both = per_run(&both, |run| f64::from(u8::from(run[0] >= 1.0 && run[1] >= 2.0)));
    Ok(vec![number("runs-with-timeout-and-halvings", both)])
}

fn low_orbits(ran: &Ran) -> Numbers {
    let of = |trip: u32| {
        let ratio = ratio(&goodput(ran, trip, SACK)?, &goodput(ran, 20, SACK)?);
        Ok(number(format!("{trip}-to-20-ms"), ratio))
    };
    [40, 80, 100, 200].into_iter().map(of).collect()
}

/// 10 MB at the satellite's rate, without headers.
fn min_time(_: &Ran) -> Numbers {
    Ok(vec![Number::new("least-time-s", 10e6 * 8.0 / SATELLITE)])
}

/// Of the transfers of the figure, over 600 ms: what the satellite carries that is not theirs.
fn light_traffic(ran: &Ran) -> Numbers {
    let point = point(ran, 600, SACK)?;
    let carried =
        point.column(Table::Links, &[("link", "sat"), ("from", "g")], "delivered_bytes")?;
    let own = scaled(&flow(point, "main", "delivered_bytes")?, PACKET / DATA);
    let load = per_run(&[carried, own], |run| 1.0 - run[1] / run[0]);
    Ok(vec![number("load", load), Number::new("seeds", point.runs.len() as f64)])
}

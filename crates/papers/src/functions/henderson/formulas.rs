//! Figure 4.3, and formulas of section 4.1: how windows grow.

use super::{Function, Numbers, Samples, at, number};
use crate::run::trace::series;
use crate::run::{Number, PointRuns, Ran};

pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("H-F-1", additive_increase),
    ("H-F-2", constant_rate),
    ("H-F-3", segments_sent),
    ("H-F-4", bound_of_constant_rate),
    ("H-F-5", increase_by_k),
    ("H-F-8", equal_aggressiveness),
];

const TRIPS: [u32; 5] = [10, 100, 200, 300, 600];
const SMSS: f64 = 960.0;

/// The window in segments over time.
pub(super) fn window(
    ran: &Ran,
    part: &str,
    conditions: &[(&str, &str)],
) -> Result<Vec<(f64, f64)>, String> {
    let part = ran.part(part)?;
    let point: &PointRuns = at(part, conditions)?;
    let samples = series(part, point, "main", "cwnd")?;
    Ok(samples.into_iter().map(|(at, bytes)| (at, bytes / SMSS)).collect())
}

/// Segments in a second, over the run's second half.
pub(super) fn slope(window: &[(f64, f64)]) -> Result<f64, String> {
    let late = &window[window.len() / 2..];
    let (first, last) = (late.first().ok_or("no window")?, late.last().ok_or("no window")?);
    Ok((last.1 - first.1) / (last.0 - first.0))
}

fn delay(trip: u32) -> String {
    format!("{}ms", f64::from(trip) / 2.0)
}

fn growth(ran: &Ran, part: &str, per: impl Fn(f64) -> f64) -> Numbers {
    let of = |trip| {
        let slope = slope(&window(ran, part, &[("link.path.delay", &delay(trip))])?)?;
        let growth = slope * per(f64::from(trip) * 1e-3);
        Ok(Number::new(format!("growth-{trip}-ms"), growth))
    };
    TRIPS.into_iter().map(of).collect()
}

/// Segments in a round trip.
fn additive_increase(ran: &Ran) -> Numbers {
    growth(ran, "standard", |trip| trip)
}

/// Of the rate, in segments per second squared.
fn constant_rate(ran: &Ran) -> Numbers {
    growth(ran, "constant-rate", |trip| 1.0 / trip)
}

/// Segments sent by time `t` from a window of one, that grows by `a` in each round trip.
fn sent(t: f64, trip: f64, a: f64) -> f64 {
    let rounds = (t / trip).floor() as u64;
    (1..=rounds).map(|n| 1.0 + n as f64 * a).sum()
}

/// Round trips of 100 and 600 ms, for ten minutes.
fn segments_sent(_: &Ran) -> Numbers {
    let (short, long, t) = (0.1_f64, 0.6_f64, 600.0);
    let standard = sent(t, short, 1.0) / sent(t, long, 1.0);
    let c = 100.0;
    let even = sent(t, short, c * short.powi(2)) / sent(t, long, c * long.powi(2));
    Ok(vec![
        Number::new("standard-ratio-over-square", standard / (long / short).powi(2)),
        Number::new("constant-rate-ratio", even),
    ])
}

/// The most that the window grows between two samples, which are an acknowledgment or less apart,
/// in segments.
fn largest_step(window: &[(f64, f64)]) -> f64 {
    window.windows(2).map(|pair| pair[1].1 - pair[0].1).fold(0.0, f64::max)
}

/// With more to add than acknowledgments allow: the window at the end of a round trip over that at
/// its beginning.
fn bound_of_constant_rate(ran: &Ran) -> Numbers {
    let window = window(ran, "bound", &[])?;
    let at = |t: f64| window.iter().take_while(|(at, _)| *at <= t).last().map_or(0.0, |w| w.1);
    // The rounds of 600 ms: in the midst of each silence, so that all of a round's acknowledgments
    // are in.
    let rounds: Samples = (2..7).map(|n| at(0.55 + 0.6 * f64::from(n))).collect();
    let doubled: Samples = rounds.windows(2).map(|pair| pair[1] / pair[0]).collect();
    Ok(vec![
        Number::new("most-an-ack-adds", largest_step(&window)),
        Number::new("growth-in-a-round-trip", super::mean(&doubled)),
    ])
}

fn increase_by_k(ran: &Ran) -> Numbers {
    let of = |k: u32| {
        let k = format!("increase-by-k:k={k}");
        window(ran, "by-k", &[("flow.main.tcp.congestion", &k)])
    };
    let (two, four) = (of(2)?, of(4)?);
    let growth = |window: &[(f64, f64)]| Ok::<_, String>(vec![slope(window)? * 0.6]);
    Ok(vec![
        Number::new("most-an-ack-adds", largest_step(&two).max(largest_step(&four))),
        number("growth-by-2", growth(&two)?),
        number("growth-by-4", growth(&four)?),
    ])
}

/// The round trip with which standard TCP is as bold: c · rtt² = 1.
fn equal_aggressiveness(_: &Ran) -> Numbers {
    let of = |c: u32| {
        let trip = (1.0 / f64::from(c)).sqrt() * 1e3;
        Number::new(format!("round-trip-of-{c}-ms"), trip)
    };
    Ok([4, 100, 1600].map(of).into())
}

//! Figures 4.20, 4.23 and 4.24: beside a transfer of 20 ms, end to end and split.

use super::testbed::{SATELLITE, TRIPS, delay};
use super::{
    Function, Numbers, Samples, at, flow, max_by_mean, mean, min_by_mean, number, ratio, scaled,
};
use crate::functions::samples::share_of_runs;
use crate::run::{Number, PointRuns, Ran};
use bentpipe_lab::tables::Table;
use bentpipe_scenario::repeat::SampleSummary;

pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("H-4.20-E", points_with_and_without),
    ("H-4.20-a", taken_by_the_rival),
    ("H-4.20-b", by_fast_retransmits),
    ("H-4.20-c", variation),
    ("H-4.23-E", split_points),
    ("H-4.24-E", split_points),
    ("H-4.23-a", fair_share),
    ("H-4.23-b", any_round_trip),
    ("H-4.24-a", return_channel),
    ("H-F-14", buffers),
    ("H-F-15", acknowledgments),
    ("H-D-23", thinned),
];

fn point<'a>(ran: &'a Ran, part: &str, trip: u32) -> Result<&'a PointRuns, String> {
    at(ran.part(part)?, &[("link.sat.delay", &delay(trip))])
}

fn goodput(ran: &Ran, part: &str, trip: u32) -> Result<Samples, String> {
    flow(point(ran, part, trip)?, "main", "goodput_bps")
}

fn points_with_and_without(ran: &Ran) -> Numbers {
    let points = ran.part("alone")?.points.len() + ran.part("beside")?.points.len();
    Ok(vec![Number::new("points", points as f64)])
}

fn split_points(ran: &Ran) -> Numbers {
    Ok(vec![Number::new("points", ran.part("split")?.points.len() as f64)])
}

fn taken_by_the_rival(ran: &Ran) -> Numbers {
    let ratio = ratio(&goodput(ran, "beside", 600)?, &goodput(ran, "alone", 600)?);
    Ok(vec![number("with-to-without", ratio)])
}

fn by_fast_retransmits(ran: &Ran) -> Numbers {
    let point = point(ran, "beside", 600)?;
    let timeouts = flow(point, "main", "timeouts")?;
    Ok(vec![
        number("runs-without-timeout", share_of_runs(&timeouts, |timeouts| timeouts == 0.0)),
        number("fast-retransmits", flow(point, "main", "recoveries")?),
    ])
}

/// The half-width of the 95 % interval over the mean. One of less than a hundredth, of a transfer
/// that nothing disturbs, counts as a hundredth: error bars on paper show no less.
fn uncertainty(samples: &[f64]) -> Result<f64, String> {
    let half = SampleSummary::of(samples).and_then(|summary| summary.half_width_95);
    Ok((half.ok_or("there is one run")? / mean(samples)).max(0.01))
}

fn variation(ran: &Ran) -> Numbers {
    let with = uncertainty(&goodput(ran, "beside", 600)?)?;
    let without = uncertainty(&goodput(ran, "alone", 600)?)?;
    Ok(vec![Number::new("with-to-without", with / without)])
}

fn fair_share(ran: &Ran) -> Numbers {
    let split = goodput(ran, "split", 600)?;
    Ok(vec![
        number("split-to-unsplit", ratio(&split, &goodput(ran, "beside", 600)?)),
        number("share-of-the-satellite", scaled(&split, 1.0 / SATELLITE)),
    ])
}

fn any_round_trip(ran: &Ran) -> Numbers {
    let ratio = ratio(&goodput(ran, "split", 600)?, &goodput(ran, "split", 20)?);
    Ok(vec![number("600-to-20-ms", ratio)])
}

/// Towards the satellite, or back.
fn link(point: &PointRuns, from: &str, column: &str) -> Result<Samples, String> {
    point.column(Table::Links, &[("link", "sat"), ("from", from)], column)
}

/// Without the Web, whose requests take more of the return channel than the transfer's
/// acknowledgments.
fn return_channel(ran: &Ran) -> Numbers {
    let rates = TRIPS.map(|trip| link(point(ran, "channel", trip)?, "d", "throughput_bps"));
    let rates = rates.into_iter().collect::<Result<Vec<_>, String>>()?;
    Ok(vec![
        number("least-kbps", scaled(&min_by_mean(rates.clone())?, 1e-3)),
        number("most-kbps", scaled(&max_by_mean(rates)?, 1e-3)),
    ])
}

fn acknowledgments(ran: &Ran) -> Numbers {
    let ratio = |trip| {
        let point = point(ran, "channel", trip)?;
        Ok(ratio(&link(point, "d", "delivered_bytes")?, &link(point, "g", "delivered_bytes")?))
    };
    let ratios = TRIPS.into_iter().map(ratio).collect::<Result<Vec<_>, String>>()?;
    Ok(vec![
        number("smallest-ratio", min_by_mean(ratios.clone())?),
        number("largest-ratio", max_by_mean(ratios)?),
    ])
}

fn buffers(ran: &Ran) -> Numbers {
    let part = ran.part("buffers")?;
    let of =
        |held: &str| flow(at(part, &[("gateway.g.limits.stream", held)])?, "main", "goodput_bps");
    let all = of("4MiB")?;
    Ok(vec![
        number("three-of-the-satellites", ratio(&of("292500B")?, &all)),
        number("three-of-the-smaller", ratio(&of("75000B")?, &all)),
    ])
}

fn thinned(ran: &Ran) -> Numbers {
    let part = ran.part("thinned")?;
    let of = |ack: &str| at(part, &[("flow.main.tcp-to", ack)]);
    let (plain, thin) = (of("ack=delayed:200ms")?, of("ack=thinned:8:200ms")?);
    let share = ratio(&link(thin, "d", "delivered_bytes")?, &link(thin, "g", "delivered_bytes")?);
    let rate = |point| flow(point, "main", "goodput_bps");
    Ok(vec![
        number("return-share", share),
        number("throughput-ratio", ratio(&rate(thin)?, &rate(plain)?)),
    ])
}

//! bharadwaj-1999: one connection through a pair of gateways.

use super::{
    BYTES, Function, GATEWAYS, Number, Numbers, RATE, RATES, RTT, Ran, Samples, VARIANT, flow,
    jackknife, less, mean, per_run, samples,
};
use crate::run::Part;
use crate::run::trace::series;

/// By claim.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("G99-4-c", capacity_lost),
    ("G99-7-a", fack_beside_reno),
    ("G99-7-b", errors_by_rate),
    ("G99-7-c", errors_by_size),
    ("G99-9-a", half_efficiencies),
    ("G99-10-b", gaps),
];

/// Of what the link could have carried until the transfer's end and did not, the share that falls
/// before the link is first full for a round trip.
fn capacity_lost(ran: &Ran) -> Numbers {
    const INTERVAL: f64 = 0.1;
    let part = ran.part("course")?;
    let point = part.point(&[])?;
    let rates = series(part, point, "sat/forward", "throughput")?;
    let end = point.completion()?;
    let rates: Vec<f64> =
        rates.iter().filter(|(at, _)| *at <= end).map(|(_, rate)| *rate).collect();
    let round = (RTT / INTERVAL) as usize;
    let full = |window: &[f64]| window.iter().all(|rate| *rate >= 0.95 * 8e6);
    let first =
        rates.windows(round).position(full).ok_or("the link is never full for a round trip")?;
    let lost = |of: &[f64]| of.iter().map(|rate| (8e6 - rate).max(0.0)).sum::<f64>();
    Ok(vec![Number::new("share-lost-before-link-is-full", lost(&rates[..first]) / lost(&rates))])
}

/// Gateways whose satellite leg repairs losses as Reno does.
const RENO: &str = "gateways with Reno";

/// What bit errors leave of the efficiency, run by run.
fn kept(ran: &Ran, rate: &str, bytes: &str, variant: &str) -> Result<Vec<f64>, String> {
    let at = [(RATE, rate), (BYTES, bytes), (VARIANT, variant)];
    let of = |part: &Part| flow(part, &at, "efficiency");
    let clean = of(ran.part("clean")?)?[0];
    Ok(of(ran.part("errors")?)?.iter().map(|efficiency| efficiency / clean).collect())
}

/// Over the three rates on the mean: what FACK keeps less what Reno keeps on the satellite leg.
fn fack_beside_reno(ran: &Ran) -> Numbers {
    let mut numbers = Vec::new();
    for (name, bytes) in [("kept-fack-less-reno-1MB", "1MB"), ("kept-fack-less-reno-10MB", "10MB")]
    {
        let mut differences = Vec::new();
        for rate in RATES {
            let (fack, reno) = (kept(ran, rate, bytes, GATEWAYS)?, kept(ran, rate, bytes, RENO)?);
            differences.push(less(&fack, &reno));
        }
        numbers.push(samples(name, per_run(&differences, mean)));
    }
    Ok(numbers)
}

fn errors_by_rate(ran: &Ran) -> Numbers {
    let [slow, middle, fast] = RATES.map(|rate| kept(ran, rate, "10MB", GATEWAYS));
    let (slow, middle, fast) = (slow?, middle?, fast?);
    Ok(vec![
        samples("kept-384k-less-1536k", less(&slow, &middle)),
        samples("kept-1536k-less-8M", less(&middle, &fast)),
    ])
}

fn errors_by_size(ran: &Ran) -> Numbers {
    let [slow, middle, fast] = RATES.map(|rate| kept(ran, rate, "10KB", GATEWAYS));
    Ok(vec![
        samples("kept-10KB-384k", slow?),
        samples("kept-10KB-1536k", middle?),
        samples("kept-10KB-8M", fast?),
        samples("kept-10MB-8M", kept(ran, RATES[2], "10MB", GATEWAYS)?),
    ])
}

/// The efficiency at a link rate without errors, and at the swept bit-error rates, of which the
/// logarithms come first.
fn efficiencies(ran: &Ran, rate: &str) -> Result<(Vec<f64>, Vec<Samples>), String> {
    let errors = ran.part("errors")?;
    let mut curve = Vec::new();
    for point in errors.points.iter().filter(|point| point.value(RATE) == Some(rate)) {
        let bits = point.value("link.sat.bit-errors").and_then(|bits| bits.parse::<f64>().ok());
        let bits = bits.ok_or("no bit-error rate")?;
        let at = [(RATE, rate), ("link.sat.bit-errors", &bits.to_string())];
        curve.push((bits.ln(), flow(errors, &at, "efficiency")?));
    }
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (bits, found): (Vec<f64>, Vec<Samples>) = curve.into_iter().unzip();
    let clean = flow(ran.part("clean")?, &[(RATE, rate)], "efficiency")?;
    Ok((bits, std::iter::once(clean).chain(found).collect()))
}

/// The bit-error rate at which the efficiency (the first is that without errors) first falls below
/// half, on logarithmic axes between the swept rates.
fn half(bits: &[f64], efficiencies: &[f64]) -> f64 {
    let curve: Vec<f64> = efficiencies[1..].iter().map(|x| x / efficiencies[0]).collect();
    let crossing = curve.windows(2).position(|pair| pair[0] >= 0.5 && pair[1] < 0.5);
    let Some(at) = crossing else { return f64::NAN };
    let part = (curve[at] - 0.5) / (curve[at] - curve[at + 1]);
    (bits[at] + part * (bits[at + 1] - bits[at])).exp()
}

fn half_efficiencies(ran: &Ran) -> Numbers {
    let found = RATES.map(|rate| efficiencies(ran, rate));
    let found = found.into_iter().collect::<Result<Vec<_>, _>>()?;
    let bits = &found[0].0;
    let of = |rate: usize| jackknife(&found[rate].1, |means| half(bits, means));
    let faster = |rate: usize| {
        let both = [found[rate].1.clone(), found[rate + 1].1.clone()].concat();
        let ratio = |means: &[f64]| {
            let (slow, fast) = means.split_at(means.len() / 2);
            half(bits, slow) / half(bits, fast)
        };
        jackknife(&both, ratio)
    };
    Ok(vec![
        samples("half-384k", of(0)),
        samples("half-1536k", of(1)),
        samples("half-8M", of(2)),
        samples("half-384k-to-1536k", faster(0)),
        samples("half-1536k-to-8M", faster(1)),
    ])
}

/// The satellite link's median silence, of those of 0.3 s and more while the page is loaded.
fn gaps(ran: &Ran) -> Numbers {
    const INTERVAL: f64 = 0.01;
    let part = ran.part("gaps")?;
    let rates = series(part, part.point(&[])?, "sat/forward", "throughput")?;
    let (mut silences, mut silent) = (Vec::new(), 0.0);
    for (_, rate) in rates {
        // Acknowledgments of requests are no objects.
        if rate < 0.1 * 8e6 {
            silent += INTERVAL;
        } else {
            silences.push(silent);
            silent = 0.0;
        }
    }
    silences.retain(|silence| *silence >= 0.3);
    silences.sort_by(f64::total_cmp);
    let median = silences.get(silences.len() / 2).ok_or("the link is never silent")?;
    Ok(vec![Number::new("gap-s", *median)])
}

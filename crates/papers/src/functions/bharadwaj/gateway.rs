//! bharadwaj-1999: one connection through a pair of gateways.

use super::{Function, Number, Numbers, RTT, Ran};
use crate::run::trace::series;

/// By claim.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[("G99-4-c", capacity_lost), ("G99-10-b", gaps)];

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

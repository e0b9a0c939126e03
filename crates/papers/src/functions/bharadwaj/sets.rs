//! bharadwaj-2001, figures 15 and 16, and what its section 5 asks of them: half of the transfers
//! cross the satellite (H), half do not (L), and the server's Ethernet is all that they share.

use super::{Function, IW_1, Numbers, Ran, Samples, VARIANT, jackknife, mean, min, samples};
use crate::run::trace::{Trace, series};
use crate::run::{Number, Part, PointRuns};
use bentpipe_lab::tables::Table;

/// By claim.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[("G01-15-d", held)];

/// Transfers in each of the two sets.
const EACH: [&str; 4] = ["5", "10", "15", "20"];
const COUNT: &str = "flow.h.count";

/// What G1 holds at most of all that set H is sent; and how much of a transfer has reached its
/// client when its server has all acknowledged.
fn held(ran: &Ran) -> Numbers {
    let part = ran.part("sets")?;
    let share = |each: &str| {
        let at = [("flow.h.bytes", "100KB"), (COUNT, each), (VARIANT, IW_1)];
        let held =
            part.point(&at)?.column(Table::Gateways, &[("gateway", "g1")], "held_max_bytes")?;
        let transfers: f64 = each.parse().map_err(|_| "no number of transfers")?;
        Ok(held.into_iter().map(|held| held / (100e3 * transfers)).collect())
    };
    let shares = EACH.into_iter().map(share).collect::<Result<Vec<Samples>, String>>()?;
    let part = ran.part("course")?;
    let point = part.point(&[])?;
    let crossed = (1..=5).map(|transfer| crossed(part, point, &format!("h.{transfer}")));
    let crossed = crossed.collect::<Result<Vec<_>, _>>()?;
    Ok(vec![
        samples("least-held-share", jackknife(&shares, |means| min(means.iter().copied()))),
        Number::new("crossed-when-c1-ends", mean(&crossed)),
    ])
}

fn crossed(part: &Part, point: &PointRuns, flow: &str) -> Result<f64, String> {
    const INTERVAL: f64 = 0.01;
    let trace = Trace::new(part, point, flow)?;
    let all = trace.sent.iter().map(|sent| sent.end).max().unwrap_or_default();
    let last = trace.acknowledged.iter().find(|ack| ack.next >= all);
    let last = last.ok_or_else(|| format!("{flow} is never acknowledged whole"))?.at;
    let arrived = series(part, point, flow, "throughput")?;
    let until = arrived.iter().filter(|(at, _)| *at <= last).map(|(_, rate)| rate * INTERVAL / 8.0);
    Ok(until.sum::<f64>() / 100e3)
}

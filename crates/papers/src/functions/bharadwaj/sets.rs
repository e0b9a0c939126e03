//! bharadwaj-2001, figures 15 and 16: half of the transfers cross the satellite (H), half do not (L), and the server's
//! Ethernet is all that they share.

use super::{Function, Number, Numbers, Ran, VARIANT, group, mean, min};
use crate::run::trace::{Trace, series};
use crate::run::{Part, PointRuns};
use bentpipe_lab::tables::Table;

/// By claim.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("G01-15-a", unfair),
    ("G01-15-b", fairer),
    ("G01-15-c", aggressive),
    ("G01-15-d", held),
    ("G01-16-a", spreads),
];

/// Transfers in each of the two sets.
const EACH: [&str; 4] = ["5", "10", "15", "20"];
const COUNT: &str = "flow.h.count";

/// A column of set `name` with 100 KB.
fn set(part: &Part, name: &str, each: &str, variant: &str, column: &str) -> Result<f64, String> {
    let at = [("flow.h.bytes", "100KB"), (COUNT, each), (VARIANT, variant)];
    group(part, &at, name, column)
}

/// The mean throughput of both sets, L first, for each number of transfers.
fn throughputs(ran: &Ran, variant: &str) -> Result<Vec<(f64, f64)>, String> {
    let part = ran.part("sets")?;
    let of = |each: &str| {
        let rate = |name: &str| set(part, name, each, variant, "goodput_per_flow_bps");
        Ok((rate("l")?, rate("h")?))
    };
    EACH.into_iter().map(of).collect()
}

fn unfair(ran: &Ran) -> Numbers {
    let ratios: Vec<f64> = throughputs(ran, "0")?.iter().map(|(l, h)| l / h).collect();
    Ok(vec![Number::new("at-10", ratios[0]), Number::new("least-l-to-h", min(ratios))])
}

fn fairer(ran: &Ran) -> Numbers {
    let ratio = |variant: &str| -> Result<f64, String> {
        let ratios: Vec<f64> = throughputs(ran, variant)?.iter().map(|(l, h)| h / l).collect();
        Ok(mean(&ratios))
    };
    let [plain, one, four, sixteen] = [ratio("0")?, ratio("1")?, ratio("4")?, ratio("16")?];
    Ok(vec![
        Number::new("iw-1-less-end-to-end", one - plain),
        Number::new("iw-4-less-iw-1", four - one),
        Number::new("iw-16-less-iw-4", sixteen - four),
    ])
}

fn aggressive(ran: &Ran) -> Numbers {
    let (plain, split) = (throughputs(ran, "0")?, throughputs(ran, "1")?);
    let over = |of: fn(&(f64, f64)) -> f64| {
        let sum = |found: &[(f64, f64)]| found.iter().map(of).sum::<f64>();
        sum(&split) / sum(&plain)
    };
    Ok(vec![
        Number::new("h-iw-1-to-end-to-end", over(|(_, h)| *h)),
        Number::new("l-iw-1-to-end-to-end", over(|(l, _)| *l)),
    ])
}

/// What G1 holds at most of all that set H is sent; and how much of a transfer has reached its client when its server has
/// all acknowledged.
fn held(ran: &Ran) -> Numbers {
    let part = ran.part("sets")?;
    let mut shares = Vec::new();
    for each in EACH {
        let at = [("flow.h.bytes", "100KB"), (COUNT, each), (VARIANT, "1")];
        let held =
            part.point(&at)?.column(Table::Gateways, &[("gateway", "g1")], "held_max_bytes")?;
        let transfers: f64 = each.parse().map_err(|_| "no number of transfers")?;
        shares.push(mean(&held) / (100e3 * transfers));
    }
    let part = ran.part("course")?;
    let point = part.point(&[])?;
    let crossed = (1..=5).map(|transfer| crossed(part, point, &format!("h.{transfer}")));
    let crossed = crossed.collect::<Result<Vec<_>, _>>()?;
    Ok(vec![
        Number::new("least-held-share", min(shares)),
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

/// The panels (end to end, and three initial windows) in which L's throughputs spread half as much again as H's.
fn spreads(ran: &Ran) -> Numbers {
    let part = ran.part("sets")?;
    let mut panels = 0.0;
    for variant in ["0", "1", "4", "16"] {
        let mut means = [0.0; 2];
        for each in EACH {
            for (sum, name) in means.iter_mut().zip(["l", "h"]) {
                *sum += set(part, name, each, variant, "goodput_variation")?;
            }
        }
        panels += f64::from(u8::from(means[0] >= 1.5 * means[1]));
    }
    Ok(vec![Number::new("panels", panels)])
}

//! bharadwaj-2001, figures 15 and 16, and what its section 5 asks of them: half of the transfers
//! cross the satellite (H), half do not (L), and the server's Ethernet is all that they share.

use super::{
    END_TO_END, Function, GATEWAYS, IW_1, IW_4, IW_16, Number, Numbers, Ran, VARIANT, group, mean,
    min,
};
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
    ("G01-W-6", control),
    ("G01-W-11", increments),
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
    let ratios: Vec<f64> = throughputs(ran, END_TO_END)?.iter().map(|(l, h)| l / h).collect();
    Ok(vec![Number::new("at-10", ratios[0]), Number::new("least-l-to-h", min(ratios))])
}

fn fairer(ran: &Ran) -> Numbers {
    let ratio = |variant: &str| -> Result<f64, String> {
        let ratios: Vec<f64> = throughputs(ran, variant)?.iter().map(|(l, h)| h / l).collect();
        Ok(mean(&ratios))
    };
    let [plain, one, four, sixteen] =
        [ratio(END_TO_END)?, ratio(IW_1)?, ratio(IW_4)?, ratio(IW_16)?];
    Ok(vec![
        Number::new("iw-1-less-end-to-end", one - plain),
        Number::new("iw-4-less-iw-1", four - one),
        Number::new("iw-16-less-iw-4", sixteen - four),
    ])
}

fn aggressive(ran: &Ran) -> Numbers {
    let (plain, split) = (throughputs(ran, END_TO_END)?, throughputs(ran, IW_1)?);
    let over = |of: fn(&(f64, f64)) -> f64| {
        let sum = |found: &[(f64, f64)]| found.iter().map(of).sum::<f64>();
        sum(&split) / sum(&plain)
    };
    Ok(vec![
        Number::new("h-iw-1-to-end-to-end", over(|(_, h)| *h)),
        Number::new("l-iw-1-to-end-to-end", over(|(l, _)| *l)),
    ])
}

/// What G1 holds at most of all that set H is sent; and how much of a transfer has reached its
/// client when its server has all acknowledged.
fn held(ran: &Ran) -> Numbers {
    let part = ran.part("sets")?;
    let mut shares = Vec::new();
    for each in EACH {
        let at = [("flow.h.bytes", "100KB"), (COUNT, each), (VARIANT, IW_1)];
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

/// The panels (end to end, and three initial windows) in which L's throughputs spread half as much
/// again as H's.
fn spreads(ran: &Ran) -> Numbers {
    let part = ran.part("sets")?;
    let mut panels = 0.0;
    for variant in [END_TO_END, IW_1, IW_4, IW_16] {
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

/// The ways in which the first gateway may hold back.
const CONTROLS: [&str; 5] = [
    "acknowledging as hosts",
    "single discards",
    "early discards",
    "64 KB a transfer",
    "all but early discards",
];

/// Of the ways in which the first gateway may hold back, which one leaves set L most where it
/// leaves it least.
fn control(ran: &Ran) -> Numbers {
    let part = ran.part("control")?;
    let rate = |name: &str, each: &str, variant: &str| {
        let at = [(COUNT, each), (VARIANT, variant)];
        group(part, &at, name, "goodput_per_flow_bps")
    };
    let held = |each: &str, variant: &str| {
        let point = part.point(&[(COUNT, each), (VARIANT, variant)])?;
        let held = point.column(Table::Gateways, &[("gateway", "g1")], "held_max_bytes")?;
        Ok::<f64, String>(mean(&held))
    };
    let mut best = [f64::NEG_INFINITY, 0.0, 0.0];
    for variant in CONTROLS {
        let (mut near, mut far, mut memory) = (Vec::new(), Vec::new(), Vec::new());
        for each in EACH {
            near.push(rate("l", each, variant)? / rate("l", each, END_TO_END)?);
            far.push(rate("h", each, variant)? / rate("h", each, GATEWAYS)?);
            memory.push(held(each, variant)? / held(each, GATEWAYS)?);
        }
        let found = [min(near), mean(&far), mean(&memory)];
        if found[0] > best[0] {
            best = found;
        }
    }
    Ok(vec![
        Number::new("least-l-to-no-surplus", best[0]),
        Number::new("h-to-without-control", best[1]),
        Number::new("memory-to-without-control", best[2]),
    ])
}

/// By how much set H's share grows by each control's increments, where it grows least.
fn increments(ran: &Ran) -> Numbers {
    let part = ran.part("increments")?;
    let share = |each: &str, control: &str| -> Result<f64, String> {
        let at = [(COUNT, each), ("gateway.g1.satellite.tcp.congestion", control)];
        let rate = |name: &str| group(part, &at, name, "goodput_per_flow_bps");
        Ok(rate("h")? / rate("l")?)
    };
    let least = |control: &str| {
        let of = |each: &str| Ok(share(each, control)? / share(each, "standard")?);
        Ok::<f64, String>(min(EACH.into_iter().map(of).collect::<Result<Vec<_>, String>>()?))
    };
    Ok(vec![
        Number::new("least-hybla-to-standard", least("hybla")?),
        Number::new("least-constant-rate-to-standard", least("constant-rate")?),
        Number::new("least-increase-by-k-to-standard", least("increase-by-k:k=4")?),
    ])
}

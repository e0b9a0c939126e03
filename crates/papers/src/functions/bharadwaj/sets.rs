//! bharadwaj-2001, figures 15 and 16, and what its section 5 asks of them: half of the transfers
//! cross the satellite (H), half do not (L), and the server's Ethernet is all that they share.

use super::{
    END_TO_END, Function, GATEWAYS, IW_1, IW_4, IW_16, Numbers, Ran, Samples, VARIANT, group,
    jackknife, mean, min, ranked, samples,
};
use crate::functions::samples::{per_run, ratio};
use crate::run::trace::{Trace, series};
use crate::run::{Number, Part, PointRuns};
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
fn set(
    part: &Part,
    name: &str,
    each: &str,
    variant: &str,
    column: &str,
) -> Result<Samples, String> {
    let at = [("flow.h.bytes", "100KB"), (COUNT, each), (VARIANT, variant)];
    group(part, &at, name, column)
}

/// A column of both sets, L first, for each number of transfers.
fn both(ran: &Ran, variant: &str, column: &str) -> Result<Vec<Samples>, String> {
    let part = ran.part("sets")?;
    let pairs = EACH.into_iter().flat_map(|each| [("l", each), ("h", each)]);
    pairs.map(|(name, each)| set(part, name, each, variant, column)).collect()
}

/// The mean throughput of both sets.
fn throughputs(ran: &Ran, variant: &str) -> Result<Vec<Samples>, String> {
    both(ran, variant, "goodput_per_flow_bps")
}

/// The first of each two over the second.
fn ratios(means: &[f64]) -> Vec<f64> {
    means.chunks(2).map(|pair| pair[0] / pair[1]).collect()
}

fn unfair(ran: &Ran) -> Numbers {
    let found = throughputs(ran, END_TO_END)?;
    Ok(vec![
        samples("at-10", jackknife(&found, |means| ratios(means)[0])),
        samples("least-l-to-h", jackknife(&found, |means| min(ratios(means)))),
    ])
}

fn fairer(ran: &Ran) -> Numbers {
    let names = ["iw-1-less-end-to-end", "iw-4-less-iw-1", "iw-16-less-iw-4"];
    let variants = [END_TO_END, IW_1, IW_4, IW_16];
    // H over L, over all numbers of transfers.
    let share =
        |means: &[f64]| mean(&ratios(means).iter().map(|l_to_h| 1.0 / l_to_h).collect::<Vec<_>>());
    let step = |(name, pair): (&str, &[&str])| {
        let found = [throughputs(ran, pair[0])?, throughputs(ran, pair[1])?].concat();
        let of = |means: &[f64]| {
            let (before, after) = means.split_at(means.len() / 2);
            share(after) - share(before)
        };
        Ok(samples(name, jackknife(&found, of)))
    };
    names.into_iter().zip(variants.windows(2)).map(step).collect()
}

fn aggressive(ran: &Ran) -> Numbers {
    let found = [throughputs(ran, END_TO_END)?, throughputs(ran, IW_1)?].concat();
    let over = |set: usize| {
        let of = move |means: &[f64]| {
            let sum = |means: &[f64]| means.chunks(2).map(|pair| pair[set]).sum::<f64>();
            let (plain, split) = means.split_at(means.len() / 2);
            sum(split) / sum(plain)
        };
        jackknife(&found, of)
    };
    Ok(vec![samples("h-iw-1-to-end-to-end", over(1)), samples("l-iw-1-to-end-to-end", over(0))])
}

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

/// By how much more L's throughputs spread than H's, in the panel (end to end, and three initial
/// windows) where it is third: in three of four panels it is as much.
fn spreads(ran: &Ran) -> Numbers {
    let panels =
        [END_TO_END, IW_1, IW_4, IW_16].map(|variant| both(ran, variant, "goodput_variation"));
    let panels = panels.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
    let over = |panel: &[f64]| {
        let sum = |set: usize| panel.chunks(2).map(|pair| pair[set]).sum::<f64>();
        sum(0) / sum(1)
    };
    let of = |means: &[f64]| ranked(means.chunks(2 * EACH.len()).map(over), 2);
    Ok(vec![samples("third-largest-l-to-h", jackknife(&panels, of))])
}

/// The ways in which the first gateway may hold back.
const CONTROLS: [&str; 5] = [
    "acknowledging as hosts",
    "single discards",
    "early discards",
    "64 KB a transfer",
    "all but early discards",
];

/// What a way to hold back makes of both sets and of the first gateway's memory, over what they are
/// end to end and without it, for each number of transfers.
fn controlled(part: &Part, variant: &str) -> Result<[Vec<Samples>; 3], String> {
    let mut found: [Vec<Samples>; 3] = Default::default();
    for each in EACH {
        let rate = |name: &str, variant: &str| {
            group(part, &[(COUNT, each), (VARIANT, variant)], name, "goodput_per_flow_bps")
        };
        let held = |variant: &str| {
            let point = part.point(&[(COUNT, each), (VARIANT, variant)])?;
            point.column(Table::Gateways, &[("gateway", "g1")], "held_max_bytes")
        };
        found[0].push(ratio(&rate("l", variant)?, &rate("l", END_TO_END)?));
        found[1].push(ratio(&rate("h", variant)?, &rate("h", GATEWAYS)?));
        found[2].push(ratio(&held(variant)?, &held(GATEWAYS)?));
    }
    Ok(found)
}

/// Of the ways in which the first gateway may hold back, which one leaves set L most where it
/// leaves it least.
fn control(ran: &Ran) -> Numbers {
    let part = ran.part("control")?;
    let found = CONTROLS.into_iter().map(|variant| controlled(part, variant));
    let found = found.collect::<Result<Vec<_>, _>>()?;
    let least = |near: &[Samples]| min(near.iter().map(|samples| mean(samples)));
    let best = found.into_iter().max_by(|a, b| least(&a[0]).total_cmp(&least(&b[0])));
    let [near, far, memory] = best.ok_or("there is no control")?;
    Ok(vec![
        samples("least-l-to-no-surplus", jackknife(&near, |means| min(means.iter().copied()))),
        samples("h-to-without-control", per_run(&far, mean)),
        samples("memory-to-without-control", per_run(&memory, mean)),
    ])
}

/// By how much set H's share grows by each control's increments, where it grows least.
fn increments(ran: &Ran) -> Numbers {
    let part = ran.part("increments")?;
    let share = |each: &str, control: &str| {
        let at = [(COUNT, each), ("gateway.g1.satellite.tcp.congestion", control)];
        let rate = |name: &str| group(part, &at, name, "goodput_per_flow_bps");
        Ok::<_, String>(ratio(&rate("h")?, &rate("l")?))
    };
    let least = |(name, control): (&str, &str)| {
        let of = |each| Ok(ratio(&share(each, control)?, &share(each, "standard")?));
        let each = EACH.into_iter().map(of).collect::<Result<Vec<_>, String>>()?;
        Ok(samples(name, jackknife(&each, |means| min(means.iter().copied()))))
    };
    let controls = [
        ("least-hybla-to-standard", "hybla"),
        ("least-constant-rate-to-standard", "constant-rate"),
        ("least-increase-by-k-to-standard", "increase-by-k:k=4"),
    ];
    controls.into_iter().map(least).collect()
}

//! bharadwaj-2001, figures 11 to 14: ten to forty transfers at once.

use super::{
    BYTES, COUNT, END_TO_END, Function, IW_1, IW_4, IW_16, Number, Numbers, Ran, VARIANT, group,
    max, mean, min,
};
use crate::run::Part;
use bentpipe_lab::tables::Table;

/// By claim.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("G01-11-a", small_transfers),
    ("G01-11-b", one_round_trip),
    ("G01-12-c", spread),
    ("G01-4.3-a", range_of_windows),
    ("G01-4.3-b", short_lives),
    ("G01-13-a", congested),
    ("G01-13-b", congested_windows),
    ("G01-13-c", congested_spread),
];

const COUNTS: [&str; 4] = ["10", "20", "30", "40"];
const RATE: f64 = 8e6;

/// A column of the group of all transfers, on the mean over the runs.
fn all(part: &Part, bytes: &str, count: &str, variant: &str, column: &str) -> Result<f64, String> {
    group(part, &[(BYTES, bytes), (COUNT, count), (VARIANT, variant)], "all", column)
}

/// The mean of the transfers' throughputs, times their number, as a share of the link.
fn utilisation(part: &Part, bytes: &str, count: &str, variant: &str) -> Result<f64, String> {
    Ok(all(part, bytes, count, variant, "goodput_sum_bps")? / RATE)
}

fn small_transfers(ran: &Ran) -> Numbers {
    let part = ran.part("many")?;
    let (mut shares, mut ratios) = (Vec::new(), Vec::new());
    for count in COUNTS {
        let (plain, split) = (
            utilisation(part, "10KB", count, END_TO_END)?,
            utilisation(part, "10KB", count, IW_1)?,
        );
        shares.extend([plain, split]);
        ratios.push(split / plain);
    }
    Ok(vec![
        Number::new("largest-utilisation", max(shares)),
        Number::new("least-iw-1-to-end-to-end", min(ratios.clone())),
        Number::new("largest-iw-1-to-end-to-end", max(ratios)),
    ])
}

fn one_round_trip(ran: &Ran) -> Numbers {
    let part = ran.part("many")?;
    let share = |iw: &str| utilisation(part, "10KB", "10", iw);
    Ok(vec![
        Number::new("iw-16-s", all(part, "10KB", "10", IW_16, "completion_per_flow_s")?),
        Number::new("iw-16-to-1", share(IW_16)? / share(IW_1)?),
    ])
}

/// End to end: where the spread of throughputs grows.
fn spread(ran: &Ran) -> Numbers {
    let part = ran.part("many")?;
    let of = |count: &str| all(part, "100KB", count, END_TO_END, "goodput_variation");
    let spreads = COUNTS.into_iter().map(of).collect::<Result<Vec<_>, _>>()?;
    let steps: Vec<f64> = spreads.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let step = steps.iter().position(|step| *step == max(steps.clone())).unwrap_or(0);
    Ok(vec![
        Number::new("variation-30-to-10", spreads[2] / spreads[0]),
        Number::new("largest-step-ends-at", 10.0 * (step as f64 + 2.0)),
    ])
}

/// What the initial window alone makes of the utilisation with ten transfers.
fn range_of_windows(ran: &Ran) -> Numbers {
    let part = ran.part("many")?;
    let range = |bytes: &str| -> Result<f64, String> {
        let of = |iw: &str| utilisation(part, bytes, "10", iw);
        let found = [of(IW_1)?, of(IW_4)?, of(IW_16)?];
        Ok((max(found) - min(found)) / found[0])
    };
    Ok(vec![Number::new("range-10KB", range("10KB")?), Number::new("range-100KB", range("100KB")?)])
}

/// A first cycle of congestion avoidance ends with the window's second reduction: the share of the
/// transfers end to end that are over before.
fn short_lives(ran: &Ran) -> Numbers {
    let part = ran.part("many")?;
    let mut shares = Vec::new();
    for count in COUNTS {
        let point = part.point(&[(BYTES, "100KB"), (COUNT, count), (VARIANT, END_TO_END)])?;
        let transfers: u32 = count.parse().map_err(|_| "no number of transfers")?;
        let mut short = 0.0;
        for transfer in 1..=transfers {
            let name = format!("main.{transfer}");
            let rows = [("flow", name.as_str())];
            let reductions = point.column(Table::Results, &rows, "window_reductions")?;
            let within = reductions.iter().map(|n| f64::from(u8::from(*n <= 1.0)));
            short += mean(&within.collect::<Vec<_>>());
        }
        shares.push(short / f64::from(transfers));
    }
    Ok(vec![Number::new("least-share", min(shares))])
}

fn congested(ran: &Ran) -> Numbers {
    let part = ran.part("congested")?;
    let ratio = |bytes: &str, count: &str| {
        let of = |variant: &str| utilisation(part, bytes, count, variant);
        Ok::<f64, String>(of(IW_1)? / of(END_TO_END)?)
    };
    let large =
        COUNTS.into_iter().map(|count| ratio("100KB", count)).collect::<Result<Vec<_>, _>>()?;
    let small =
        COUNTS[1..].iter().map(|count| ratio("10KB", count)).collect::<Result<Vec<_>, _>>()?;
    let mut repaired = Vec::new();
    for count in COUNTS {
        let point = part.point(&[(BYTES, "100KB"), (COUNT, count), (VARIANT, IW_1)])?;
        let of = |table, rows: &[(&str, &str)], column: &str| {
            point.column(table, rows, column).map(|found| mean(&found))
        };
        let near = of(Table::Gateways, &[("gateway", "g2")], "lan_retransmissions")?;
        // What the queues of the other links have dropped is no loss of the congested one.
        let first = of(Table::Links, &[("link", "near"), ("from", "server")], "dropped_packets")?;
        let second = of(Table::Links, &[("link", "sat"), ("from", "g1")], "dropped_packets")?;
        let server = of(Table::Runs, &[], "retransmissions")? - first;
        let g1 = of(Table::Gateways, &[("gateway", "g1")], "satellite_retransmissions")? - second;
        repaired.push(near / (near + server.max(0.0) + g1.max(0.0)));
    }
    Ok(vec![
        Number::new("least-100KB", min(large)),
        Number::new("least-10KB", min(small)),
        Number::new("least-share-repaired-by-g2", min(repaired)),
    ])
}

fn congested_windows(ran: &Ran) -> Numbers {
    let part = ran.part("congested")?;
    let mut ratios = Vec::new();
    for count in COUNTS {
        let of = |iw: &str| utilisation(part, "100KB", count, iw);
        ratios.push(of(IW_16)? / of(IW_1)?);
    }
    Ok(vec![Number::new("largest-iw-16-to-1", max(ratios))])
}

fn congested_spread(ran: &Ran) -> Numbers {
    let part = ran.part("congested")?;
    let of = |count: &str, iw: &str| all(part, "100KB", count, iw, "goodput_variation");
    let mut found = Vec::new();
    for count in COUNTS {
        found.push((of(count, IW_16)?, of(count, IW_1)?));
    }
    let (wide, narrow) = found.into_iter().fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
    Ok(vec![
        Number::new("largest-variation-iw-16", wide),
        Number::new("less-that-of-iw-1", wide - narrow),
    ])
}

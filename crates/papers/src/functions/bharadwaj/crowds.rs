//! bharadwaj-2001, figures 11 to 14: ten to forty transfers at once.

use super::{
    BYTES, COUNT, END_TO_END, Function, IW_1, IW_4, IW_16, Numbers, Ran, Samples, VARIANT, group,
    jackknife, max, min, samples,
};
use crate::functions::samples::{largest_in_each_run, less, min_by_mean, per_run, ratio};
use crate::run::Part;
use bentpipe_lab::tables::Table;

/// By claim.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("G01-11-a", small_transfers),
    ("G01-11-b", one_round_trip),
    ("G01-12-c", spread),
    ("G01-12-d", loss_events),
    ("G01-4.3-a", range_of_windows),
    ("G01-4.3-b", short_lives),
    ("G01-13-a", congested),
    ("G01-13-b", congested_windows),
    ("G01-13-c", congested_spread),
];

const COUNTS: [&str; 4] = ["10", "20", "30", "40"];
const RATE: f64 = 8e6;

/// A column of the group of all transfers.
fn all(
    part: &Part,
    bytes: &str,
    count: &str,
    variant: &str,
    column: &str,
) -> Result<Samples, String> {
    group(part, &[(BYTES, bytes), (COUNT, count), (VARIANT, variant)], "all", column)
}

/// The sum of the transfers' throughputs, by number and variant.
fn sums(
    part: &Part,
    bytes: &str,
    counts: &[&str],
    variants: &[&str],
) -> Result<Vec<Samples>, String> {
    let pairs =
        counts.iter().flat_map(|count| variants.iter().map(move |variant| (count, variant)));
    let of = |(count, variant): (&&str, &&str)| all(part, bytes, count, variant, "goodput_sum_bps");
    pairs.map(of).collect()
}

/// The second of each two over the first.
fn ratios(means: &[f64]) -> impl Iterator<Item = f64> {
    means.chunks(2).map(|pair| pair[1] / pair[0])
}

fn small_transfers(ran: &Ran) -> Numbers {
    let found = sums(ran.part("many")?, "10KB", &COUNTS, &[END_TO_END, IW_1])?;
    let shares = jackknife(&found, |means| max(means.iter().map(|sum| sum / RATE)));
    Ok(vec![
        samples("largest-utilisation", shares),
        samples("least-iw-1-to-end-to-end", jackknife(&found, |means| min(ratios(means)))),
        samples("largest-iw-1-to-end-to-end", jackknife(&found, |means| max(ratios(means)))),
    ])
}

fn one_round_trip(ran: &Ran) -> Numbers {
    let part = ran.part("many")?;
    let found = sums(part, "10KB", &["10"], &[IW_1, IW_16])?;
    Ok(vec![
        samples("iw-16-s", all(part, "10KB", "10", IW_16, "completion_per_flow_s")?),
        samples("iw-16-to-1", jackknife(&found, |means| means[1] / means[0])),
    ])
}

/// End to end: where the spread of throughputs grows, in each run.
fn spread(ran: &Ran) -> Numbers {
    let part = ran.part("many")?;
    let of = |count: &str| all(part, "100KB", count, END_TO_END, "goodput_variation");
    let spreads = COUNTS.into_iter().map(of).collect::<Result<Vec<_>, _>>()?;
    let steps: Vec<Samples> = spreads.windows(2).map(|pair| less(&pair[1], &pair[0])).collect();
    let ends = largest_in_each_run(&steps).into_iter().map(|step| 10.0 * (step as f64 + 2.0));
    Ok(vec![
        samples("variation-30-to-10", jackknife(&spreads, |means| means[2] / means[0])),
        samples("largest-step-ends-at", ends.collect()),
    ])
}

/// What the initial window alone makes of the utilisation with ten transfers.
fn range_of_windows(ran: &Ran) -> Numbers {
    let part = ran.part("many")?;
    let range = |name: &str, bytes: &str| {
        let found = sums(part, bytes, &["10"], &[IW_1, IW_4, IW_16])?;
        let range =
            |means: &[f64]| (max(means.iter().copied()) - min(means.iter().copied())) / means[0];
        Ok(samples(name, jackknife(&found, range)))
    };
    [("range-10KB", "10KB"), ("range-100KB", "100KB")]
        .into_iter()
        .map(|(name, bytes)| range(name, bytes))
        .collect()
}

/// What the satellite legs of the first gateway have counted in each run of 100 KB transfers, in
/// columns of its own.
fn satellite_legs(
    ran: &Ran,
    [count, iw]: [&str; 2],
    columns: &[&str],
) -> Result<Vec<Samples>, String> {
    let part = ran.part("many")?;
    let point = part.point(&[(BYTES, "100KB"), (COUNT, count), (VARIANT, iw)])?;
    let of = |column: &&str| point.column(Table::Gateways, &[("gateway", "g1")], column);
    columns.iter().map(of).collect()
}

/// A first cycle of congestion avoidance ends with the second episode of losses: the share of
/// transfers through gateways that are over before, on the satellite leg.
fn short_lives(ran: &Ran) -> Numbers {
    let columns = ["satellite_reduced_again_flows", "split_flows"];
    let points = COUNTS.into_iter().flat_map(|count| [IW_1, IW_4, IW_16].map(|iw| [count, iw]));
    let shares = points.map(|point| {
        let counts = satellite_legs(ran, point, &columns)?;
        Ok(per_run(&counts, |run| 1.0 - run[0] / run[1]))
    });
    let least = min_by_mean(shares.collect::<Result<Vec<_>, String>>()?)?;
    Ok(vec![samples("least-share", least)])
}

/// With forty transfers: loss events for each on the satellite leg, which are episodes of fast
/// recovery, and timeouts outside of them.
fn loss_events(ran: &Ran) -> Numbers {
    let columns = [
        "satellite_recoveries",
        "satellite_timeouts",
        "satellite_recovery_timeouts",
        "split_flows",
    ];
    let events = |iw: &str| {
        let counts = satellite_legs(ran, ["40", iw], &columns)?;
        Ok::<_, String>(per_run(&counts, |run| (run[0] + run[1] - run[2]) / run[3]))
    };
    Ok(vec![samples("drops-16-to-1", ratio(&events(IW_16)?, &events(IW_1)?))])
}

/// What the congested link's gateway, the server and the first gateway have retransmitted for it.
/// What the queues of the other links have dropped is no loss of the congested one.
fn repairs(part: &Part, count: &str) -> Result<[Samples; 3], String> {
    let point = part.point(&[(BYTES, "100KB"), (COUNT, count), (VARIANT, IW_1)])?;
    let dropped = |link: &str, from: &str| {
        point.column(Table::Links, &[("link", link), ("from", from)], "dropped_packets")
    };
    let gateway =
        |name: &str, column: &str| point.column(Table::Gateways, &[("gateway", name)], column);
    let server = point.column(Table::Runs, &[], "retransmissions")?;
    Ok([
        gateway("g2", "lan_retransmissions")?,
        less(&server, &dropped("near", "server")?),
        less(&gateway("g1", "satellite_retransmissions")?, &dropped("sat", "g1")?),
    ])
}

fn congested(ran: &Ran) -> Numbers {
    let part = ran.part("congested")?;
    let least = |bytes: &str, counts: &[&str]| {
        let found = sums(part, bytes, counts, &[END_TO_END, IW_1])?;
        Ok::<_, String>(jackknife(&found, |means| min(ratios(means))))
    };
    let mut repaired = Vec::new();
    for count in COUNTS {
        repaired.extend(repairs(part, count)?);
    }
    let by_g2 = |each: &[f64]| each[0] / (each[0] + each[1].max(0.0) + each[2].max(0.0));
    Ok(vec![
        samples("least-100KB", least("100KB", &COUNTS)?),
        samples("least-10KB", least("10KB", &COUNTS[1..])?),
        samples(
            "least-share-repaired-by-g2",
            jackknife(&repaired, |means| min(means.chunks(3).map(by_g2))),
        ),
    ])
}

fn congested_windows(ran: &Ran) -> Numbers {
    let found = sums(ran.part("congested")?, "100KB", &COUNTS, &[IW_1, IW_16])?;
    Ok(vec![samples("largest-iw-16-to-1", jackknife(&found, |means| max(ratios(means))))])
}

/// Where the spread with a window of 16 is the largest, and how much less it is there with 1.
fn congested_spread(ran: &Ran) -> Numbers {
    let part = ran.part("congested")?;
    let mut found = Vec::new();
    for count in COUNTS {
        found.push(all(part, "100KB", count, IW_16, "goodput_variation")?);
        found.push(all(part, "100KB", count, IW_1, "goodput_variation")?);
    }
    let widest = |means: &[f64]| {
        let pairs = means.chunks(2).map(|pair| (pair[0], pair[0] - pair[1]));
        pairs.fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a })
    };
    Ok(vec![
        samples("largest-variation-iw-16", jackknife(&found, |means| widest(means).0)),
        samples("less-that-of-iw-1", jackknife(&found, |means| widest(means).1)),
    ])
}

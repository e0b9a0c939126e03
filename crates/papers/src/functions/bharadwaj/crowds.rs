//! bharadwaj-2001, figures 11 to 14: ten to forty transfers at once.

use super::{
    BYTES, COUNT, END_TO_END, Function, IW_1, IW_16, Numbers, Ran, Samples, VARIANT, group,
    jackknife, max, min, samples,
};
use crate::functions::samples::less;
use crate::run::Part;
use bentpipe_lab::tables::Table;

/// By claim.
pub(super) const FUNCTIONS: &[(&str, Function)] =
    &[("G01-13-a", congested), ("G01-13-b", congested_windows), ("G01-13-c", congested_spread)];

const COUNTS: [&str; 4] = ["10", "20", "30", "40"];

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

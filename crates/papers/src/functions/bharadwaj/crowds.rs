//! bharadwaj-2001, figures 11 to 14: ten to forty transfers at once.

use super::{
    BYTES, COUNT, Function, IW_1, IW_16, Numbers, Ran, Samples, VARIANT, group, jackknife, samples,
};
use crate::run::Part;

/// By claim.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[("G01-13-c", congested_spread)];

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

//! What directions of links share.

use crate::random::Seeds;
use crate::spec::DirectionSpec;
use bentpipe_core::link::Medium;
use bentpipe_core::units::Rate;
use std::collections::BTreeMap;

/// The media that these directions, each with the number of its line, share by name, in the order
/// of their names.
pub fn media<'a>(
    lines: impl IntoIterator<Item = (&'a DirectionSpec, usize)>,
    seeds: Seeds,
) -> Vec<Medium> {
    let mut media: BTreeMap<&str, (Vec<usize>, Rate)> = BTreeMap::new();
    for (direction, line) in lines {
        let (Some(name), Some(rate)) = (&direction.medium, &direction.rate) else { continue };
        let rate = rate.greatest();
        let (lines, greatest) = media.entry(name).or_insert((Vec::new(), rate));
        lines.push(line);
        *greatest = rate.max(*greatest);
    }
    let medium = |(name, (lines, rate))| {
        Medium::new(lines, rate, seeds.stream(&format!("medium.{name}/backoff")))
    };
    media.into_iter().map(medium).collect()
}

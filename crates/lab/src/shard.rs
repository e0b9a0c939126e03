//! A part of an experiment's runs, for job arrays that share no more than a number.

use crate::plan::Job;
use bentpipe_scenario::Repeat;
use std::fmt;
use std::str::FromStr;

/// Part `index`, counted from zero, of `count`.
///
/// Runs are dealt out one after the other. Where a rule says how many a point needs, all of a
/// point's runs are in one part: whether there is to be another depends on what those before have
/// given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    count: usize,
}

impl Shard {
    /// Whether any of a point's runs may be in this part.
    pub(crate) fn has_point(self, point: usize, repeat: Repeat) -> bool {
        match repeat {
            Repeat::Runs(_) => true,
            Repeat::Until { .. } => point % self.count == self.index,
        }
    }

    /// Whether a run is in this part.
    pub(crate) fn has(self, job: Job, repeat: Repeat) -> bool {
        match repeat {
            // Modulo before the product: there may be many of both.
            Repeat::Runs(runs) => {
                let before = (job.point % self.count) * (runs as usize % self.count);
                (before + job.run as usize) % self.count == self.index
            }
            Repeat::Until { .. } => self.has_point(job.point, repeat),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// What was given is no shard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no shard (expected INDEX/COUNT, with INDEX from 0 to COUNT - 1, such as 3/64)")]
pub struct ShardError(String);

impl FromStr for Shard {
    type Err = ShardError;
    fn from_str(text: &str) -> Result<Shard, ShardError> {
        let parts = text.split_once('/').and_then(|(index, count)| {
            Some(Shard { index: index.parse().ok()?, count: count.parse().ok()? })
        });
        // A million jobs are more than any cluster takes.
        parts
            .filter(|shard| shard.index < shard.count && shard.count <= 1_000_000)
            .ok_or_else(|| ShardError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_scenario::repeat::Measure;

    #[test]
    fn every_run_is_in_one_shard_and_they_are_of_one_size() {
        let until = Repeat::Until { measure: Measure::Interval95, within: 0.1, min: 2, max: 9 };
        for repeat in [Repeat::Runs(7), until] {
            for count in [1, 3, 8] {
                let shards = (0..count).map(|index| Shard { index, count });
                let mut sizes = vec![0; count];
                for point in 0..24 {
                    for run in 0..7 {
                        let job = Job { point, run };
                        let of = |shard: &Shard| {
                            shard.has_point(point, repeat) && shard.has(job, repeat)
                        };
                        let mine: Vec<Shard> = shards.clone().filter(of).collect();
                        assert_eq!(mine.len(), 1, "{job:?} of {count}");
                        sizes[mine[0].index] += 1;
                    }
                }
                assert!(sizes.iter().all(|size| *size == 24 * 7 / count), "{sizes:?}");
            }
        }
    }

    #[test]
    fn what_is_no_shard_is_refused() {
        assert_eq!("3/64".parse(), Ok(Shard { index: 3, count: 64 }));
        for text in ["", "3", "64/64", "-1/2", "0/0", "1/x", "0/1000001"] {
            let error = text.parse::<Shard>().unwrap_err();
            assert!(error.to_string().contains("such as 3/64"), "{text}");
        }
    }
}

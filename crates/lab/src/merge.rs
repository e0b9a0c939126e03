//! Stores of parts of an experiment, joined into one.

use crate::dispatch::{Campaign, Dispatch};
use crate::executed::Event;
use crate::plan::{Job, Next};
use crate::shipment::ShipmentError;
use crate::store::{Key, Store};
use std::path::PathBuf;

/// What came of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// Runs that were taken from the others.
    pub taken: u64,
    /// Runs that were there.
    pub found: u64,
    /// Runs that are needed and nowhere.
    pub missing: Vec<Job>,
}

/// Why stores cannot be joined.
#[derive(Debug, thiserror::Error)]
#[error("cannot take run {run} of point {point} from {}: {source}", folder.display())]
pub struct MergeError {
    /// Which point.
    pub point: usize,
    /// Which run of it.
    pub run: u32,
    /// Out of which store.
    pub folder: PathBuf,
    /// Why.
    pub source: ShipmentError,
}

/// Takes what `campaign` needs and its store lacks from `others`. Nothing is run.
///
/// # Errors
/// [`MergeError`].
pub fn merge(
    campaign: &Campaign<'_>,
    others: &[Store],
    watch: &dyn Fn(Event<'_>),
) -> Result<Merged, MergeError> {
    let mut dispatch = Dispatch::new(campaign, 0);
    let mut missing = Vec::new();
    let mut latest = None;
    // One run after the other: nothing is ever waited for.
    while let Next::Run(job) = dispatch.next(campaign, &mut latest, watch) {
        let Some(point) = &latest else { break };
        let key = Key::of(&point.canonical, campaign.number(job));
        let mut taken = None;
        for other in others {
            taken = campaign.store.adopt(other, key).map_err(|source| {
                let Job { point, run } = job;
                MergeError { point, run, folder: other.folder().to_owned(), source }
            })?;
            if taken.is_some() {
                break;
            }
        }
        match taken {
            Some(record) => dispatch.made(job, &record, watch),
            None => {
                missing.push(job);
                dispatch.pass_over(job);
            }
        }
    }
    let executed = dispatch.executed(campaign);
    Ok(Merged { taken: executed.made, found: executed.found, missing })
}

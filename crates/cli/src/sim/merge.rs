//! `bentpipe sim --merge`: the stores of an experiment's parts, joined.

use bentpipe_lab::{Campaign, Job, MergeError, Merged, Store, merge as join};
use bentpipe_scenario::Experiment;
use std::io;
use std::path::PathBuf;

/// Why parts cannot be joined.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// There is no such folder of results.
    #[error("{} is no folder of results: it has no folder `runs`", _0.display())]
    NoResults(PathBuf),
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A run cannot be taken.
    #[error(transparent)]
    Run(#[from] MergeError),
    /// Not all of the parts are there.
    #[error(
        "run {} of point {} is in none of these folders, made by this version from this scenario; what they have is kept: \
         merge the others too, or run the experiment without --merge to make what is missing here",
        _0.run, _0.point
    )]
    Missing(Job),
}

/// Takes into `store` what `experiment` needs and `folders` have.
pub(super) fn merge(
    experiment: &Experiment,
    store: &Store,
    folders: &[PathBuf],
    quiet: bool,
) -> Result<(), Error> {
    let mut others = Vec::new();
    for folder in folders {
        let runs = folder.join("runs");
        if !runs.is_dir() {
            return Err(Error::NoResults(folder.clone()));
        }
        others.push(Store::open(&runs)?);
    }
    let campaign = Campaign { experiment, store, point: None, run: None, shard: None };
    let Merged { taken, found, missing } = join(&campaign, &others, &|_| {})?;
    if let Some(job) = missing.first() {
        return Err(Error::Missing(*job));
    }
    if !quiet {
        eprintln!("bentpipe sim: {taken} runs taken, {found} were there");
    }
    Ok(())
}

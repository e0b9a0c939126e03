//! The papers' files, and what was asked of them.

mod catalogue;
mod requirements;

use bentpipe_papers::catalogue::Files;
use std::path::Path;

/// The folder `papers/`.
fn folder() -> Files {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    Files::of_folder(&folder).unwrap_or_else(|error| panic!("{error}"))
}

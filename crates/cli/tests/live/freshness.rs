//! Whether the gateway under test is that of the sources. Cargo builds the programs of a test's own package before the test, and
//! `bentpipe-gateway` is another package's.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::stage::GATEWAY;

/// What `bentpipe-gateway` is made of.
const CRATES: [&str; 7] = ["capture", "config", "core", "daemon", "gateway", "linux", "record"];

/// What is wrong with it, if anything is, and what to do.
pub(crate) fn stale_gateway() -> Option<String> {
    let remedy = "cargo build";
    let Ok(built) = fs::metadata(GATEWAY).and_then(|it| it.modified()) else {
        return Some(format!("{GATEWAY} is not there: {remedy}"));
    };
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let newer = CRATES.iter().find_map(|name| newer_than(built, &crates.join(name).join("src")));
    newer.map(|path| format!("{GATEWAY} is older than {}: {remedy}", path.display()))
}

/// A file in `folder` that was changed after `moment`.
fn newer_than(moment: SystemTime, folder: &Path) -> Option<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().find_map(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return newer_than(moment, &path);
        }
        let changed = entry.metadata().and_then(|it| it.modified()).ok()?;
        (changed > moment).then_some(path)
    })
}

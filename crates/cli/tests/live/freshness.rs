//! Whether the gateway under test is that of the sources. Cargo builds the programs of a test's own
//! package before the test, and `bentpipe-gateway` is another package's.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::stage::GATEWAY;

/// What `bentpipe-gateway` is made of.
const CRATES: [&str; 7] = ["capture", "config", "core", "daemon", "gateway", "linux", "record"];

/// Files and folders of unit tests, which no program is made of.
const OF_TESTS: [&str; 5] = ["tests", "tests.rs", "testing.rs", "fuzz.rs", "__fuzz__"];

/// What is wrong with it, if anything is, and what to do.
pub(crate) fn stale_gateway() -> Option<String> {
    let release = if cfg!(debug_assertions) { "" } else { "--release " };
    // Cargo goes by times, too, but by those of other files where a test among them was changed.
    let remedy =
        format!("touch crates/daemon/src/main.rs && cargo build {release}--bin bentpipe-gateway");
    let Ok(built) = fs::metadata(GATEWAY).and_then(|it| it.modified()) else {
        return Some(format!("{GATEWAY} is not there: {remedy}"));
    };
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let newer = CRATES.iter().find_map(|name| newer_than(built, &crates.join(name).join("src")));
    newer.map(|path| format!("{GATEWAY} is older than {}: {remedy}", path.display()))
}

/// A source in `folder` that was changed after `moment`.
fn newer_than(moment: SystemTime, folder: &Path) -> Option<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().find_map(|entry| {
        let path = entry.path();
        if OF_TESTS.iter().any(|name| path.ends_with(name)) {
            return None;
        }
        if path.is_dir() {
            return newer_than(moment, &path);
        }
        let changed = entry.metadata().and_then(|it| it.modified()).ok()?;
        let is_source = path.extension().is_some_and(|kind| kind == "rs");
        (is_source && changed > moment).then_some(path)
    })
}

//! A digest of the sources that results depend on.
//!
//! Stored runs are known again by their inputs and by the version that made them. Between two
//! releases the version's number stays while the code changes, so that the sources themselves
//! count, where they are at hand.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("..");
    // FNV-1a.
    let mut digest: u64 = 0xcbf2_9ce4_8422_2325;
    for name in
        ["core", "gateway", "config", "links", "scenario", "results", "sim", "record", "lab"]
    {
        let folder = root.join(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        add(&folder, &mut digest);
    }
    println!("cargo::rustc-env=BENTPIPE_SOURCES={digest:016x}");
}

fn add(folder: &Path, digest: &mut u64) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        // How figures are described and drawn is no part of a run.
        if path.ends_with("scenario/src/figure") || path.ends_with("lab/src/drawing") {
            continue;
        }
        if path.is_dir() {
            add(&path, digest);
        } else {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes().to_vec();
            for byte in name.into_iter().chain(fs::read(&path).unwrap_or_default()) {
                *digest = (*digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
    }
}

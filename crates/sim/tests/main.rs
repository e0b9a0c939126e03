//! Whole runs in virtual time. `cargo test -p bentpipe-sim --test runs gateways::busy` runs one file's.

mod bbr;
mod buffer_study;
mod capture;
mod closed_forms;
mod concordance;
mod counts;
mod downstream_rates;
mod endings;
mod faults;
mod first_threshold;
mod four_packet;
mod gateways;
mod henderson;
mod links;
mod loss_causes;
mod middleboxes;
mod open_questions;
mod path_mtu;
mod policy;
mod scenario;
mod series;
mod sharing;
mod snapshot;
mod support;
mod transactions;
mod undo;
mod web_cache;
mod workloads;
mod world;

/// A file that is no module of this one would not be compiled.
#[test]
fn every_file_is_a_module() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    for entry in std::fs::read_dir(folder).expect("the tests' folder") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        let is_source = path.is_dir() || path.extension().is_some_and(|kind| kind == "rs");
        let is_root = ["main", "fault_testing"].contains(&stem);
        let declared = include_str!("main.rs").lines().any(|line| line == format!("mod {stem};"));
        assert!(!is_source || is_root || declared, "{} is no module of main.rs", path.display());
    }
}

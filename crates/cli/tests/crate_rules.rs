//! Imports run one way: core ← gateway ← scenario ← {sim, net}, sim ← lab, lab ← {papers, python}, all ← cli;
//! sim and net do not know each other, and plot and mutants know none of ours. Inside core, neither do `tcp` and `link`.

use cargo_metadata::{DependencyKind, MetadataCommand};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Each crate, and which of ours it may use.
const RULES: [(&str, &[&str]); 13] = [
    ("bentpipe-core", &[]),
    ("bentpipe-capture", &["bentpipe-core"]),
    ("bentpipe-mutants", &[]),
    ("bentpipe-plot", &[]),
    ("bentpipe-record", &["bentpipe-core"]),
    ("bentpipe-gateway", &["bentpipe-core"]),
    ("bentpipe-scenario", &["bentpipe-core", "bentpipe-gateway"]),
    ("bentpipe-sim", &["bentpipe-core", "bentpipe-gateway", "bentpipe-scenario"]),
    (
        "bentpipe-net",
        &["bentpipe-capture", "bentpipe-core", "bentpipe-gateway", "bentpipe-scenario"],
    ),
    (
        "bentpipe-lab",
        &[
            "bentpipe-capture",
            "bentpipe-core",
            "bentpipe-gateway",
            "bentpipe-plot",
            "bentpipe-record",
            "bentpipe-scenario",
            "bentpipe-sim",
        ],
    ),
    (
        "bentpipe-papers",
        &[
            "bentpipe-capture",
            "bentpipe-core",
            "bentpipe-lab",
            "bentpipe-plot",
            "bentpipe-scenario",
        ],
    ),
    (
        "bentpipe-python",
        &["bentpipe-capture", "bentpipe-core", "bentpipe-lab", "bentpipe-scenario"],
    ),
    (
        "bentpipe",
        &[
            "bentpipe-papers",
            "bentpipe-capture",
            "bentpipe-core",
            "bentpipe-gateway",
            "bentpipe-scenario",
            "bentpipe-sim",
            "bentpipe-net",
            "bentpipe-lab",
            "bentpipe-plot",
            "bentpipe-record",
        ],
    ),
];

#[test]
fn crates_depend_one_way() {
    let rules: BTreeMap<&str, &[&str]> = RULES.into_iter().collect();
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let metadata = MetadataCommand::new().manifest_path(manifest).no_deps().exec().unwrap();
    let packages = metadata.workspace_packages();
    assert_eq!(packages.len(), RULES.len(), "every crate has a rule");
    for package in packages {
        let allowed = rules[package.name.as_str()];
        for dependency in &package.dependencies {
            let ours = dependency.name.starts_with("bentpipe");
            let built_in = dependency.kind == DependencyKind::Normal;
            assert!(
                !ours || !built_in || allowed.contains(&dependency.name.as_str()),
                "{} may not depend on {}",
                package.name,
                dependency.name
            );
        }
    }
}

/// All sources below `path`, a folder or a file.
fn sources(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    entries.flat_map(|entry| sources(&entry.unwrap().path())).collect()
}

/// No live test asserts how long something takes: clocks are read for the one deadline, for packets that are never early,
/// and where something is measured, which is no test.
#[test]
fn live_tests_take_no_time() {
    let clocks = ["toolbox.rs", "probe.rs", "measured/"];
    let live = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live"));
    for path in sources(live) {
        let name = path.strip_prefix(live).unwrap().display().to_string();
        if clocks.iter().any(|place| name.starts_with(place)) {
            continue;
        }
        let source = fs::read_to_string(&path).unwrap();
        for clock in ["Instant", "elapsed("] {
            assert!(!source.contains(clock), "{name} has `{clock}`: see CONTRIBUTING.md");
        }
    }
}

/// G99-D-3: what makes up a link reads no TCP header. It gets nothing that could: neither `tcp` nor `wire`.
#[test]
fn links_and_tcp_do_not_know_each_other() {
    let links: &[&str] =
        &["core/src/link", "net/src/emulator.rs", "net/src/datagram.rs", "cli/src/link"];
    let rules = [
        (links, &["::tcp", "{tcp", "wire::", "::wire;", "{wire", "etherparse"][..]),
        (&["core/src/tcp"], &["::link", "{link"]),
    ];
    let crates = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    for (places, strangers) in rules {
        for path in places.iter().flat_map(|place| sources(&crates.join(place))) {
            let source = fs::read_to_string(&path).unwrap();
            for (number, line) in source.lines().enumerate() {
                let code = line.split("//").next().unwrap_or_default();
                for stranger in strangers {
                    let place = || format!("{}:{}", path.display(), number + 1);
                    assert!(!code.contains(stranger), "{} knows `{stranger}`", place());
                }
            }
        }
    }
}

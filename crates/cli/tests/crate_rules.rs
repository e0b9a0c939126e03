//! Imports run one way: core ← gateway ← scenario ← {sim, net}, sim ← lab, all ← cli;
//! sim and net do not know each other.

use cargo_metadata::{DependencyKind, MetadataCommand};
use std::collections::BTreeMap;

/// Each crate, and which of ours it may use.
const RULES: [(&str, &[&str]); 7] = [
    ("bentpipe-core", &[]),
    ("bentpipe-gateway", &["bentpipe-core"]),
    ("bentpipe-scenario", &["bentpipe-core", "bentpipe-gateway"]),
    ("bentpipe-sim", &["bentpipe-core", "bentpipe-gateway", "bentpipe-scenario"]),
    ("bentpipe-net", &["bentpipe-core", "bentpipe-gateway", "bentpipe-scenario"]),
    ("bentpipe-lab", &["bentpipe-core", "bentpipe-gateway", "bentpipe-scenario", "bentpipe-sim"]),
    (
        "bentpipe",
        &[
            "bentpipe-core",
            "bentpipe-gateway",
            "bentpipe-scenario",
            "bentpipe-sim",
            "bentpipe-net",
            "bentpipe-lab",
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

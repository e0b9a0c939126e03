//! Imports between the gateway's rooms run one way, as ARCHITECTURE.md has them: who decides does
//! not know who asks.

use std::fs;
use std::path::Path;

/// Each room comes before those that it may import.
const ORDER: [&str; 14] = [
    "ingress",
    "table",
    "forwarded",
    "lifecycle",
    "mechanisms",
    "splice",
    "handshake",
    "config",
    "policy",
    "observe",
    "segment",
    "announce",
    "key",
    "leg",
];

fn sources(at: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(at).expect("the crate's sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(fs::read_to_string(path).expect("a source"));
        }
    }
}

fn room(name: &str) -> Vec<String> {
    let at = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(name);
    let mut found = Vec::new();
    if at.is_dir() {
        sources(&at, &mut found);
    } else {
        found.push(fs::read_to_string(at.with_extension("rs")).expect("a source"));
    }
    found
}

#[test]
fn imports_run_one_way() {
    for (place, name) in ORDER.iter().enumerate() {
        for source in room(name) {
            for above in &ORDER[..place] {
                let import = format!("crate::{above}::");
                let line = source
                    .lines()
                    .find(|line| line.contains(&import) && !line.trim_start().starts_with("//"));
                assert_eq!(line, None, "{name} imports {above}");
            }
        }
    }
}

/// Nor do the mechanisms know a flow, or the splice a policy.
#[test]
fn neighbours_that_need_nothing_of_each_other_import_nothing() {
    for (name, others) in [
        ("mechanisms", &["splice", "handshake", "observe"][..]),
        ("splice", &["mechanisms", "policy", "observe"][..]),
        ("handshake", &["policy", "observe"][..]),
    ] {
        for source in room(name) {
            for other in others {
                assert!(!source.contains(&format!("crate::{other}::")), "{name} imports {other}");
            }
        }
    }
}

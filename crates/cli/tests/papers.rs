//! `bentpipe papers` as a user runs it, and what `docs/papers` keeps of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const BENTPIPE: &str = env!("CARGO_BIN_EXE_bentpipe");

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/papers")
}

fn papers(arguments: &[&str], folder: &Path) -> Output {
    Command::new(BENTPIPE).arg("papers").args(arguments).current_dir(folder).output().unwrap()
}

/// The verdict on each number on a page, by its figure and its name.
fn verdicts(page: &str) -> BTreeMap<(String, String, String), String> {
    let (mut figure, mut claim) = (String::new(), String::new());
    let mut verdicts = BTreeMap::new();
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            title.clone_into(&mut figure);
        }
        let cells: Vec<&str> = line.split(" | ").map(str::trim).collect();
        let &[id, says, _, _, verdict] = &cells[..] else { continue };
        let id = id.trim_start_matches("| ").trim();
        if !id.is_empty() && id != "|" {
            id.clone_into(&mut claim);
        }
        let name = says.rsplit('`').nth(1).unwrap_or_default();
        if !name.is_empty() {
            let key = (figure.clone(), claim.clone(), name.to_owned());
            verdicts.insert(key, verdict.trim_end_matches(" |").to_owned());
        }
    }
    verdicts
}

#[test]
fn quick_figures_have_the_verdicts_that_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let run = papers(&["--quick", "--quiet", "--docs", "docs", "--json"], folder.path());
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let json: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    assert!(json["holds"].as_u64().unwrap() > 80, "{json}");
    let mut compared = 0;
    for paper in ["bbn", "sfu"] {
        let read = |folder: &Path| fs::read_to_string(folder.join(format!("{paper}.md"))).unwrap();
        let (now, then) = (read(&folder.path().join("docs")), read(&kept()));
        let kept = verdicts(&then);
        for (key, verdict) in verdicts(&now) {
            assert_eq!(kept.get(&key), Some(&verdict), "{paper}: {key:?}");
            compared += 1;
        }
    }
    assert!(compared > 150, "{compared} numbers");
    assert!(folder.path().join("out/papers/index.html").is_file());
}

#[test]
fn what_is_kept_is_explained_and_small() {
    let mut sum = 0;
    for entry in fs::read_dir(kept()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            for picture in fs::read_dir(&path).unwrap() {
                let picture = picture.unwrap();
                let length = picture.metadata().unwrap().len();
                assert!(length <= 100 * 1024, "{:?} has {length} bytes", picture.path());
                sum += length;
            }
        } else {
            let page = fs::read_to_string(&path).unwrap();
            assert!(!page.contains("Not explained yet"), "{}", path.display());
        }
    }
    assert!(sum <= 4 << 20, "{sum} bytes of pictures");
}

#[test]
fn what_there_is_not_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["bbn/fig-99"][..], &["--papers", "nowhere"], &["--all", "--quick"]] {
        let run = papers(arguments, folder.path());
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(!run.status.success() && said.trim().lines().count() == 1, "{arguments:?}: {said}");
    }
    let list = papers(&[], folder.path());
    let list = String::from_utf8_lossy(&list.stdout);
    assert!(list.contains("bbn/fig-2") && list.contains("sfu/fig-3-7"), "{list}");
}

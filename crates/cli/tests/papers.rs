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

/// What a page says of a number.
#[derive(Debug, Clone, PartialEq)]
struct Judged {
    found: String,
    verdict: String,
}

impl Judged {
    /// The middle of the 95 % interval, and half its width with what rounding took; `None`: there
    /// is no number.
    fn interval(&self) -> Option<(f64, f64)> {
        let (found, half) = self.found.split_once(" ± ").unwrap_or((&self.found, "0"));
        let (found, half): (f64, f64) = (found.parse().ok()?, half.parse().ok()?);
        // Four significant digits, but three decimals.
        let decimals: f64 = if self.found.contains('e') { 0.0 } else { 5.1e-4 };
        Some((found, half + decimals.max(5.1e-4 * found.abs())))
    }

    /// The same verdict, and numbers within each other's intervals.
    fn agrees(&self, other: &Judged) -> bool {
        let near = match (self.interval(), other.interval()) {
            (Some((found, half)), Some((then, width))) => (found - then).abs() <= half + width,
            (a, b) => a.is_none() && b.is_none(),
        };
        near && self.verdict == other.verdict
    }
}

/// What is said of each number on a page, by its figure, claim and name.
fn judged(page: &str) -> BTreeMap<(String, String, String), Judged> {
    let (mut figure, mut claim) = (String::new(), String::new());
    let mut all = BTreeMap::new();
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            title.clone_into(&mut figure);
        }
        let cells: Vec<&str> = line.split(" | ").map(str::trim).collect();
        let &[id, _, name, found, _, _, verdict] = &cells[..] else { continue };
        let id = id.trim_start_matches("| ").trim();
        if !id.is_empty() && id != "|" {
            id.clone_into(&mut claim);
        }
        let name = name.strip_prefix('`').and_then(|name| name.strip_suffix('`'));
        let name = name.unwrap_or_default();
        if !name.is_empty() {
            let verdict = verdict.trim_end_matches(" |").to_owned();
            let key = (figure.clone(), claim.clone(), name.to_owned());
            all.insert(key, Judged { found: found.to_owned(), verdict });
        }
    }
    all
}

#[test]
fn numbers_agree_within_their_intervals() {
    let judged = |found: &str, verdict: &str| Judged {
        found: found.to_owned(),
        verdict: verdict.to_owned(),
    };
    let kept = judged("1.02 ± 0.01", "reproduced");
    assert!(kept.agrees(&judged("1.035 ± 0.01", "reproduced")));
    assert!(!kept.agrees(&judged("1.045 ± 0.01", "reproduced")), "apart");
    assert!(!kept.agrees(&judged("1.02 ± 0.01", "undecided")), "another verdict");
    assert!(judged("2.241e-6", "reproduced").agrees(&judged("2.241e-6", "reproduced")));
    assert!(!judged("2.241e-6", "reproduced").agrees(&judged("2.245e-6", "reproduced")));
    assert!(judged("none", "different").agrees(&judged("none", "different")));
    assert!(!judged("none", "reproduced").agrees(&judged("1", "reproduced")));
}

/// Says what a page shows and what went wrong on it, once all is loaded.
const LOOK: &str = "<script>window.addEventListener('load', () => {
  const pictures = [...document.images];
  const missing = pictures.filter(picture => picture.naturalWidth === 0).map(picture => picture.src);
  const root = document.documentElement;
  const wide = root.scrollWidth > root.clientWidth ? ['too wide: ' + root.scrollWidth] : [];
  root.dataset.shown = pictures.length + ' pictures, ' + document.querySelectorAll('figure.table').length + ' tables';
  root.dataset.wrong = [...missing, ...wide, ...window.errors].join(' ') || 'nothing';
});</script>";

/// What [`LOOK`] says of a page in a window of this size.
fn look(page: &Path, size: &str) -> (String, String) {
    let text = fs::read_to_string(page).unwrap();
    let watch = "<script>window.errors = []; window.onerror = what => { window.errors.push(what); };</script>";
    let tested = page.with_extension("tested.html");
    let text = text.replacen("<head>", &format!("<head>{watch}{LOOK}"), 1);
    fs::write(&tested, text).unwrap();
    let mut command = Command::new("chromium-headless-shell");
    command.args(["--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom"]);
    command.arg(format!("--window-size={size}"));
    let browser = tempfile::tempdir().unwrap();
    command.arg(format!("--user-data-dir={}", browser.path().display()));
    let output = command.arg(format!("file://{}", tested.display())).output().unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let said = |name: &str| {
        let value = dom.split(&format!("data-{name}=\"")).nth(1);
        value.and_then(|rest| rest.split('"').next()).unwrap_or("not loaded").to_owned()
    };
    (said("shown"), said("wrong"))
}

#[test]
fn quick_figures_are_as_they_are_kept_and_a_browser_shows_them() {
    let folder = tempfile::tempdir().unwrap();
    let texts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let texts = texts.to_str().unwrap();
    let arguments = ["--quick", "--quiet", "--papers", texts, "--docs", "docs", "--json"];
    let run = papers(&arguments, folder.path());
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let json: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    assert!(json["measured"]["reproduced"].as_u64().unwrap() > 50, "{json}");
    let mut compared = 0;
    for paper in ["bbn", "sfu", "henderson", "bharadwaj-1999", "bharadwaj-2001"] {
        let read = |folder: &Path| fs::read_to_string(folder.join(format!("{paper}.md"))).unwrap();
        let (now, then) = (read(&folder.path().join("docs")), read(&kept()));
        let kept = judged(&then);
        for (key, now) in judged(&now) {
            let then = kept.get(&key).unwrap_or_else(|| panic!("{paper}: {key:?} is not kept"));
            assert!(now.agrees(then), "{paper}: {key:?}: {now:?}, kept: {then:?}");
            compared += 1;
        }
    }
    assert!(compared > 150, "{compared} numbers");
    let report = folder.path().join("out/papers");
    if Command::new("chromium-headless-shell").arg("--version").output().is_err() {
        println!("skipped: chromium-headless-shell is not installed");
        return;
    }
    for size in ["1280,800", "390,844"] {
        for page in ["index", "bbn", "sfu"] {
            let path = report.join(format!("{page}.html"));
            let text = fs::read_to_string(&path).unwrap();
            let count = |what: &str| text.matches(what).count();
            let (pictures, tables) = (count("<img "), count("<figure class=\"table\">"));
            assert!(page == "index" || pictures >= 3, "{page}: {pictures} pictures");
            assert!(tables >= 3, "{page}: {tables} tables");
            let (shown, wrong) = look(&path, size);
            assert_eq!(wrong, "nothing", "{page}, {size}");
            assert_eq!(shown, format!("{pictures} pictures, {tables} tables"), "{page}, {size}");
        }
    }
    // One click further: a figure's packets.
    let graph = report.join("bbn/fig-6/graph.html");
    assert!(fs::metadata(&graph).is_ok_and(|graph| graph.len() > 10_000));
    assert_eq!(look(&graph, "1280,800").1, "nothing");
}

/// Puts the right checksum of a file into an artifact's list: of what was changed on purpose.
fn seal(artifact: &Path, name: &str) {
    let sums = artifact.join("SHA256SUMS");
    let others = fs::read_to_string(&sums).unwrap();
    let others = others.lines().filter(|line| !line.ends_with(&format!("  {name}")));
    let mut lines: Vec<String> = others.map(str::to_owned).collect();
    if artifact.join(name).exists() {
        let output = Command::new("sha256sum").arg(name).current_dir(artifact).output().unwrap();
        lines.push(String::from_utf8(output.stdout).unwrap().trim().to_owned());
    }
    fs::write(&sums, lines.join("\n") + "\n").unwrap();
}

#[test]
fn verdicts_are_derived_again_from_an_artifact() {
    let folder = tempfile::tempdir().unwrap();
    let figures = ["sfu/fig-3-3", "bbn/four-packets"];
    let run = |arguments: &[&str]| {
        let run = papers(arguments, folder.path());
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        (run.status.success(), text(&run.stdout), text(&run.stderr))
    };
    let made = run(&[figures[0], figures[1], "--quiet", "--artifact", "artifact"]);
    assert!(made.0, "{}", made.2);
    let artifact = folder.path().join("artifact");
    let sums = Command::new("sha256sum")
        .args(["--check", "--quiet", "SHA256SUMS"])
        .current_dir(&artifact)
        .status()
        .unwrap();
    assert!(sums.success());
    let again = || run(&["--from", "artifact", "--quiet", "--output", "again"]);
    let (same, said, why) = again();
    assert!(same && said.contains("pages and pictures in again/pages are as in"), "{said}{why}");
    assert!(!folder.path().join("again/runs").exists(), "nothing is simulated");

    // What is derived otherwise is named.
    let page = artifact.join("pages/sfu.md");
    let text = fs::read_to_string(&page).unwrap();
    fs::write(&page, text.replacen("reproduced", "different", 1)).unwrap();
    let (same, _, why) = again();
    assert!(!same && why.contains("pages/sfu.md is not as SHA256SUMS says"), "{why}");
    seal(&artifact, "pages/sfu.md");
    let (same, _, why) = again();
    assert!(!same && why.contains("again/pages/sfu.md is not as in the artifact"), "{why}");

    // A run that is gone is not made.
    let runs = fs::read_dir(artifact.join("runs")).unwrap();
    let mut runs = runs.map(|run| run.unwrap().file_name().into_string().unwrap());
    let run = format!("runs/{}", runs.find(|name| name.ends_with(".run")).unwrap());
    fs::remove_file(artifact.join(&run)).unwrap();
    assert!(again().2.contains(&format!("{run} is in SHA256SUMS and is gone")));
    seal(&artifact, &run);
    let (same, _, why) = again();
    assert!(!same && why.contains("it is not in the artifact"), "{why}");
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
    let wrong = [
        &["bbn/fig-99"][..],
        &["G01-99-a"],
        &["G01-15-a", "bbn"],
        &["--papers", "nowhere"],
        &["--all", "--quick"],
    ];
    for arguments in wrong {
        let run = papers(arguments, folder.path());
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(!run.status.success() && said.trim().lines().count() == 1, "{arguments:?}: {said}");
    }
    let list = papers(&[], folder.path());
    let list = String::from_utf8_lossy(&list.stdout);
    assert!(list.contains("bbn/fig-2") && list.contains("sfu/fig-3-7"), "{list}");
}

#[test]
fn claims_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let run = papers(&["G01-15-a", "G01-W-1", "G01-W-2", "H-D-6"], folder.path());
    let said = String::from_utf8_lossy(&run.stdout);
    for part in [
        "G01-15-a: ",
        "decided   by figure: bharadwaj-2001/fig-15",
        "accepted  ",
        "command   bentpipe papers bharadwaj-2001/fig-15",
        "command   cargo test -p bentpipe-sim only_long_connections_take_memory",
        "decided   by page: docs/design/gateway-adoption.md#what-it-brings",
        "command   scripts/bench-live.sh",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let run = papers(&["G01-15-a", "--json"], folder.path());
    let claims: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(claims[0]["decided-at"][0], "bharadwaj-2001/fig-15");
    assert!(claims[0]["accepted"].as_object().is_some_and(|numbers| !numbers.is_empty()));
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none(), "nothing is run");
}

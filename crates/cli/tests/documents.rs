//! The documents say what is so: no link is dead, and each list of names is that of its registry.

use bentpipe_core::tcp::cause::Cause;
use bentpipe_core::tcp::congestion::CongestionAlgorithm;
use bentpipe_core::tcp::presets::PRESETS;
use bentpipe_core::tcp::recovery::RecoveryAlgorithm;
use bentpipe_scenario::reference;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(document: &str) -> String {
    let path = root().join(document);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every file of the tree, but for what was built or is hidden.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with('.') || ["target", "results", "out"].contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// The documents among them.
fn documents(files: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    files.iter().filter(|path| path.extension().is_some_and(|suffix| suffix == "md"))
}

/// The lines that are not in a block of code, with their numbers.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut in_code = false;
    let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line));
    let outside = lines.filter(|(_, line)| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !in_code && !fence
    });
    outside.collect()
}

/// The anchors of a document's headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let kept = title.trim().to_lowercase().replace(' ', "-");
        let anchor: String =
            kept.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
        let before = times.entry(anchor.clone()).or_default();
        anchors.insert(if *before == 0 { anchor } else { format!("{anchor}-{before}") });
        *before += 1;
    }
    anchors
}

/// Where a line's links lead.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

#[test]
fn no_link_is_dead() {
    let mut found = Vec::new();
    files(&root(), &mut found);
    assert!(documents(&found).count() > 10, "the tree's documents are found");
    let mut dead = Vec::new();
    for path in documents(&found) {
        let text = fs::read_to_string(path).unwrap();
        for (number, line) in prose(&text) {
            for target in links(line).filter(|target| !target.contains("://")) {
                let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
                let to =
                    if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
                let leads = to.exists()
                    && (anchor.is_empty()
                        || anchors(&fs::read_to_string(&to).unwrap()).contains(anchor));
                if !leads {
                    dead.push(format!("{}:{number}: {target}", path.display()));
                }
            }
        }
    }
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
}

/// A file that whoever follows docs/extending.md writes.
const TO_BE_WRITTEN: [&str; 2] =
    ["crates/core/src/tcp/congestion/illinois.rs", "crates/core/src/link/blue.rs"];

/// What stands in code type in a line and names a source file or a script of ours: a path with a
/// folder, from the root or from within a crate (`congestion/tests/cubic.rs`).
fn sources(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split('`').skip(1).step_by(2);
    code.filter(|text| {
        let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
        let ours = [".rs", ".sh", ".js", ".cddl"].iter().any(|suffix| text.ends_with(suffix));
        plain && ours && text.contains('/') && !text.starts_with('/')
    })
}

#[test]
fn files_that_documents_name_are_there() {
    let mut found = Vec::new();
    files(&root(), &mut found);
    let (mut named, mut missing) = (0, Vec::new());
    for path in documents(&found) {
        let text = fs::read_to_string(path).unwrap();
        for (number, line) in prose(&text) {
            for source in sources(line) {
                named += 1;
                if !TO_BE_WRITTEN.contains(&source)
                    && !found.iter().any(|file| file.ends_with(source))
                {
                    missing.push(format!("{}:{number}: {source}", path.display()));
                }
            }
        }
    }
    assert!(named > 50, "{named} files are named");
    assert!(missing.is_empty(), "files that are not there:\n{}", missing.join("\n"));
}

/// What stands in code type in the first column of the table with this head.
fn listed(document: &str, head: &str) -> BTreeSet<String> {
    let text = read(document);
    let mut lines = text.lines().skip_while(|line| !line.starts_with(head));
    assert!(lines.next().is_some(), "{document} has no table `{head}`");
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    let mut names = BTreeSet::new();
    for row in rows {
        let first = row.split('|').nth(1).unwrap_or_default();
        names.extend(first.split('`').skip(1).step_by(2).map(str::to_owned));
    }
    names
}

fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

/// The names in a message like "no … is called `?` (there are this, that)".
fn there_are(message: &str) -> BTreeSet<String> {
    let (_, list) = message.split_once("(there are ").expect("the message lists what there is");
    names(list.trim_end_matches(')').split(", "))
}

/// The kinds of a table of scenarios, such as `flow.NAME, http/1.0, http/1.1`.
fn kinds(table: &str) -> BTreeSet<String> {
    let paths = reference::sections().map(|section| section.path);
    let own = paths.filter_map(|path| path.strip_prefix(table)?.strip_prefix(", "));
    // "web and poisson" is what both have in common.
    names(own.filter(|kinds| !kinds.contains(" and ")).flat_map(|kinds| kinds.split(", ")))
}

fn subcommands() -> BTreeSet<String> {
    let help = Command::new(env!("CARGO_BIN_EXE_bentpipe")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let own = lines.take_while(|line| !line.is_empty());
    let first = own.filter_map(|line| line.split_whitespace().next());
    names(first.filter(|name| *name != "help"))
}

#[test]
fn lists_are_those_of_the_registries() {
    let recoveries = "?".parse::<RecoveryAlgorithm>().unwrap_err().to_string();
    let algorithms: BTreeSet<String> =
        names(CongestionAlgorithm::NAMES).union(&there_are(&recoveries)).cloned().collect();
    let mut wrong = Vec::new();
    for (document, head, registry) in [
        ("docs/design/algorithms.md", "| algorithm |", algorithms),
        ("docs/tcp-parameters.md", "| preset |", names(PRESETS.iter().map(|preset| preset.name))),
        ("docs/link.md", "| queue |", kinds("queue")),
        ("docs/design/simulator.md", "| workload |", kinds("flow.NAME")),
        ("docs/design/simulator.md", "| middlebox |", kinds("middlebox.NAME")),
        ("docs/extending.md", "| subcommand |", subcommands()),
        ("docs/metrics.md", "| cause |", names(Cause::ALL.iter().map(|cause| cause.name()))),
    ] {
        assert!(!registry.is_empty(), "the registry of `{head}`");
        let listed = listed(document, head);
        let lacks = registry.difference(&listed).map(|name| format!("lacks `{name}`"));
        let invents = listed.difference(&registry).map(|name| format!("invents `{name}`"));
        wrong.extend(lacks.chain(invents).map(|what| format!("{document}, {head} {what}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pages_say_which_question_they_answer_and_overviews_are_short() {
    let mut pages = Vec::new();
    files(&root().join("docs/design"), &mut pages);
    for page in documents(&pages) {
        let text = fs::read_to_string(page).unwrap();
        let first = text.lines().nth(2).unwrap_or_default();
        assert!(first.starts_with('*') && first.contains('?'), "{}: {first}", page.display());
    }
    for (document, max) in [
        ("README.md", 120),
        ("ARCHITECTURE.md", 200),
        ("docs/gateway.md", 180),
        ("CHANGELOG.md", 60),
    ] {
        let lines = read(document).lines().count();
        assert!(lines <= max, "{document} has {lines} lines, {max} at most");
    }
}

/// The rows of a document's tables: heads and rulers are left out, cells are without emphasis.
fn rows(text: &str) -> BTreeSet<String> {
    let lines: Vec<&str> = prose(text).into_iter().map(|(_, line)| line.trim()).collect();
    let is_ruler =
        |line: &str| line.starts_with('|') && line.replace(['|', '-', ':', ' '], "").is_empty();
    let own = |(index, line): (usize, &&str)| {
        let head = lines.get(index + 1).is_some_and(|next| is_ruler(next));
        (line.starts_with('|') && !head && !is_ruler(line)).then(|| {
            let cells = line.trim_matches('|').split('|').map(|cell| cell.trim().replace('*', ""));
            cells.collect::<Vec<_>>().join(" | ")
        })
    };
    lines.iter().enumerate().filter_map(own).collect()
}

/// Pages that programs write: a claim or a key stands wherever its declaration says.
const WRITTEN_BY_PROGRAMS: [&str; 3] =
    ["docs/papers", "docs/scenario-format.md", "docs/tcp-parameters.md"];

#[test]
fn no_row_of_a_table_stands_in_two_documents() {
    assert_eq!(rows("| a | b |\n| --- | --- |\n| *c* | 1.0 |\n"), names(["c | 1.0"]));
    let root = root();
    let mut found = Vec::new();
    files(&root.join("docs"), &mut found);
    found.extend(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md"]
            .map(|name| root.join(name)),
    );
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in documents(&found) {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        if WRITTEN_BY_PROGRAMS.iter().any(|page| name.starts_with(page)) {
            continue;
        }
        // A row of nothing but short cells, such as `| a | b |`, says nothing that can differ.
        for row in rows(&fs::read_to_string(path).unwrap()).into_iter().filter(|row| row.len() > 12)
        {
            places.entry(row).or_default().push(name.clone());
        }
    }
    assert!(places.len() > 500, "{} rows", places.len());
    let twice: Vec<String> = places
        .iter()
        .filter(|(_, documents)| documents.len() > 1)
        .map(|(row, documents)| format!("{}: {row}", documents.join(", ")))
        .collect();
    assert!(twice.is_empty(), "rows in two documents:\n{}", twice.join("\n"));
}

#[test]
fn words_of_our_own_are_few() {
    let text = read("docs/glossary.md");
    let own = text.split("\n## ").find(|part| part.starts_with("Words of ours")).unwrap();
    let words = rows(own).len();
    assert!((5..=15).contains(&words), "{words} words of our own");
}

/// Crates whose `clippy.toml` rules out clocks, threads and unordered maps.
fn pure_crates() -> BTreeSet<String> {
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let pure = crates.filter(|path| path.join("clippy.toml").exists());
    pure.map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
}

#[test]
fn the_pure_crates_are_those_that_clippy_holds() {
    let text = read("ARCHITECTURE.md");
    let (list, _) = text.split_once(" are pure**").expect("a rule on pure crates");
    let (_, list) = list.rsplit_once("**").unwrap();
    let words = list.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| *word != "and");
    assert_eq!(names(words.filter(|word| !word.is_empty())), pure_crates());
}

#[test]
fn the_count_of_claims_is_that_of_the_papers_page() {
    let page = read("docs/papers/README.md");
    let (counts, _) = page.split_once(" measured claims").expect("a count of measured claims");
    let words: Vec<&str> = counts.rsplit(|c: char| !c.is_alphanumeric()).take(3).collect();
    let [all, "of", held] = words[..] else { panic!("{words:?}") };
    let claimed = format!("{held} of {all} measured claims");
    assert!(read("README.md").contains(&claimed), "README.md: {claimed}");
}

/// Pictures that examples draw, and the examples. `BENTPIPE_BLESS=1` draws them again.
#[test]
fn pictures_are_those_of_their_examples() {
    for example in ["geo-download", "geo-comparison"] {
        let folder =
            std::env::temp_dir().join(format!("bentpipe-{example}-{}", std::process::id()));
        let run = Command::new(env!("CARGO_BIN_EXE_bentpipe"))
            .args(["sim", example, "--output"])
            .arg(&folder)
            .output()
            .unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        for form in ["", "-narrow"] {
            let figure = folder.join(format!("figures/completion{form}.svg"));
            let drawn = fs::read_to_string(figure).unwrap();
            let picture = root().join(format!("docs/pictures/{example}{form}.svg"));
            if std::env::var_os("BENTPIPE_BLESS").is_some() {
                fs::write(&picture, &drawn).unwrap();
            }
            let kept = fs::read_to_string(&picture).unwrap();
            assert!(kept == drawn, "{} is not what {example} draws", picture.display());
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}

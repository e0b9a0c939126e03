//! Imports run one way. Each crate names here what it uses of ours, no more and no less; sim,
//! testbed and lab do not know each other, and inside core neither do `tcp` and `link`.

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Each crate, and which of ours it is built of.
const RULES: &str = "
core
plot
mutants
prose
benches
capture   core
record    core
gateway   core
linux     core
terminal  linux
config    core gateway
links     core config
scenario  core gateway config links
results   core gateway scenario
sim       core gateway links scenario results
emulator  core capture linux links
daemon    core gateway capture record linux config terminal
testbed   core gateway linux config links scenario results emulator
lab       core gateway capture record plot config links scenario results
papers    core capture plot scenario results lab
python    core capture config links scenario results lab sim
bench     core gateway plot links scenario results sim linux testbed lab
cli       core capture plot config links scenario results sim linux terminal emulator daemon testbed lab papers bench
";

/// What is not to come onto a router with the gateway: drawing, tables, orbits, statistics.
const NOT_IN_THE_DAEMON: [&str; 6] =
    ["resvg", "parquet", "arrow-array", "sgp4", "statrs", "pathfinding"];

/// What Cargo says of the workspace, asked once for all tests.
static METADATA: LazyLock<Metadata> = LazyLock::new(|| {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let mut command = MetadataCommand::new();
    command.manifest_path(manifest).other_options(["--locked".to_owned()]).exec().unwrap()
});

/// A crate's name in [`RULES`]: that of its folder.
fn folder(package: &Package) -> &str {
    package.manifest_path.parent().and_then(|folder| folder.file_name()).unwrap()
}

/// The packages that `package` is built of, tests apart.
fn built_of(package: &Package) -> impl Iterator<Item = &str> {
    let all = package.dependencies.iter();
    all.filter(|it| it.kind == DependencyKind::Normal).map(|it| it.name.as_str())
}

#[test]
fn crates_depend_one_way() {
    let rules: BTreeMap<&str, BTreeSet<&str>> = RULES
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.collect()))
        })
        .collect();
    let mut seen = BTreeMap::new();
    for package in METADATA.workspace_packages() {
        let ours = built_of(package).filter_map(|name| name.strip_prefix("bentpipe-"));
        seen.insert(folder(package), ours.collect());
    }
    assert_eq!(seen, rules);
    // One that stands above what it is built of cannot be part of a circle.
    let order: Vec<&str> =
        RULES.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let place = |name: &&str| order.iter().position(|known| known == name);
    for (name, below) in &rules {
        assert!(below.iter().all(|it| place(it) < place(name)), "{name} stands above {below:?}");
    }
}

#[test]
fn the_daemon_is_small() {
    let metadata = &*METADATA;
    let resolved = metadata.resolve.as_ref().unwrap();
    let daemon = metadata.packages.iter().find(|it| it.name == "bentpipe-daemon").unwrap();
    let (mut reached, mut open) = (BTreeSet::new(), vec![&daemon.id]);
    while let Some(id) = open.pop() {
        if reached.insert(id) {
            let node = resolved.nodes.iter().find(|node| node.id == *id).unwrap();
            let built_in = node.deps.iter().filter(|dependency| {
                dependency.dep_kinds.iter().any(|it| it.kind == DependencyKind::Normal)
            });
            open.extend(built_in.map(|dependency| &dependency.pkg));
        }
    }
    let names: BTreeSet<&str> = metadata
        .packages
        .iter()
        .filter(|it| reached.contains(&it.id))
        .map(|it| it.name.as_str())
        .collect();
    assert!(names.contains("clap"), "{names:?}");
    for name in NOT_IN_THE_DAEMON {
        assert!(!names.contains(name), "the daemon is built of {name}");
    }
}

/// `unsafe` is linux's: every other crate forbids it to itself, but for python, whose interpreter's
/// macros write some.
#[test]
fn only_linux_is_unsafe() {
    for package in METADATA.workspace_packages() {
        for target in package.targets.iter().filter(|it| it.is_lib() || it.is_bin()) {
            let forbids =
                fs::read_to_string(&target.src_path).unwrap().contains("#![forbid(unsafe_code)]");
            assert_eq!(
                forbids,
                !["linux", "python"].contains(&folder(package)),
                "{}",
                target.src_path
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

/// Tests of a crate are one binary, as each other one would link everything once more. A file that
/// is no module of it, and no binary of its own, would not be compiled.
#[test]
fn every_file_of_tests_is_compiled() {
    for package in METADATA.workspace_packages() {
        let tests = package.manifest_path.parent().unwrap().join("tests");
        let Ok(main) = fs::read_to_string(tests.join("main.rs")) else { continue };
        let binaries: Vec<&str> =
            package.targets.iter().map(|target| target.src_path.as_str()).collect();
        for entry in fs::read_dir(&tests).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_str().unwrap();
            let is_source =
                path.join("mod.rs").exists() || path.extension().is_some_and(|kind| kind == "rs");
            let is_binary = binaries.contains(&path.to_str().unwrap());
            let is_module = main.lines().any(|line| line == format!("mod {stem};"));
            assert!(!is_source || is_binary || is_module, "{} is not compiled", path.display());
        }
    }
}

/// The command line names the simulator only where it hands it to the laboratory, or runs it
/// itself.
#[test]
fn the_simulator_is_named_where_it_is_wired() {
    let knowing = ["bench/traces.rs", "fuzz/", "papers/mod.rs", "sim/", "trace/verify/"];
    let commands = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    for path in sources(commands) {
        let name = path.strip_prefix(commands).unwrap().display().to_string();
        let named = fs::read_to_string(&path).unwrap().contains("bentpipe_sim");
        assert!(!named || knowing.iter().any(|place| name.starts_with(place)), "{name}");
    }
}

/// No live test asserts how long something takes: clocks are read for the one deadline, for packets
/// that are never early, and where something is measured, which is no test.
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

/// G99-D-3: what makes up a link reads no TCP header. It gets nothing that could: neither `tcp` nor
/// `wire`.
#[test]
fn links_and_tcp_do_not_know_each_other() {
    let links: &[&str] = &[
        "core/src/link",
        "links/src",
        "emulator/src/changes.rs",
        "emulator/src/datagram.rs",
        "emulator/src/duplex_link.rs",
        "emulator/src/emulator.rs",
        "emulator/src/live.rs",
        "cli/src/link",
    ];
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

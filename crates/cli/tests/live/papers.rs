//! `bentpipe papers --live`: a figure's points on real hosts, beside the simulator; what is kept
//! decides its claims without root.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::stage::BENTPIPE;
use crate::toolbox::wait_until;

pub(crate) const CASES: &[(&str, fn())] = &[
    ("papers_run_points_on_real_hosts_once", measured),
    ("papers_leave_nothing_when_they_are_interrupted", interrupted),
    ("papers_take_down_what_killed_ones_have_left", killed),
];

/// A paper of one figure, whose smallest point real hosts run: two files, an end of which is a link
/// of 1 Mbit/s.
const FILES: [(&str, &str); 5] = [
    ("papers.toml", "papers = [\"mini\"]"),
    ("frozen.toml", "digest = \"\""),
    (
        "mini/paper.toml",
        "title = \"M\"\nauthors = \"M\"\nabout = \"M\"\nprefix = \"M\"\nclaims = 2\nfigures = [\"fig-1\"]",
    ),
    (
        "mini/path.toml",
        r#"
        tcp = "linux,congestion=standard,slow-start=standard,timestamps=off"
        [run]
        duration = "60s"
        until = "flows-done"
        [host]
        a = {}
        b = {}
        [link.sat]
        between = ["a", "b"]
        rate = "1Mbit/s"
        delay = "20ms"
        queue = "10packets"
        [flow.main]
        from = "a"
        to = "b"
        "#,
    ),
    (
        "mini/fig-1.toml",
        r#"
        title = "M"
        about = "M"
        [scenario.x]
        base = "path.toml"
        sweep = { "flow.main.bytes" = ["200KB", "90MB"] }
        [scenario.x.live]
        runs = 1
        measure = { flow = "main", column = "goodput_bps" }
        only = { "flow.main.bytes" = ["200KB"] }
        quick = { "flow.main.bytes" = ["200KB"] }
        record = "sat"
        [measure]
        scenario = "x"
        flow = "main"
        column = "goodput_bps"
        [claim.M-1-a]
        entry = { kind = "result", priority = 1, how = "emulator" }
        says = "They agree."
        accepted.points = "= 1"
        accepted.least = ">= 0.5"
        accepted.most = "<= 2"
        check.points.live-points = "x"
        check.least.live-least = {}
        check.most.live-most = {}
        [claim.M-1-b]
        entry = { kind = "result", priority = 1, how = "emulator" }
        says = "The queue overflows."
        accepted.lost = ">= 1"
        check.lost.live-packets = { scenario = "x", column = "lost" }
        "#,
    ),
];

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in FILES {
        let path = folder.path().join("papers").join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    folder
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(BENTPIPE);
    command.current_dir(folder).args(["papers", "--papers", "papers"]).args(arguments);
    command
}

fn output(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().expect("bentpipe")
}

pub(crate) fn json(output: &Output) -> Value {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn measured() {
    let folder = folder();
    let list = output(folder.path(), &["--live"]);
    assert!(String::from_utf8_lossy(&list.stdout).contains("mini/fig-1"), "it is listed");
    let before = json(&output(folder.path(), &["mini", "--json", "--quiet"]));
    let counts = |report: &Value| {
        let measured = &report["measured"];
        (measured["not-run"].as_u64(), measured["reproduced"].as_u64())
    };
    assert_eq!(counts(&before), (Some(2), Some(0)));
    let first = output(folder.path(), &["--live", "mini", "--json", "--keep", "papers"]);
    assert!(String::from_utf8_lossy(&first.stderr).contains("1 live runs"), "{first:?}");
    let first = json(&first);
    let points = first[0]["scenarios"][0]["points"].as_array().expect("points");
    assert_eq!(points.len(), 2, "both are simulated");
    assert_eq!(points[0]["live"].as_array().map(Vec::len), Some(1));
    assert_eq!(points[1]["agreement"], "simulated only");
    for claim in first[0]["claims"].as_array().expect("claims") {
        assert_eq!(claim["verdict"], "reproduced", "{claim}");
    }
    // What was made is not made again.
    let second = output(folder.path(), &["--live", "mini", "--json", "--quick"]);
    assert!(!String::from_utf8_lossy(&second.stderr).contains("live runs"), "{second:?}");
    assert_eq!(json(&second)[0]["scenarios"][0]["points"][0]["live"], points[0]["live"]);
    // What is kept decides without a run, and as long as the scenario is the same.
    let kept = json(&output(folder.path(), &["mini", "--json", "--quiet"]));
    assert_eq!(counts(&kept), (Some(0), Some(2)));
    let path = folder.path().join("papers/mini/path.toml");
    let changed = fs::read_to_string(&path).expect("a file").replace("20ms", "21ms");
    fs::write(&path, changed).expect("a file");
    let changed = json(&output(folder.path(), &["mini", "--json", "--quiet"]));
    assert_eq!(counts(&changed), (Some(2), Some(0)));
    // Without root there is one line.
    let mut ordinary = Command::new("setpriv");
    ordinary.args([
        "--reuid",
        "65534",
        "--clear-groups",
        BENTPIPE,
        "papers",
        "--live",
        "henderson",
    ]);
    let ordinary = ordinary.current_dir(folder.path()).output().expect("setpriv");
    let errors = String::from_utf8_lossy(&ordinary.stderr);
    assert!(errors.contains("takes root") && errors.lines().count() == 1, "{errors}");
    let none = Command::new(BENTPIPE).args(["papers", "--live", "sfu"]).output().expect("bentpipe");
    let errors = String::from_utf8_lossy(&none.stderr);
    assert!(errors.contains("nothing of sfu is run on real hosts"), "{errors}");
}

/// Namespaces of a process' runs.
fn left_of(pid: u32) -> Vec<String> {
    let entries = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.contains(&format!("-papers-{pid}-"))).collect()
}

/// A run of 40 s, and its namespaces are there.
fn under_way(folder: &Path) -> Child {
    let path = folder.join("papers/mini/fig-1.toml");
    let long = fs::read_to_string(&path).expect("a file").replace("200KB", "5MB");
    fs::write(&path, long).expect("a file");
    let mut command = command(folder, &["--live", "mini"]);
    let live = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a run");
    wait_until("a run is under way", || match left_of(live.id()).len() {
        2 => Ok(()),
        other => Err(format!("{other} namespaces")),
    });
    live
}

fn interrupted() {
    let folder = folder();
    let mut live = under_way(folder.path());
    kill(Pid::from_raw(live.id().cast_signed()), Signal::SIGINT).expect("a signal");
    assert_eq!(live.wait().expect("its end").code(), Some(130));
    assert_eq!(left_of(live.id()), Vec::<String>::new());
}

fn killed() {
    let folder = folder();
    let mut live = under_way(folder.path());
    live.kill().expect("a signal");
    live.wait().expect("its end");
    assert_eq!(left_of(live.id()).len(), 2);
    let mut next = under_way(folder.path());
    assert_eq!(left_of(live.id()), Vec::<String>::new());
    kill(Pid::from_raw(next.id().cast_signed()), Signal::SIGINT).expect("a signal");
    next.wait().expect("its end");
}

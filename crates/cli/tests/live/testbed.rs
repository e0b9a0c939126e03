//! `bentpipe testbed`: a scenario on real stacks gives what the simulator gives, and leaves nothing
//! behind, whatever is killed.

pub(crate) mod foreign;
mod scenarios;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::stage::BENTPIPE;
use crate::toolbox::wait_until;
pub(crate) use scenarios::DOWNLOAD;
use scenarios::{CONFIGURED, EVERYTHING, PATTERN};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("testbed_gives_what_the_simulator_gives", as_simulated),
    ("testbed_carries_every_live_workload_through_gateways", every_workload),
    ("testbed_lays_out_patterns_and_counts_recoveries", patterns),
    ("testbed_stays_when_a_run_is_interrupted", interrupted),
    ("testbed_leaves_nothing_whatever_is_killed", killed),
    ("testbed_refuses_by_name", refused),
    ("testbed_plays_a_foreign_gateway", foreign::plays_a_foreign_gateway),
];

/// A scenario's file in a folder of its own, and the testbed of it, which goes with this value.
pub(crate) struct Bed {
    folder: tempfile::TempDir,
    pub(crate) name: String,
}

impl Bed {
    pub(crate) fn new(what: &str, scenario: &str) -> Bed {
        let folder = tempfile::tempdir().expect("a folder");
        let name = format!("test-{}-{what}", std::process::id());
        fs::write(folder.path().join("x.toml"), scenario).expect("a scenario");
        Bed { folder, name }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BENTPIPE);
        command.current_dir(self.folder.path()).arg("testbed").args(arguments);
        command
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("bentpipe")
    }

    /// Its standard output; it must succeed.
    pub(crate) fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {}: {errors}", output.status);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The one line with which it fails.
    fn fail(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(errors.lines().count(), 1, "{errors}");
        errors
    }

    /// What the simulator says of the same file.
    pub(crate) fn simulate(&self, arguments: &[&str]) -> String {
        let mut simulator = Command::new(BENTPIPE);
        simulator.current_dir(self.folder.path()).args(["sim", "x.toml"]).args(arguments);
        let output = simulator.output().expect("the simulator");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn up(&self) -> String {
        self.succeed(&["up", "x.toml", "--name", &self.name])
    }

    pub(crate) fn down(&self) {
        self.succeed(&["down", &self.name]);
        self.assert_nothing_is_left();
    }

    fn status(&self) -> Value {
        let output = self.output(&["status", &self.name, "--json"]);
        let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        all[0].clone()
    }

    /// The process that is called so.
    fn pid(&self, what: &str) -> Pid {
        let status = self.status();
        let all = status["processes"].as_array().expect("processes");
        let found = all.iter().find(|one| one["process"] == what);
        let pid = found.and_then(|one| one["pid"].as_i64()).expect("a process");
        Pid::from_raw(i32::try_from(pid).expect("a process's number"))
    }

    fn assert_nothing_is_left(&self) {
        for folder in ["/run/netns", "/run/bentpipe"] {
            let Ok(entries) = fs::read_dir(folder) else { continue };
            let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
            let left: Vec<String> = names.filter(|name| name.contains(&self.name)).collect();
            assert_eq!(left, Vec::<String>::new(), "in {folder}");
        }
        // Its processes name its directory.
        let processes = fs::read_dir("/proc").expect("processes").flatten();
        let commands = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        let ours = |command: &Vec<u8>| {
            let text = String::from_utf8_lossy(command);
            text.contains(&format!("/run/bentpipe/testbed-{}", self.name))
        };
        assert_eq!(commands.filter(ours).count(), 0, "processes of {}", self.name);
    }

    /// A run, under way.
    fn run_in_background(&self) -> Child {
        let mut command = self.command(&["run", &self.name, "--quiet"]);
        let run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a run");
        wait_until("a run is under way", || {
            let shown = self.succeed_or_fail(&[
                "shell",
                &self.hosts()[0],
                "--testbed",
                &self.name,
                "--",
                "cat",
                "/proc/net/tcp",
            ]);
            let established = shown.lines().filter(|line| line.contains(" 01 ")).count();
            if established > 0 { Ok(()) } else { Err(shown) }
        });
        run
    }

    fn succeed_or_fail(&self, arguments: &[&str]) -> String {
        String::from_utf8_lossy(&self.output(arguments).stdout).into_owned()
    }

    fn hosts(&self) -> Vec<String> {
        let status = self.status();
        let nodes = status["nodes"].as_array().expect("nodes").iter();
        nodes
            .filter(|node| node["role"] == "host")
            .filter_map(|node| Some(node["name"].as_str()?.to_owned()))
            .collect()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        // What a case that failed has left; the others have nothing left.
        let _ = self.output(&["down", &self.name]);
    }
}

/// The first flow's, as a run's or the simulator's results in JSON have it.
pub(crate) fn goodput(results: &str) -> f64 {
    let results: Value = serde_json::from_str(results).expect("JSON");
    results["points"][0]["flows"][0]["goodput_bps"]["mean"].as_f64().expect("a goodput")
}

fn first_line(path: &Path) -> String {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().next().unwrap_or_default().to_owned()
}

fn as_simulated() {
    let bed = Bed::new("same", DOWNLOAD);
    assert!(bed.up().contains("is up, 2 nodes"), "it says so");
    assert!(bed.up().contains("is up already"), "and that it is");
    assert_eq!(bed.status()["missing"], Value::Array(Vec::new()));
    let live = bed.succeed(&["run", &bed.name, "--json", "--output", "live"]);
    let simulated = bed.simulate(&["--json", "--output", "sim"]);
    // The link's rate is 1 Mbit/s.
    for goodput in [goodput(&live), goodput(&simulated)] {
        assert!((1.0..1e6).contains(&goodput), "{goodput} bit/s");
    }
    for table in ["results", "runs", "links", "transfers", "summary"] {
        let file = |folder: &str| bed.folder.path().join(folder).join(format!("{table}.csv"));
        assert_eq!(first_line(&file("live")), first_line(&file("sim")), "{table}");
    }
    bed.down();
    assert!(bed.fail(&["run", &bed.name]).contains("is up (`bentpipe testbed up FILE`)"));
    assert!(bed.fail(&["down", &bed.name]).contains("no testbed"));
}

fn every_workload() {
    every_workload_of("all", EVERYTHING);
    // The pair finds its link by what is reported in acknowledgments.
    let found = EVERYTHING.replace(CONFIGURED, r#"satellite = { found-by = "all-flows" }"#);
    assert_eq!(found.matches("found-by").count(), 2);
    every_workload_of("found", &found);
}

fn every_workload_of(what: &str, scenario: &str) {
    let bed = Bed::new(what, scenario);
    bed.up();
    bed.succeed(&["run", &bed.name, "--quiet"]);
    let folder = bed.folder.path().join("results").join(format!("{}-testbed", bed.name));
    let table = |name: &str| fs::read_to_string(folder.join(name)).expect("a table");
    // What is asked for in all is done: of each flow its transfers.
    let transfers = table("transfers.csv");
    for (flow, count) in [
        ("upload", 1),
        ("early", 1),
        ("late", 1),
        ("page", 1),
        ("kept", 2),
        ("piped", 1),
        ("query.1", 3),
        ("query.2", 3),
        ("calls", 2),
        ("ping", 5),
    ] {
        let of_flow = |line: &&str| line.split(',').nth(2) == Some(flow);
        let done = |line: &&str| !line.split(',').next_back().unwrap_or_default().is_empty();
        let completed = transfers.lines().filter(of_flow).filter(done).count();
        // The link loses pings too.
        let min = if flow == "ping" { count - 1 } else { count };
        assert!((min..=count).contains(&completed), "{flow}: {completed} of {count}\n{transfers}");
    }
    // Who waits for another begins with it.
    let head = transfers.lines().next().unwrap_or_default();
    let at = head.split(',').position(|name| name == "start_s").expect("a column");
    let began = |flow: &str| -> f64 {
        let row = transfers.lines().find(|line| line.split(',').nth(2) == Some(flow));
        row.and_then(|row| row.split(',').nth(at)?.parse().ok()).expect("a time")
    };
    let (early, late) = (began("early"), began("late"));
    assert!(early >= 0.8 && late >= 0.8, "{early} and {late}");
    let gateways = table("gateways.csv");
    let splits = gateways.lines().skip(1).filter_map(|line| line.split(',').nth(3)?.parse().ok());
    // upload, two that wait, 6 objects and a document on connections of their own, two kept ones,
    // one piped, two queries, two calls.
    let splits: Vec<u64> = splits.collect();
    assert!(splits.len() == 2 && splits.iter().all(|split| *split >= 15), "{gateways}");
    bed.down();
}

/// Of each flow, the cells of `columns` in its only run.
fn cells(folder: &Path, columns: [&str; 2]) -> Vec<(String, [u64; 2])> {
    let mut reader = csv::Reader::from_path(folder.join("results.csv")).expect("a table");
    let head = reader.headers().expect("a head").clone();
    let at = |column: &str| head.iter().position(|name| name == column).expect(column);
    let (flow, places) = (at("flow"), columns.map(at));
    let rows = reader.records().map(|row| row.expect("a row"));
    rows.map(|row| (row[flow].to_owned(), places.map(|at| row[at].parse().expect("a number"))))
        .collect()
}

fn patterns() {
    let bed = Bed::new("many", PATTERN);
    assert!(bed.up().contains("is up, 4 nodes"), "the pattern's hosts are there");
    bed.succeed(&["run", &bed.name, "--quiet", "--output", "live"]);
    bed.simulate(&["--quiet", "--output", "sim"]);
    let of =
        |folder: &str| cells(&bed.folder.path().join(folder), ["recoveries", "retransmissions"]);
    let (live, simulated) = (of("live"), of("sim"));
    assert_eq!(live.len(), simulated.len());
    for ((flow, [recoveries, retransmissions]), (same, _)) in live.iter().zip(&simulated) {
        assert_eq!(flow, same);
        // Of 350 and 700 segments every fiftieth is lost; several losses may be one recovery.
        assert!((1..=*retransmissions).contains(recoveries), "{flow}: {live:?}");
    }
    assert_eq!(live.iter().map(|(flow, _)| flow.as_str()).collect::<Vec<_>>(), ["f1", "f2"]);
    bed.down();
}

fn interrupted() {
    let long = DOWNLOAD.replace("500KB", "20MB");
    let bed = Bed::new("stop", &long);
    bed.up();
    let mut run = bed.run_in_background();
    assert!(bed.fail(&["run", &bed.name]).contains("another command is at work"), "one at a time");
    kill(Pid::from_raw(run.id().cast_signed()), Signal::SIGINT).expect("a signal");
    assert_eq!(run.wait().expect("its end").code(), Some(130));
    assert_eq!(bed.status()["missing"], Value::Array(Vec::new()), "it is as it was");
    // `down` ends a run that is under way.
    let mut run = bed.run_in_background();
    bed.down();
    assert_eq!(run.wait().expect("its end").code(), Some(130));
}

fn killed() {
    let bed = Bed::new("kill", &EVERYTHING.replace("50KB", "20MB"));
    bed.up();
    let mut run = bed.run_in_background();
    run.kill().expect("a kill");
    run.wait().expect("its end");
    for what in ["link sat", "gateway g1"] {
        kill(bed.pid(what), Signal::SIGKILL).expect("a kill");
    }
    wait_until("status says what is missing", || {
        let missing = bed.status()["missing"].to_string();
        let told = ["link sat", "gateway g1"].iter().all(|what| missing.contains(what));
        if told { Ok(()) } else { Err(missing) }
    });
    assert_eq!(bed.output(&["status", &bed.name]).status.code(), Some(1));
    assert!(bed.fail(&["run", &bed.name]).contains("is not whole (process of link sat)"));
    assert!(bed.fail(&["up", "x.toml", "--name", &bed.name]).contains("is not whole"));
    bed.down();
    // Killed while it comes up, at whatever moment.
    for millis in [5, 10, 20, 40, 60, 80, 120, 160, 250, 400] {
        let mut command = bed.command(&["up", "x.toml", "--name", &bed.name]);
        let mut up = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("up");
        std::thread::sleep(Duration::from_millis(millis));
        up.kill().expect("a kill");
        up.wait().expect("its end");
        let down = bed.output(&["down", &bed.name]);
        let errors = String::from_utf8_lossy(&down.stderr).into_owned();
        assert!(down.status.success() || errors.contains("no testbed"), "{errors}");
        bed.assert_nothing_is_left();
    }
}

fn refused() {
    let bed = Bed::new("no", &format!("{DOWNLOAD}tcp = \"recovery=fack\"\n"));
    let line = bed.fail(&["up", "x.toml", "--name", &bed.name]);
    assert!(line.contains("flow.download.tcp-from: recovery=fack: Linux has rack"), "{line}");
    assert!(line.contains("--any-stack"), "{line}");
    bed.assert_nothing_is_left();
    bed.succeed(&["up", "x.toml", "--name", &bed.name, "--any-stack"]);
    assert!(
        bed.fail(&[
            "up",
            "x.toml",
            "--name",
            &bed.name,
            "--any-stack",
            "--set",
            "link.sat.loss=0.1"
        ])
        .contains("is up with another scenario")
    );
    let host = bed.fail(&["shell", "nobody", "--testbed", &bed.name]);
    assert!(host.contains("no host `nobody` (there are server, client)"), "{host}");
    bed.down();
    fs::write(
        bed.folder.path().join("y.toml"),
        format!("{DOWNLOAD}[flow.t]\nworkload = \"telnet\"\nfrom = \"server\"\nto = \"client\"\n"),
    )
    .expect("a scenario");
    let line = bed.fail(&["up", "y.toml", "--name", &bed.name]);
    assert!(line.contains("flow.t.workload=telnet: bulk, request-response"), "{line}");
    bed.assert_nothing_is_left();
    // Without root there is one line, too.
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--clear-groups", BENTPIPE, "testbed", "status"]);
    let output = command.output().expect("setpriv");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && errors.lines().count() == 1, "{errors}");
    assert!(errors.contains("takes root"), "{errors}");
}

//! `bentpipe bench flows` measures every program with every load, and leaves nothing behind.

use std::env;
use std::fs;
use std::process::{Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::stage::BENTPIPE;
use crate::testbed::foreign;
use crate::toolbox::wait_until;

pub(crate) const CASES: &[(&str, fn())] = &[
    ("bench_flows_measures_all_programs", measures),
    ("bench_flows_goes_on_without_what_fails", partly),
    ("bench_flows_is_interrupted", interrupted),
    ("bench_flows_fails_in_a_line", fails),
];

fn bench(arguments: &[&str]) -> Command {
    let mut command = Command::new(BENTPIPE);
    command.args(["bench", "flows", "--rounds", "1", "--quiet"]).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs it to its end; nothing of it is left then.
fn played(arguments: &[&str]) -> Output {
    let child = bench(arguments).args(["--seconds", "1"]).spawn().expect("bentpipe");
    let id = child.id();
    let output = child.wait_with_output().expect("its output");
    assert_nothing_is_left(id);
    output
}

/// The names of the process's namespaces and directories.
fn left(id: u32) -> Vec<String> {
    let entries = ["/run/netns", "/run"].into_iter().filter_map(|path| fs::read_dir(path).ok());
    let names = entries.flatten().flatten().filter_map(|it| it.file_name().into_string().ok());
    names.filter(|name| name.starts_with(&format!("bentpipe-{id}-"))).collect()
}

fn assert_nothing_is_left(id: u32) {
    assert_eq!(left(id), Vec::<String>::new());
}

fn measures() {
    let folder = tempfile::tempdir().expect("a folder");
    let this = env::current_exe().expect("this binary");
    let file = folder.path().join("counted");
    fs::write(&file, "").expect("a file");
    let proxy = format!("tiny={} {} {{port}} {}", this.display(), foreign::ASKED, file.display());
    let loads = ["--flows", "1,4", "--rate", "8Mbit/s,full", "--idle", "10"];
    let others = ["--connections", "--parallel", "4", "--congestion", "reno", "--bare-copy"];
    let loads = [&loads[..], &others].concat();
    let output = played(&[&loads[..], &["--proxy", &proxy, "--json"]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    let results: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = results["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 5 * 4, "five loads through four programs");
    for row in rows {
        let positive = |name: &str| {
            assert!(row[name]["median"].as_f64().is_some_and(|it| it > 0.0), "{name}: {row}");
        };
        let (flows, rate) = (row["flows"].as_u64(), row["rate_bps"].as_u64());
        match flows {
            Some(_) => ["goodput_bps", "cpu_s_per_gb"].into_iter().for_each(positive),
            None => ["connections_per_s", "cpu_ms_per_connection"].into_iter().for_each(positive),
        }
        if row["through"] != "kernel" {
            positive("of_kernel");
        }
        if flows == Some(4) {
            ["jain", "of_one_flow", "cpu_of_one_flow"].into_iter().for_each(positive);
        }
        if flows.is_none() || rate.is_none() {
            ["ping_p50_ms", "ping_p99_ms", "request_p50_ms"].into_iter().for_each(positive);
        }
    }
    let names = rows.iter().filter_map(|row| row["through"].as_str());
    assert_eq!(names.collect::<Vec<_>>()[..4], ["kernel", "gateway", "tiny", "bare copy"]);
}

fn partly() {
    let folder = tempfile::tempdir().expect("a folder");
    let this = env::current_exe().expect("this binary");
    let at = folder.path().display();
    let script = folder.path().join("once.sh");
    let once =
        format!("mkdir {at}/ran && exec {} {} $1 {at}/counted", this.display(), foreign::ASKED);
    fs::write(&script, once).expect("a script");
    fs::write(folder.path().join("counted"), "").expect("a file");
    let proxy = format!("once=sh {} {{port}}", script.display());
    let output = played(&["--flows", "1,4", "--proxy", &proxy, "--json"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    let words = "once, 4 flows at full speed: failed in 1 of 1 rounds: once did not start";
    assert!(errors.lines().count() == 1 && errors.contains(words), "{errors}");
    let results: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = results["rows"].as_array().expect("rows");
    let carried = |row: &&Value| row["goodput_bps"]["median"].as_f64().is_some();
    let names = rows.iter().filter(carried).filter_map(|row| row["through"].as_str());
    let all = ["kernel", "gateway", "once", "kernel", "gateway"];
    assert_eq!(names.collect::<Vec<_>>(), all);
    assert_eq!(results["failures"][0]["through"], "once");
}

fn interrupted() {
    let child = bench(&["--seconds", "100"]).spawn().expect("bentpipe");
    let id = child.id();
    wait_until("its namespaces", || match left(id) {
        names if names.len() >= 3 => Ok(()),
        names => Err(format!("{names:?}")),
    });
    kill(Pid::from_raw(id.cast_signed()), Signal::SIGINT).expect("SIGINT");
    let output = child.wait_with_output().expect("its output");
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert_nothing_is_left(id);
}

fn fails() {
    let refused: [(&[&str], &str); 3] = [
        (&["--proxy", "no=/bin/false"], "bench flows: no did not start: nothing listens"),
        (&["--gateway", "old=/no/bentpipe"], "bench flows: old did not start"),
        (&["--congestion", "nobody"], "Unknown tcp congestion algorithm"),
    ];
    for (arguments, words) in refused {
        let output = played(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.lines().count() == 1 && errors.contains(words), "{errors}");
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--clear-groups", BENTPIPE, "bench", "flows"]);
    let output = command.output().expect("setpriv");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.lines().count() == 1 && errors.contains("run it as root"), "{errors}");
}

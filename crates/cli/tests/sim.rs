//! `bentpipe sim` as its users meet it: the binary, its exit codes, what it prints and writes.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SMALL: &str = r#"
title = "A small one"
[run]
duration = "3s"
[repeat]
runs = 2
[host.a]
[host.b]
[link.sat]
between = ["a", "b"]
rate = "1Mbit/s"
delay = "20ms"
loss = "1%"
[flow.main]
from = "a"
to = "b"
[sweep]
"link.sat.delay" = ["20ms", "100ms"]
"#;

/// A folder to work in, with `small.toml`.
fn place() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small.toml"), SMALL).unwrap();
    folder
}

fn bentpipe(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.arg("sim").args(arguments).current_dir(folder).env_remove("RUST_BACKTRACE");
    command
}

fn output(folder: &Path, arguments: &[&str]) -> Output {
    bentpipe(folder, arguments).output().expect("it starts")
}

/// It must succeed; what it prints.
fn prints(folder: &Path, arguments: &[&str]) -> String {
    let output = output(folder, arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&prints(folder, arguments)).unwrap()
}

/// It must fail with one line that has `word` in it.
fn complains(folder: &Path, arguments: &[&str], word: &str) {
    let output = output(folder, arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{arguments:?} succeeded: {stderr}");
    assert!(stderr.contains(word), "`{word}` is not in: {stderr}");
    assert_eq!(stderr.trim().lines().count(), 1, "one line expected: {stderr}");
    assert!(output.stdout.is_empty());
}

#[test]
fn bad_input_is_said_in_one_line() {
    let place = place();
    let folder = place.path();
    fs::write(folder.join("broken.toml"), SMALL.replace("rate =", "rat =")).unwrap();
    fs::write(folder.join("latin.toml"), b"title = \"\xe9\"").unwrap();
    complains(folder, &["nothing-there"], "--list");
    complains(folder, &["broken.toml"], "broken.toml:11:1: unknown key `rat`");
    complains(folder, &["check", "broken.toml"], "did you mean `rate`?");
    complains(folder, &["latin.toml"], "cannot read latin.toml");
    complains(folder, &["."], "cannot read .");
    complains(folder, &["small.toml", "--point", "2"], "0 to 1");
    complains(folder, &["small.toml", "--set", "run.duration=soon"], "soon");
    complains(folder, &["small.toml", "--set", "run.duration"], "PATH=VALUE");
    complains(folder, &["small.toml", "--threads", "0"], "--threads");
    complains(folder, &["small.toml", "--runs", "0"], "repeat.runs=0");
    complains(folder, &["small.toml", "--output", "small.toml/x"], "cannot write small.toml/x");
    let occupied = ". is neither empty nor a folder of results";
    complains(folder, &["small.toml", "--output", "."], occupied);
    complains(folder, &[], "FILE");
    assert!(!folder.join("results").exists(), "nothing is half set up");
}

#[test]
fn a_foreign_gateway_is_sound_and_not_simulated() {
    let place = place();
    let folder = place.path();
    let network = SMALL
        .replace("[link.sat]\nbetween = [\"a\", \"b\"]", "[link.sat]\nbetween = [\"g\", \"b\"]")
        .replace("[sweep]\n\"link.sat.delay\" = [\"20ms\", \"100ms\"]\n", "");
    let compared = format!(
        "{network}[gateway.g]\nlan-links = \"lan\"\n[link.lan]\nbetween = [\"a\", \"g\"]\n\
         [[variant]]\nname = \"bentpipe\"\n\
         [[variant]]\nname = \"pepsal\"\nset = {{ \"gateway.g.proxy\" = \"pepsal\" }}\n"
    );
    fs::write(folder.join("compared.toml"), compared).unwrap();
    let why = "gateway.g.proxy: a foreign program, which only a testbed can play";
    complains(folder, &["compared.toml"], why);
    assert!(!folder.join("results").exists(), "nothing is run");
    assert!(prints(folder, &["check", "compared.toml"]).contains("variant=pepsal"));
    prints(folder, &["compared.toml", "--point", "0"]);
}

#[test]
fn a_run_fills_a_folder_and_a_second_one_finds_it() {
    let place = place();
    let folder = place.path();
    let text = prints(folder, &["small.toml"]);
    assert!(text.starts_with("A small one\n") && text.contains("1 delay=100ms"), "{text}");
    assert!(text.ends_with("4 runs; all of it is in results/small\n"), "{text}");
    let results = folder.join("results/small");
    for name in ["README.md", "scenario.toml", "results.csv", "runs.parquet", "summary.json"] {
        assert!(results.join(name).exists(), "{name}");
    }
    let first = fs::read(results.join("results.csv")).unwrap();
    let again = prints(folder, &["small.toml"]);
    assert!(again.contains("0 runs, and 4 made earlier"), "{again}");
    assert_eq!(fs::read(results.join("results.csv")).unwrap(), first);
    // The folder's own scenario gives the same results.
    prints(folder, &["results/small/scenario.toml", "--output", "copy", "--threads", "1"]);
    assert_eq!(fs::read(folder.join("copy/results.csv")).unwrap(), first);
}

#[test]
fn json_has_every_figure() {
    let place = place();
    let value = json(place.path(), &["small.toml", "--json", "--quiet", "--runs", "3"]);
    let points = value["points"].as_array().unwrap();
    assert_eq!((points.len(), &value["schema"]), (2, &Value::from(2)));
    let point = &points[1];
    assert_eq!((&point["runs"], &point["failed"]), (&Value::from(3), &Value::from(0)));
    assert_eq!(
        (&point["because"], &point["swept"]["link.sat.delay"]),
        (&"runs".into(), &"100ms".into())
    );
    let goodput = &point["flows"][0]["goodput_bps"];
    assert_eq!(goodput["samples"], 3);
    for key in ["mean", "sd", "half_width_95", "half_width_99"] {
        assert!(goodput[key].as_f64().unwrap() > 0.0, "{value:#}");
    }
    assert_eq!(point["flows"][0]["completion_s"], Value::Null);
    let file = fs::read_to_string(place.path().join("results/small/summary.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&file).unwrap(), value);
}

#[test]
fn one_run_can_be_made_again_and_is_the_same() {
    let place = place();
    let folder = place.path();
    prints(folder, &["small.toml"]);
    prints(folder, &["small.toml", "--point", "1", "--run", "1"]);
    let last = |path: &str| {
        let text = fs::read_to_string(folder.join(path)).unwrap();
        text.lines().last().unwrap().to_owned()
    };
    assert_eq!(last("results/small/point-1/run-1/runs.csv"), last("results/small/runs.csv"));
}

#[test]
fn fields_can_be_changed_and_the_folder_says_so() {
    let place = place();
    let folder = place.path();
    let changes = ["small.toml", "--set", "link.sat.delay=7ms", "--set", "run.duration=1s"];
    let text = prints(folder, &changes);
    assert!(text.contains("2 runs; "), "{text}");
    let scenario = fs::read_to_string(folder.join("results/small/scenario.toml")).unwrap();
    assert!(scenario.starts_with("# small.toml with link.sat.delay=7ms run.duration=1s\n"));
    assert!(scenario.contains("delay = \"7ms\""), "{scenario}");
}

#[test]
fn check_runs_nothing() {
    let place = place();
    let text = prints(place.path(), &["check", "small.toml"]);
    assert_eq!(text, "A small one\n2 points × 2 runs\n    0  delay=20ms\n    1  delay=100ms\n");
    let value = json(place.path(), &["check", "six-round-trips", "--json"]);
    assert_eq!(value["runs"]["max"], 50);
    assert!(!place.path().join("results").exists());
}

#[test]
fn what_is_not_random_is_run_once_and_said_so() {
    let place = place();
    let set = ["small.toml", "--runs", "30", "--set", "link.sat.loss=0"];
    let text = prints(place.path(), &set);
    let said =
        "nothing in it is random: each point was run once, as all runs would be the same\n2 runs; ";
    assert!(text.contains(said), "{text}");
    let check = ["check", "small.toml", "--set", "link.sat.loss=0"];
    let text = prints(place.path(), &check);
    assert!(text.contains("\nnothing in it is random: each point is run once\n"), "{text}");
}

#[test]
fn ctrl_c_keeps_what_is_finished() {
    let place = place();
    let folder = place.path();
    let long = ["small.toml", "--runs", "100000", "--threads", "2"];
    let child =
        bentpipe(folder, &long).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let runs = || fs::read_dir(folder.join("results/small/runs")).map_or(0, Iterator::count);
    let begun = Instant::now();
    while runs() < 5 {
        assert!(begun.elapsed() < Duration::from_secs(300), "no run was stored");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("goes on from there") && stderr.lines().count() == 1, "{stderr}");
    let kept = runs();
    let text = prints(folder, &["small.toml", "--runs", "3"]);
    assert!(kept >= 5 && text.contains("made earlier"), "{text}");
}

#[test]
fn figures_are_drawn_and_drawn_anew_without_running() {
    let place = place();
    let folder = place.path();
    prints(folder, &["small.toml", "--no-figures"]);
    let results = folder.join("results/small");
    assert!(!results.join("figures").exists() && !results.join("index.html").exists());
    // What follows from the sweep.
    prints(folder, &["small.toml"]);
    let page = fs::read_to_string(results.join("index.html")).unwrap();
    assert!(page.contains("figures/goodput.svg") && !page.contains("://"), "it works offline");
    let png = fs::read(results.join("figures/goodput.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG"));
    let data = fs::read_to_string(results.join("figures/goodput.csv")).unwrap();
    assert!(data.starts_with("panel,curve,x,y,error,samples\n,,0.02,"), "{data}");
    // What the file says; no run is made for it.
    let figure =
        "\n[figure.mine]\nx = \"link.sat.delay\"\ny = \"retransmissions\"\nkind = \"bars\"\n";
    fs::write(folder.join("small.toml"), format!("{SMALL}{figure}")).unwrap();
    let text = prints(folder, &["small.toml"]);
    assert!(text.contains("0 runs, and 4 made earlier"), "{text}");
    assert!(
        results.join("figures/mine.svg").exists() && !results.join("figures/goodput.svg").exists()
    );
    fs::remove_dir_all(results.join("runs")).unwrap();
    let plot = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
        command.arg("plot").args(arguments).current_dir(folder).output().unwrap()
    };
    let output = plot(&["results/small", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["figures"][0]["name"], "mine");
    assert!(folder.join(value["figures"][0]["files"][0].as_str().unwrap()).exists());
}

#[test]
fn a_figure_of_what_there_is_not_is_refused_before_anything_runs() {
    let place = place();
    let folder = place.path();
    let figure = |text: &str| {
        fs::write(folder.join("small.toml"), format!("{SMALL}\n[figure.mine]\n{text}\n")).unwrap();
    };
    figure("y = \"goodput\"");
    complains(folder, &["small.toml"], "did you mean `goodput_bps`?");
    complains(folder, &["check", "small.toml"], "small.toml:21:5: [figure.mine] y: no table");
    assert!(!folder.join("results").exists());
    // What is swept besides is no error of the figure, which is no part of a run.
    figure("y = \"goodput_bps\"\nx = \"flow\"\ncurves = \"flow\"");
    let output_of = output(folder, &["small.toml"]);
    let stderr = String::from_utf8(output_of.stderr).unwrap();
    let said = "[figure.mine] is left out: it does not tell apart the values of the swept `link.sat.delay`";
    assert!(output_of.status.success() && stderr.contains(said), "{stderr}");
    assert!(!folder.join("results/small/figures/mine.svg").exists());
    // Nothing was recorded: the results are there all the same.
    figure("y = \"cwnd\"");
    let output = output(folder, &["small.toml"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("[figure.mine] has no data") && stderr.lines().count() == 1,
        "{stderr}"
    );
    assert!(folder.join("results/small/summary.csv").exists());
}

#[test]
fn every_example_runs() {
    let folder = tempfile::tempdir().unwrap();
    let scenarios = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let mut files: Vec<PathBuf> = fs::read_dir(scenarios)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    files.sort();
    assert!(files.len() >= 9);
    let list = prints(folder.path(), &["--list"]);
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        assert!(list.contains(name), "{list}");
        // A tenth of it, once: that it runs is shown, not what it shows.
        let arguments = [
            file.to_str().unwrap(),
            "--json",
            "--runs",
            "1",
            "--set",
            "run.duration=8s",
            "--set",
            "run.warm-up=1s",
        ];
        let output = output(folder.path(), &arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {stderr}");
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        for point in value["points"].as_array().unwrap() {
            assert_eq!(point["failed"], 0, "{name}");
            assert!(!point["flows"].as_array().unwrap().is_empty(), "{name}");
        }
        assert!(folder.path().join("results").join(name).join("README.md").exists());
    }
}

#[test]
fn parts_joined_are_the_whole_and_what_is_missing_is_said() {
    let place = place();
    let folder = place.path();
    let until =
        ["--set", "repeat.until='ci95 30%'", "--set", "repeat.min=2", "--set", "repeat.max=4"];
    for (name, rule) in [("fixed", &[][..]), ("until", &until)] {
        let sim = |arguments: &[&str]| {
            prints(folder, &[&["small.toml", "--no-figures"], rule, arguments].concat())
        };
        let part = |index: usize| format!("{name}-{index}");
        sim(&["--output", name]);
        for index in 0..3 {
            let shard = format!("{index}/3");
            assert_eq!(sim(&["--shard", &shard, "--output", &part(index)]), "");
        }
        let joined = format!("{name}-joined");
        let mut few = vec!["small.toml", "--output", &joined];
        few.extend(rule);
        let parts = [part(0), part(1), part(2)];
        complains(
            folder,
            &[&few[..], &["--merge", &parts[1]]].concat(),
            "is in none of these folders",
        );
        let merge = ["--output", &joined, "--merge", &parts[0], &parts[2]];
        let printed = sim(&merge);
        assert!(printed.contains("0 runs, and"), "{printed}");
        for file in ["results.csv", "summary.json", "summary.parquet"] {
            let content = |of: &str| fs::read(folder.join(of).join(file)).unwrap();
            assert!(content(name) == content(&joined), "{file} of {name}");
        }
        let store = |of: &str| files(&folder.join(of).join("runs"));
        assert!(
            store(&joined).len() >= 4
                && store(&joined).keys().all(|file| store(name).contains_key(file))
        );
    }
    complains(folder, &["small.toml", "--merge", "nowhere"], "no folder of results");
    complains(folder, &["small.toml", "--shard", "3/3"], "such as 3/64");
}

#[test]
fn a_field_can_be_swept_from_the_command_line() {
    let place = place();
    let sweep = "sweep.link.sat.loss=[0, 0.01]";
    let results = json(place.path(), &["small.toml", "--json", "--no-figures", "--set", sweep]);
    let points = results["points"].as_array().unwrap();
    assert_eq!(points.len(), 4);
    assert_eq!(points[1]["swept"]["link.sat.loss"], "0.01");
}

/// The files of a folder, with what is in them.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    entries
        .filter(|path| path.is_file())
        .map(|path| (name(&path), fs::read(&path).unwrap()))
        .collect()
}

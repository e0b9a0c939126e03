//! `bentpipe plot --match` as users run it, on captures of the simulator.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const SCENARIO: &str = r#"
[run]
duration = "20s"
[host.server]
[host.client]
[link.sat]
between = ["server", "client"]
rate = "5Mbit/s"
delay = "30ms"
loss = 0.02
[flow.main]
from = "server"
to = "client"
bytes = "300KB"
[record]
packets = true
"#;

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.current_dir(folder).args(arguments).output().unwrap()
}

fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Why it fails: one line.
fn fails(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(!output.status.success(), "{arguments:?} succeeds");
    let why = String::from_utf8(output.stderr).unwrap();
    assert_eq!(why.lines().count(), 1, "{why}");
    why
}

/// The packets that the link lost from the server to the client.
fn lost(folder: &Path) -> u64 {
    let text = fs::read_to_string(folder.join("results/x/links.csv")).unwrap();
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = |name: &str| head.iter().position(|cell| *cell == name).unwrap();
    let rows = lines.map(|line| line.split(',').collect::<Vec<&str>>());
    let row = rows.clone().find(|row| row[place("from")] == "server").unwrap();
    ["lost_packets", "dropped_packets"]
        .iter()
        .map(|name| row[place(name)].parse::<u64>().unwrap())
        .sum()
}

#[test]
fn two_captures_are_matched() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("x.toml"), SCENARIO).unwrap();
    succeeds(at, &["sim", "--no-figures", "x.toml"]);
    let captured = "results/x/packets/point-0-run-0";
    let [server, client] = ["server", "client"].map(|name| format!("{captured}/{name}.pcapng"));

    let json = succeeds(at, &["plot", &server, &client, "--match", "--json"]);
    let told: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(told["schema"], 1);
    let hop = &told["connections"][0]["hops"][0];
    assert_eq!(hop["compared_by"], "packets");
    let ways = hop["directions"].as_array().unwrap();
    let way = ways.iter().find(|way| way["upstream"] == "server.pcapng").unwrap();
    assert!(lost(at) > 0);
    assert_eq!(way["lost"]["packets"], lost(at));
    let runs = way["losses"].as_array().unwrap();
    let bytes: u64 = runs.iter().map(|run| run["bytes"].as_u64().unwrap()).sum();
    assert_eq!(way["lost"]["bytes"], bytes);

    let text = succeeds(at, &["plot", &server, &client, "--match", "-o", "pair.svg"]);
    assert!(text.contains("compared by packets") && text.ends_with("pair.svg\n"), "{text}");
    let picture = fs::read_to_string(at.join("pair.svg")).unwrap();
    assert!(picture.contains("delay above the least") && picture.contains("lost in all"));

    assert!(fails(at, &["plot", &server, "--match"]).contains("there are 1"));
    let why = fails(at, &["plot", &server, &client, "--match", "-o", "pair.html"]);
    assert!(why.contains(".svg or .png"), "{why}");
    let other = SCENARIO.replace("300KB", "10KB").replace("[run]", "[run]\nseed = 5");
    fs::write(at.join("y.toml"), other).unwrap();
    succeeds(at, &["sim", "--no-figures", "y.toml"]);
    let stranger = "results/y/packets/point-0-run-0/client.pcapng";
    let why = fails(at, &["plot", &server, stranger, "--match", "--filter", "port 9"]);
    assert!(why.contains("no connection is in all files as"), "{why}");
}

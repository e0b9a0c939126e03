//! The choice of connections in `bentpipe plot`, and of a part of a capture.

use crate::plot::{captures, fails, run, succeeds};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn listed(at: &Path, arguments: &[&str]) -> Vec<Value> {
    let json = succeeds(at, &[&["plot", "--list", "--json"], arguments].concat());
    let rows: Value = serde_json::from_str(&json).unwrap();
    rows.as_array().unwrap().clone()
}

fn numbers(rows: &[Value]) -> Vec<u64> {
    rows.iter().map(|row| row["connection"].as_u64().unwrap()).collect()
}

fn sum(row: &Value, key: &str) -> u64 {
    row[key].as_array().unwrap().iter().map(|value| value.as_u64().unwrap()).sum()
}

#[test]
fn the_list_is_sorted_and_begins_with_the_most() {
    let folder = captures();
    let at = folder.path();
    let all = listed(at, &["server.pcapng"]);
    assert_eq!(numbers(&all), [0, 1]);
    let size = |row: &Value| sum(row, "bytes");
    let largest = u64::from(size(&all[1]) > size(&all[0]));
    assert_eq!(numbers(&listed(at, &["server.pcapng", "--sort", "bytes"])), [largest, 1 - largest]);
    assert_eq!(numbers(&listed(at, &["server.pcapng", "--top", "1"])), [largest]);
    let again = listed(at, &["server.pcapng", "--sort", "retransmitted"]);
    assert!(sum(&again[0], "retransmissions") >= sum(&again[1], "retransmissions"), "{again:?}");
    let long = listed(at, &["server.pcapng", "--sort", "duration", "--top", "1"]);
    let seconds = |row: &Value| row["duration_s"].as_f64().unwrap();
    assert!(all.iter().all(|row| seconds(row) <= seconds(&long[0])));
    assert_eq!(numbers(&listed(at, &["server.pcapng", "--sort", "start"])), [0, 1]);
    let refused = fails(at, &["plot", "--list", "server.pcapng", "--sort", "colour"]);
    assert!(refused.contains("'colour'") && refused.contains("retransmitted"), "{refused}");
}

#[test]
fn connections_have_a_start_and_parts_of_them_can_be_read() {
    let folder = captures();
    let at = folder.path();
    let all = listed(at, &["server.pcapng"]);
    assert_eq!(all[0]["start_s"], 0.0);
    let utc = all[0]["start"].as_str().unwrap();
    assert!(utc.ends_with('Z') && utc.contains('T'), "{utc}");
    let text = succeeds(at, &["plot", "--list", "server.pcapng"]);
    assert!(text.lines().next().unwrap().contains(" start "), "{text}");
    let part =
        listed(at, &["server.pcapng", "--connection", "1", "--from", "1200ms", "--to", "1.5s"]);
    assert_eq!(numbers(&part), [1]);
    assert!(part[0]["start_s"].as_f64().unwrap() >= 1.2, "{part:?}");
    assert!(part[0]["duration_s"].as_f64().unwrap() <= 0.3, "{part:?}");
    assert!(sum(&part[0], "packets") < sum(&all[1], "packets"));
    // The SYNs before the part have said how windows are scaled.
    let csv = succeeds(at, &["plot", "--csv", "server.pcapng", "--from", "1200ms", "--to", "1.5s"]);
    let windows = csv.lines().skip(1).map(|line| line.split(',').nth(10).unwrap());
    let windows: Vec<u64> = windows.map(|window| window.parse().unwrap()).collect();
    assert!(windows.iter().any(|&window| window > 0xFFFF), "{windows:?}");
    let none = fails(at, &["plot", "server.pcapng", "--from", "1h"]);
    assert!(none.contains("server.pcapng: none of its 2 connections is as --from says"), "{none}");
    let wrong = fails(at, &["plot", "server.pcapng", "--from", "soon"]);
    assert!(wrong.contains("such as 12.5s"), "{wrong}");
}

#[test]
fn filters_are_those_of_tcpdump() {
    let folder = captures();
    let at = folder.path();
    let by = |filter: &str| numbers(&listed(at, &["server.pcapng", "--filter", filter]));
    let ends = listed(at, &["server.pcapng"])[1]["ends"].clone();
    let end = |which: usize| ends[which].as_str().unwrap().rsplit_once(':').unwrap().to_owned();
    let ((host, _), (peer, port)) = (end(0), end(1));
    assert_eq!(by("tcp"), [0, 1]);
    assert_eq!(by(&format!("tcp port {port} or 1")), [0, 1]);
    // The other connection has both, but no packet has.
    let one_way = format!("src host {host} and dst port {port}");
    assert_eq!(by(&one_way), [1]);
    assert_eq!(
        by(&format!("!({one_way})&&host {peer}")),
        [0, 1],
        "the other way is another packet"
    );
    assert_eq!(by(&format!("src {host} and dst portrange 1-2 or ({one_way})")), [1]);
    let missing = fails(at, &["plot", "server.pcapng", "--filter", "portrange 1-2"]);
    assert!(missing.contains("connections is as --filter says"), "{missing}");
    let bare = fails(at, &["plot", "server.pcapng", "--filter", "10.0.0.1"]);
    assert!(bare.contains("--filter: `10.0.0.1` says not what it is: write `host 10.0.0.1`"));
}

#[test]
fn options_that_mean_nothing_together_are_refused() {
    let folder = captures();
    let at = folder.path();
    let both = |first: &str, second: &[&str]| {
        let why = fails(at, &[&["plot", "server.pcapng", "client.pcapng", first], second].concat());
        assert!(why.contains("cannot be used with"), "{first} {second:?}: {why}");
    };
    both("--list", &["-o", "x.svg"]);
    both("--list", &["--reverse"]);
    for option in [&["--csv"][..], &["--top", "1"], &["--sort", "bytes"], &["--reverse"]] {
        both("--match", option);
    }
    for option in ["--list", "--csv", "--explain", "--output=x.svg", "--filter=tcp", "--top=1"] {
        let why = fails(at, &["plot", "results/x", option]);
        let name = option.split('=').next().unwrap();
        assert!(why.contains("results/x is a folder") && why.contains(name), "{why}");
    }
    let why = fails(at, &["plot", "server.pcapng", "client.pcapng", "--scenario", "x.toml"]);
    assert!(why.contains("--scenario is for the results of one folder"), "{why}");
    assert!(!at.join("x.svg").exists());
}

/// Six connections for four columns, and 66 for the 64 of a page.
#[test]
fn where_not_all_have_room_the_largest_are_drawn() {
    let folder = captures();
    let at = folder.path();
    let names: Vec<String> = (0..33).map(|number| format!("{number}.pcapng")).collect();
    for name in &names {
        fs::copy(at.join("server.pcapng"), at.join(name)).unwrap();
    }
    let plot = |count: usize, output: &str| {
        let mut arguments = vec!["plot", "-o", output];
        arguments.extend(names[..count].iter().map(String::as_str));
        let output = run(at, &arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && said.lines().count() == 1, "{said}");
        said
    };
    let said = plot(3, "x.svg");
    assert!(said.contains("the first 4 of 6 connections by bytes are drawn (others"), "{said}");
    let svg = fs::read_to_string(at.join("x.svg")).unwrap();
    assert_eq!(svg.matches("class=\"sequence\"").count(), 4);
    let said = plot(33, "x.html");
    assert!(said.contains("the first 64 of 66 connections by bytes are drawn (others"), "{said}");
}

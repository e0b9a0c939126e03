//! `bentpipe bench traces`: scores of contenders on traces, in a folder that makes the same again.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn bentpipe(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.args(arguments).current_dir(folder).output().unwrap()
}

fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, end: &str| {
        let rows = format!("time,rate,delay\n0s,4Mbit/s,20ms\n3s,8Mbit/s,30ms\n{end}\n");
        fs::write(place.path().join(name), rows).unwrap();
    };
    write("x_uplink.csv", "5s,4Mbit/s,20ms");
    write("longer.csv", "7s,4Mbit/s,20ms");
    place
}

#[test]
fn traces_are_scored_and_the_folder_makes_the_same_again() {
    let place = place();
    let arguments = [
        "bench",
        "traces",
        "x_uplink.csv",
        "longer.csv",
        "--contender",
        "gateways",
        "--contender",
        "bbr",
        "--flows",
        "1,3",
        "--json",
        "--quiet",
        "--no-figures",
    ];
    let output = bentpipe(place.path(), &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let scored: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = scored["scores"].as_array().unwrap();
    let named: Vec<(&str, u64)> = rows
        .iter()
        .map(|row| (row["contender"].as_str().unwrap(), row["flows"].as_u64().unwrap()))
        .collect();
    let each = [("gateways", 1), ("bbr", 1), ("gateways", 3), ("bbr", 3)];
    assert_eq!(named, [each, each].concat());
    assert_eq!((&rows[4]["trace"], &rows[4]["way"]), (&"longer".into(), &"down".into()));
    for row in &rows[..4] {
        assert_eq!((&row["trace"], &row["way"]), (&"x_uplink".into(), &"up".into()));
        // Those that would begin behind this trace's end are none.
        assert!(row["short_unfinished"].as_u64().unwrap() <= 2, "{row}");
        let share = row["utilisation"].as_f64().unwrap();
        assert!((0.3..=1.0).contains(&share), "{row}");
        // No ping is faster than the delay there and back.
        assert!(row["delay_p50_s"].as_f64().unwrap() >= 0.04, "{row}");
        assert!(row["delay_p99_s"].as_f64() >= row["delay_p95_s"].as_f64(), "{row}");
    }
    let results = place.path().join("results/traces");
    let table = |folder: &Path| fs::read_to_string(folder.join("results.csv")).unwrap();
    let again = bentpipe(&results, &["sim", "scenario.toml", "--quiet", "--no-figures"]);
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    assert_eq!(table(&results.join("results/scenario")), table(&results));
}

#[test]
fn traces_of_one_name_are_two_and_what_is_said_twice_is_run_once() {
    let place = place();
    fs::create_dir(place.path().join("other")).unwrap();
    let rows = "time,rate,delay,sky\n0s,1Mbit/s,90ms,clear\n5s,1Mbit/s,90ms,clear\n";
    fs::write(place.path().join("other/longer.csv"), rows).unwrap();
    let who = ["--contender", "cubic", "--contender", "cubic", "--flows", "1,1"];
    let how = ["--json", "--quiet", "--no-figures"];
    let what = ["bench", "traces", "longer.csv", "other/longer.csv"];
    let output = bentpipe(place.path(), &[&what[..], &who, &how].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("sky"), "{said}");
    let scored: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = scored["scores"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!((&rows[0]["trace"], &rows[1]["trace"]), (&"longer".into(), &"longer+2".into()));
    // Each was run on its own file: on one they would be the same to the digit.
    assert_ne!(rows[0]["delay_p50_s"], rows[1]["delay_p50_s"]);
    assert_ne!(rows[0]["utilisation"], rows[1]["utilisation"]);
}

#[test]
fn what_is_no_contender_or_no_trace_is_said_in_a_line() {
    let place = place();
    let refused = |arguments: &[&str], why: &str| {
        let output = bentpipe(place.path(), &[&["bench", "traces"], arguments].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(why), "{said}");
    };
    refused(&["x_uplink.csv", "--contender", "cubik"], "no congestion control is called `cubik`");
    refused(&["none.csv"], "none.csv: No such file");
    fs::create_dir(place.path().join("empty")).unwrap();
    refused(&["empty"], "empty: there is no trace in it");
    fs::write(place.path().join("delays.csv"), "time,delay\n0s,10ms\n").unwrap();
    refused(&["delays.csv"], "delays.csv: it says no rate");
}

//! `bentpipe trace` as a user runs it.

use std::process::{Command, Output};

fn trace(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.arg("trace").args(arguments).output().unwrap()
}

/// What it complains of, in one line.
fn complaint(arguments: &[&str]) -> String {
    let output = trace(arguments);
    assert!(!output.status.success(), "{arguments:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn a_shell_and_a_path_over_it_are_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shell.tle");
    let file = file.to_str().unwrap();
    let shell = ["shell", "--planes", "12", "--satellites", "12", "--altitude", "1200"];
    let sets = trace(&shell);
    assert!(sets.status.success());
    assert_eq!(sets.stdout.iter().filter(|byte| **byte == b'\n').count(), 1 + 3 * 144);
    std::fs::write(file, sets.stdout).unwrap();

    let ends = ["path", file, "--from", "48.86N 2.35E", "--to", "40.71N 74.01W"];
    let more = ["--crosslinks", "grid", "--min-elevation", "10", "--duration", "2s"];
    let path = trace(&[&ends[..], &more].concat());
    assert!(path.status.success(), "{}", String::from_utf8_lossy(&path.stderr));
    let text = String::from_utf8(path.stdout).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("time_s,delay_ms,loss"));
    for line in lines {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        // The great circle takes 19.5 ms.
        assert!((20.0..60.0).contains(&cells[1]) && cells[2] == 0.0, "{line}");
    }
    assert_eq!(text.lines().count(), 1 + 21);

    assert!(complaint(&ends).contains("no way leads"));
    let bent = ["path", file, "--from", "48.86N", "--to", "40.71N 74.01W"];
    assert!(complaint(&bent).contains("`48.86N` is no position"));
    assert!(complaint(&["path", "no.tle", "--from", "0N 0E", "--to", "0N 0E"]).contains("no.tle"));
    assert!(complaint(&["shell", "--planes", "0", "--satellites", "3"]).contains("--planes"));
}

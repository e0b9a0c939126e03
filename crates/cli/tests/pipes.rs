//! Commands in pipes: a reader that leaves early, and standard input as a file.

use crate::plot::{captures, run, succeeds};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs a command whose standard output nobody reads.
fn unread(folder: &Path, arguments: &[&str]) -> Output {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.current_dir(folder).args(arguments).stdout(writer).stderr(Stdio::piped());
    command.spawn().unwrap().wait_with_output().unwrap()
}

#[test]
fn a_reader_that_leaves_ends_a_command_quietly() {
    let folder = captures();
    let at = folder.path();
    for line in [
        "plot server.pcapng",
        "plot --list --json server.pcapng",
        "plot --explain server.pcapng",
        "plot --explain --json server.pcapng",
        "plot --csv server.pcapng",
        "plot server.pcapng -o - --format svg",
        "plot server.pcapng -o - --format html",
        "plot server.pcapng -o x.csv",
        "plot results/x",
        "sim --list",
        "sim check geo-download",
        "sim x.toml --output again",
        "presets",
        "presets linux --json",
        "papers",
        "trace shell --planes 2 --satellites 3",
        "fuzz --seed 1",
        "--help",
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        let output = unread(at, &arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
        assert!(!said.to_lowercase().contains("pipe (os"), "{line}: {said}");
    }
    // Half of it is read.
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.current_dir(at).args(["plot", "--csv", "server.pcapng"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0; 100]).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn other_errors_are_said_though_nobody_reads() {
    let folder = tempfile::tempdir().unwrap();
    let output = unread(folder.path(), &["plot", "none.pcap"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("none.pcap: No such file"), "{said}");
}

#[test]
fn a_capture_comes_from_standard_input_and_a_graph_goes_to_standard_output() {
    let folder = captures();
    let at = folder.path();
    let piped = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
        command.current_dir(at).args(arguments);
        command.stdin(File::open(at.join("server.pcapng")).unwrap()).output().unwrap()
    };
    let list = piped(&["plot", "--list", "-"]);
    let by_name = succeeds(at, &["plot", "--list", "server.pcapng"]);
    assert_eq!(String::from_utf8_lossy(&list.stdout), by_name);
    for (format, begin) in [
        ("svg", "<svg"),
        ("png", "\u{FFFD}PNG"),
        ("html", "<!"),
        ("csv", "file,"),
        ("xpl", "timeval"),
    ] {
        let arguments = ["plot", "-", "--connection", "1", "-o", "-", "--format", format];
        let output = piped(&arguments);
        assert!(output.status.success(), "{format}: {}", String::from_utf8_lossy(&output.stderr));
        let begins = String::from_utf8_lossy(&output.stdout[..8]).into_owned();
        assert!(begins.starts_with(begin), "{format}: {begins:?}");
    }
    let csv = piped(&["plot", "-", "--csv"]);
    assert!(String::from_utf8_lossy(&csv.stdout).contains("\nstandard input,0,forward,"));
    let refused = |arguments: &[&str]| {
        let output = piped(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.lines().count() == 1, "{said}");
        said
    };
    assert!(refused(&["plot", "-", "-o", "-"]).contains("-o -: say with --format"));
    let several = refused(&["plot", "-", "-o", "-", "--format", "xpl"]);
    assert!(several.contains("2 connections are as many .xpl files"), "{several}");
    let compared = refused(&["plot", "-", "--compare-tshark"]);
    assert!(compared.contains("standard input is none"), "{compared}");
    let text = run(at, &["plot", "x.toml"]);
    assert!(!text.status.success());
    fs::write(at.join("empty"), "").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.args(["plot", "-"]).stdin(File::open(at.join("empty")).unwrap());
    let said = String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert_eq!(said, "bentpipe: standard input: the file is empty\n");
}

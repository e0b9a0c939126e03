//! `bentpipe plot` as users run it, on captures of the simulator.

use std::fs;
use std::path::{Path, PathBuf};
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
[flow.first]
from = "server"
to = "client"
bytes = "300KB"
[flow.second]
from = "client"
to = "server"
bytes = "100KB"
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

/// A folder with server.pcapng and client.pcapng.
fn captures() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.toml"), SCENARIO).unwrap();
    succeeds(folder.path(), &["sim", "x.toml"]);
    let run = folder.path().join("results/x/packets/point-0-run-0");
    for name in ["server.pcapng", "client.pcapng"] {
        fs::copy(run.join(name), folder.path().join(name)).unwrap();
    }
    folder
}

fn installed(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        println!("skipped: {program} is not installed");
    }
    found
}

#[test]
fn connections_are_listed_and_chosen() {
    let folder = captures();
    let list = succeeds(folder.path(), &["plot", "--list", "server.pcapng"]);
    assert_eq!(list.lines().count(), 3, "{list}");
    let json =
        succeeds(folder.path(), &["plot", "--list", "--json", "server.pcapng", "client.pcapng"]);
    let rows: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 4);
    for row in rows {
        let bytes: Vec<u64> =
            row["bytes"].as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect();
        assert!(bytes.iter().any(|&bytes| bytes >= 90_000), "{row}");
        assert_eq!((&row["syn"], &row["rst"]), (&true.into(), &false.into()), "{row}");
    }
    let port = rows[1]["ends"][1].as_str().unwrap().rsplit_once(':').unwrap().1;
    let source = rows[1]["ends"][0].as_str().unwrap().rsplit_once(':').unwrap().1;
    let filter = format!("port {port} and port {source} and host {}", "10.0.0.1");
    let list = succeeds(folder.path(), &["plot", "--filter", &filter, "server.pcapng"]);
    assert!(list.lines().count() >= 2, "{list}");
}

#[test]
fn what_cannot_be_drawn_is_said_in_a_line() {
    let folder = captures();
    let at = folder.path();
    fs::write(at.join("text.pcap"), "no capture at all, but long enough for a header").unwrap();
    assert!(fails(at, &["plot", "text.pcap"]).contains("text.pcap: neither pcap nor pcapng"));
    assert!(fails(at, &["plot", "none.pcap"]).contains("No such file"));
    let many = fails(at, &["plot", "server.pcapng", "-o", "x.svg"]);
    assert!(many.contains("2 connections") && many.contains("--filter 'host "), "{many}");
    let missing = fails(at, &["plot", "server.pcapng", "--connection", "7"]);
    assert!(missing.contains("its connections are 0 to 1"), "{missing}");
    assert!(fails(at, &["plot", "server.pcapng", "-o", "x.gif"]).contains(".html, .svg"));
    assert!(
        fails(at, &["plot", "server.pcapng", "--filter", "prot 3"]).contains("--filter: `prot`")
    );
}

#[test]
fn still_figures_have_the_panels_and_the_marks() {
    let folder = captures();
    let at = folder.path();
    for name in ["x.svg", "x.png", "x.xpl"] {
        succeeds(at, &["plot", "server.pcapng", "--connection", "0", "-o", name]);
    }
    let svg = fs::read_to_string(at.join("x.svg")).unwrap();
    for class in ["sequence", "outstanding", "throughput", "round-trip", "retransmitted", "legend"]
    {
        assert!(svg.contains(&format!("class=\"{class}\"")), "{class}");
    }
    assert!(svg.contains(">R</text>") && svg.contains("sequence (kB)"));
    assert!(fs::read(at.join("x.png")).unwrap().starts_with(b"\x89PNG"));
    let xpl = fs::read_to_string(at.join("x.xpl")).unwrap();
    assert!(xpl.starts_with("timeval double\n") && xpl.ends_with("go\n") && xpl.contains("\nR\n"));
}

#[test]
fn marks_agree_with_tshark() {
    if !installed("tshark") {
        return;
    }
    let folder = captures();
    for file in ["server.pcapng", "client.pcapng"] {
        let said = succeeds(folder.path(), &["plot", "--compare-tshark", file]);
        assert!(said.starts_with("0 of "), "{said}");
    }
}

#[test]
fn the_page_draws_without_an_error() {
    if !installed("chromium-headless-shell") {
        return;
    }
    let folder = captures();
    let at = folder.path();
    succeeds(at, &["plot", "server.pcapng", "client.pcapng", "-o", "x.html"]);
    let page: PathBuf = at.join("x.html");
    let mut command = Command::new("chromium-headless-shell");
    command.args(["--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom"]);
    command.arg(format!("--user-data-dir={}", at.join("browser").display()));
    let output = command.arg(format!("file://{}", page.display())).output().unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    // The last statement of the script sets it.
    assert!(dom.contains("data-ready=\"yes\""), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(dom.contains("Side by side") && dom.contains("<canvas"));
}

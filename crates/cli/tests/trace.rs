//! `bentpipe trace` as a user runs it.

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

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

/// Ends what it has started.
struct Listening(std::process::Child);

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_is_recorded_replays_and_is_shown() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.args(["trace", "record", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped());
    let mut listening = Listening(command.spawn().unwrap());
    let mut said = String::new();
    let stdout = listening.0.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut said).unwrap();
    let address = said.trim().rsplit(' ').next().unwrap();
    for one_way in [&[][..], &["--one-way"]] {
        let options = ["record", address, "--for", "400ms", "--every", "10ms", "--step", "100ms"];
        let recorded = trace(&[&options[..], one_way].concat());
        assert!(recorded.status.success(), "{}", String::from_utf8_lossy(&recorded.stderr));
        let text = String::from_utf8(recorded.stdout).unwrap();
        assert!(text.starts_with("# 40 probes of 64 bytes"), "{text}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("here, and there.csv");
        std::fs::write(&file, &text).unwrap();
        let shown = trace(&["show", "--json", file.to_str().unwrap()]);
        assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
        let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
        let duration = shown["duration_s"].as_f64().unwrap();
        assert!((duration - 0.3).abs() < 1e-9, "{shown}");
        assert_eq!(shown["delay_ms"]["steps"], 4, "{shown}");
        assert!(shown["delay_ms"]["min"].as_f64() < Some(1000.0), "{shown}");
        let shown = String::from_utf8(trace(&["show", file.to_str().unwrap()]).stdout).unwrap();
        assert!(shown.contains("delay: ") && shown.contains("loss: "), "{shown}");
    }
    // What is no probe has no answer: not even a reply.
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(address).unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_millis(500))).unwrap();
    let mut probe = [0; 64];
    probe[..5].copy_from_slice(b"BpTr\x02");
    for packet in [&probe[..], &[0; 64], &probe[..63], &[]] {
        socket.send(packet).unwrap();
    }
    assert!(socket.recv(&mut [0; 100]).is_err());
    probe[4] = 1;
    socket.send(&probe).unwrap();
    assert_eq!(socket.recv(&mut [0; 100]).unwrap(), probe.len());

    drop(listening);
    let nobody = ["record", address, "--for", "20ms"];
    assert!(complaint(&nobody).contains("nobody answers"));
    assert!(complaint(&["show", "no.csv"]).contains("no.csv"));
}

/// A file with this text, and its name.
fn file(folder: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// What goes to standard output and what to standard error.
fn both(arguments: &[&str]) -> (String, String) {
    let output = trace(arguments);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (out, said) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{said}");
    (out, said)
}

#[test]
fn other_peoples_tables_are_shown_and_converted() {
    let folder = tempfile::tempdir().unwrap();
    let table = file(
        &folder,
        "drive.csv",
        "\u{feff}t;capacity;ping;satellite\n5,0;8;40;a\n5,5;16;41;b\n145;16;41;b\n",
    );
    let convert = ["convert", "csv", &table, "--time", "t=s", "--rate", "capacity=Mbit/s"];
    let (trace_, said) = both(&[&convert[..], &["--rtt", "ping=ms"]].concat());
    assert_eq!(trace_, "time_s,rate_Mbit/s,delay_ms\n0,8,20\n0.5,16,20.5\n");
    assert!(said.contains("drive.csv: capacity, ping, t taken, left out: satellite\n"), "{said}");
    assert!(said.contains("drive.csv: it begins at 5.0 (line 2)"), "{said}");
    let (stepped, _) =
        both(&[&convert[..5], &["--rate", "capacity=Mbit/s", "--step", "20ms"]].concat());
    assert_eq!(stepped, "time_s,rate_Mbit/s\n0,8\n0.02,16\n");

    let named = file(&folder, "x.csv", "time_ms,owd_ms,x\n5,1,0\n145,2,0\n285,2,0\n");
    let (shown, said) = both(&["show", &named]);
    assert!(shown.starts_with(&format!("{named}: 0.28 s\n")), "{shown}");
    assert!(said.contains(": time_ms, owd_ms taken, left out: x\n"), "{said}");
}

#[test]
fn a_converted_trace_is_said_to_begin_again_only_with_a_period() {
    let folder = tempfile::tempdir().unwrap();
    let moments = file(&folder, "up.trace", "1\n1\n3\n");
    let (trace_, said) = both(&["convert", "mahimahi", &moments]);
    assert_eq!(trace_, "time_s,rate_Mbit/s\n0,24\n0.001,0\n0.002,12\n");
    assert!(said.contains("begins again after 3ms with `trace-period=3ms`"), "{said}");
}

#[test]
fn errors_name_the_file_once_with_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let loss = file(&folder, "loss.csv", "time_s,loss\n0,0\n1,1.5\n");
    let said = complaint(&["show", &loss]);
    assert_eq!(said.matches("loss.csv").count(), 1, "{said}");
    assert!(
        said.contains("loss.csv, line 3: loss: `1.5` is out of range (expected 0 to 1"),
        "{said}"
    );
    let bytes = folder.path().join("x.bin");
    std::fs::write(&bytes, b"PK\x03\x04").unwrap();
    assert!(complaint(&["show", bytes.to_str().unwrap()]).contains("save it as CSV"));
}

#[test]
fn a_trace_is_verified_against_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let rates: String = (1..=500).map(|at| format!("{}\n", at * 2)).collect();
    let delays: String = (0..100).map(|at| format!("{}\n", 20 + at % 7)).collect();
    let (rates, delays) = (file(&folder, "bw.txt", &rates), file(&folder, "delay.txt", &delays));
    let (text, _) = both(&["verify", &rates, &delays, "--json"]);
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    // A packet in 2 ms for a second.
    assert_eq!((&report["bytes"], &report["windows"]), (&750_000.0.into(), &10.into()), "{text}");
    for replay in ["link", "simulator"] {
        assert_eq!(report[replay]["bytes"], 750_000.0, "{text}");
        assert_eq!(report[replay]["within_one_packet"], 1.0, "{text}");
    }
    assert_eq!(report["delay"]["error_max_s"], 0.0, "{text}");
    let (windows, _) = both(&["verify", &rates, "--csv", "--for", "300ms"]);
    assert_eq!(windows.lines().count(), 1 + 3);
    assert!(windows.ends_with("\n0.2,75000,75000,75000\n"), "{windows}");
    // 1500 bytes do not end with these windows.
    let odd = file(&folder, "odd.csv", "time_ms,rate_kbps\n0,100\n1000,100\n");
    let strict = trace(&["verify", &odd, "--tolerance", "0"]);
    assert_eq!(strict.status.code(), Some(1));
    assert!(String::from_utf8(strict.stdout).unwrap().contains("does not hold within 0 bytes"));
    assert!(both(&["verify", &odd]).0.contains("\nholds within 1500 bytes a window"));
}

#[test]
fn a_position_may_have_a_sign() {
    let ends = ["path", "no.tle", "--from", "-33.9N 151.2E", "--to", "-33.4S 289.3E"];
    assert!(complaint(&ends).contains("`-33.4S 289.3E` is no position"));
    let ends = ["path", "no.tle", "--from", "-33.9N 151.2E", "--to", "40.7N -74.0E"];
    assert!(complaint(&ends).contains("no.tle: No such file"));
}

#[test]
fn a_distribution_of_netem_is_a_links_delay_and_jitter() {
    let folder = tempfile::tempdir().unwrap();
    let table = file(&folder, "x.dist", "# two\n-8192 8192\n-8192 8192\n");
    let convert = ["convert", "netem", &table, "--delay", "40ms", "--jitter", "10ms"];
    let (link, _) = both(&convert);
    let jitter = "jitter = { measured = [[\"0ms\", 0.5], [\"20ms\", 1]] }\n";
    assert!(link.ends_with(&format!("\ndelay = \"30ms\"\n{jitter}")), "{link}");
}

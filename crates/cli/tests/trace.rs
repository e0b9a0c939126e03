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

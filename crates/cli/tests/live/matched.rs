//! `bentpipe plot --match` on captures of both ends of a lossy link.
//!
//! A Linux sender hands its card super-segments, and the link has counted what it lost.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use bentpipe_linux::netns::Namespace;
use bentpipe_linux::netns::process::Process;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::graphs::transfer;
use crate::probe::Emulated;
use crate::stage::BENTPIPE;
use crate::toolbox::{PATIENCE, await_said, wait_until};

pub(crate) const CASES: &[(&str, fn())] =
    &[("what_a_link_loses_is_missing_between_captures_of_its_ends", losses)];

fn losses() {
    let mut emulated = Emulated::new();
    let down = "rate=8Mbit/s,loss=1%";
    emulated.link(&["--both", "delay=15ms,queue=1000packets", "--down", down, "--up", "loss=0.5%"]);
    let folder = tempfile::tempdir().expect("a folder");
    let files = ["sender.pcap", "receiver.pcap"].map(|name| folder.path().join(name));
    let places = [&emulated.testbed.h1, &emulated.testbed.h2];
    let mut dumps: Vec<Process> =
        places.iter().zip(&files).map(|(place, file)| dump(place, file)).collect();
    transfer(&emulated.testbed);
    for file in &files {
        settle(file);
    }
    for dump in &mut dumps {
        dump.signal(Signal::SIGTERM);
        dump.wait(PATIENCE).expect("it ends");
    }
    let summary = emulated.end();
    let [sender, receiver] = files.map(|file| file.display().to_string());
    let arguments = ["plot", &sender, &receiver, "--match", "--json"];
    let output = Command::new(BENTPIPE).args(arguments).output().expect("start");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let hop = &told["connections"][0]["hops"][0];
    assert_eq!(hop["compared_by"], "packets", "{told}");
    for (number, upstream) in ["sender.pcap", "receiver.pcap"].into_iter().enumerate() {
        let ways = hop["directions"].as_array().expect("two");
        let way = ways.iter().find(|way| way["upstream"] == upstream).expect("a direction");
        let count = |value: &Value| value["packets"].as_u64().expect("a number");
        let link = &summary["directions"][number];
        let lost = count(&link["lost"]) + count(&link["dropped"]);
        let last = way["outside_downstream_packets"].as_u64().expect("a number");
        assert!(number == 1 || lost > 0, "{summary}");
        assert_eq!(count(&way["lost"]) + last, lost, "{way}");
    }
}

/// tcpdump there, which captures by now.
fn dump(place: &Namespace, file: &Path) -> Process {
    let file = file.display().to_string();
    let mut dump = place.command("tcpdump");
    dump.args(["--immediate-mode", "-U", "-s", "120", "-i", "any", "-w", &file, "tcp"]);
    let dump = Process::start("tcpdump", &mut dump).expect("tcpdump");
    await_said(&dump, "listening on", 1);
    dump
}

/// Waits until a file is as it was a moment ago.
fn settle(file: &Path) {
    let mut before = 0;
    wait_until("the capture is written", || {
        thread::sleep(Duration::from_millis(500));
        let now = std::fs::metadata(file).map_or(0, |data| data.len());
        let is_still = now == before && now > 0;
        before = now;
        if is_still { Ok(()) } else { Err(format!("{now} bytes, and growing")) }
    });
}

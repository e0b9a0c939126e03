//! `bentpipe link --record`: tshark reads the file, which has what the link says of itself.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::probe::Emulated;

pub(crate) const CASES: &[(&str, fn())] = &[("link_is_recorded", recorded)];

/// How many packets with which of these comments are at which interface, as tshark reads it.
fn read(path: &Path) -> BTreeMap<(String, &'static str), u64> {
    let output = Command::new("tshark")
        .arg("-r")
        .arg(path)
        .args(["-Y", "udp", "-T", "fields", "-e", "frame.interface_name", "-e", "frame.comment"])
        .output()
        .expect("tshark");
    assert!(output.status.success(), "{output:?}");
    let mut counts = BTreeMap::new();
    for line in String::from_utf8(output.stdout).expect("text").lines() {
        let (interface, comment) = line.split_once('\t').unwrap_or((line, ""));
        let kinds =
            ["dropped by the queue", "lost on the line", "queue: ", "damaged", "a duplicate"];
        let kind = kinds.into_iter().find(|kind| comment.starts_with(kind)).unwrap_or("");
        *counts.entry((interface.to_owned(), kind)).or_default() += 1;
    }
    counts
}

fn recorded() {
    let mut emulated = Emulated::new();
    let path = emulated.testbed.files().join("link.pcapng");
    let file = path.display().to_string();
    for queue in ["20packets", "codel:target=5ms,interval=20ms,limit=60packets"] {
        let down = format!("rate=2Mbit/s,delay=20ms,queue={queue},loss=10%,corrupt=10%");
        emulated.link(&["--record", &file, "--both", "delay=1ms", "--down", &down]);
        // Thrice what the line carries.
        emulated.send(true, 600, 1222, Duration::from_micros(1666));
        let summary = emulated.end();
        let counts = read(&path);
        println!("{queue}: {counts:?}");
        let told = |key: &str| summary["directions"][0][key]["packets"].as_u64().expect("a count");
        let (damaged, lost) = (told("damaged"), told("lost"));
        let at = |interface: &str, kind: &'static str| {
            counts.get(&(interface.to_owned(), kind)).copied().unwrap_or(0)
        };
        let dropped = at("ground1", "dropped by the queue") + at("lost", "dropped by the queue");
        // The kernel has packets of its own now and then, which are no UDP.
        let near = |found: u64, told: u64| found <= told && found + 5 > told;
        let offered = at("ground1", "queue: ") + at("ground1", "dropped by the queue");
        assert_eq!(offered, 600, "{counts:?}");
        assert!(near(dropped, told("dropped")) && dropped > 50, "{counts:?} {summary}");
        assert!(near(at("lost", "lost on the line"), lost - damaged), "{counts:?} {summary}");
        assert!(near(at("ground2", "damaged"), damaged) && damaged > 5, "{counts:?} {summary}");
        let arrived = at("ground2", "") + at("ground2", "damaged");
        assert_eq!(arrived + dropped + at("lost", "lost on the line"), 600, "{counts:?}");
        // Headers alone: IPv4 and UDP.
        let length = std::fs::metadata(&path).expect("the file").len();
        assert!(length < 1300 * 200, "{length} bytes");
    }
}

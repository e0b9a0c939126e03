//! A link of a scenario's file, and what the simulator says of the same file: of what is lost, as
//! much.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::probe::{Arrival, Emulated};
use crate::stage::BENTPIPE;

pub(crate) const CASES: &[(&str, fn())] =
    &[("link_and_simulator_agree_about_what_is_lost", losses)];

/// A packet's payload, and its headers of IPv4 and UDP.
pub(crate) const PAYLOAD: usize = 1222;
const HEADERS: usize = 28;

/// A scenario with the link `settings` and one flow of so many such packets in a second, for so
/// long.
pub(crate) fn scenario(settings: &str, packets_per_second: u64, seconds: f64) -> String {
    let packet = PAYLOAD + HEADERS;
    let rate = packets_per_second * packet as u64 * 8;
    format!(
        "[run]\nduration = \"{seconds}s\"\n[host.a]\n[host.b]\n[link.sat]\nbetween = [\"a\", \"b\"]\n{settings}\n\
         [flow.probe]\nworkload = \"udp\"\nfrom = \"a\"\nto = \"b\"\nrate = \"{rate}bit/s\"\npacket = \"{packet}B\"\n"
    )
}

/// What the simulator says of the way from a to b: a column of `links.csv`.
pub(crate) fn simulated(folder: &Path, file: &Path, column: &str) -> f64 {
    simulated_from("a", folder, file, column)
}

/// What it says of the way from `end` on.
pub(crate) fn simulated_from(end: &str, folder: &Path, file: &Path, column: &str) -> f64 {
    let out = tempfile::tempdir_in(folder).expect("a folder");
    let output = Command::new(BENTPIPE)
        .args(["sim", "--no-figures", "--output", &out.path().display().to_string()])
        .arg(file)
        .output()
        .expect("bentpipe");
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(out.path().join("links.csv")).expect("links.csv");
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let place = |head: &str, name: &str| head.split(',').position(|cell| cell == name);
    let head = lines.next().expect("a head");
    let (from, value) = (place(head, "from"), place(head, column));
    let cell = |line: &str, at: Option<usize>| {
        line.split(',').nth(at.expect("a column")).unwrap_or_default().to_owned()
    };
    let row = lines.find(|line| cell(line, from) == end).expect("a row");
    cell(row, value).parse().unwrap_or_else(|_| panic!("{column}: {row}"))
}

/// A link of this file, as its first link says.
pub(crate) fn begin(emulated: &mut Emulated, text: &str) -> PathBuf {
    let path = emulated.testbed.files().join("exact.toml");
    std::fs::write(&path, text).expect("scenario");
    emulated.link(&["--scenario", &path.display().to_string()]);
    path
}

/// How many different packets have arrived, how many twice, and how many after a later one.
fn counts(arrivals: &[Arrival]) -> (usize, usize, usize) {
    let different: BTreeSet<u32> = arrivals.iter().map(|arrival| arrival.number).collect();
    let mut max = 0;
    let overtaken = arrivals.iter().filter(|arrival| {
        max = max.max(arrival.number);
        arrival.number < max
    });
    let overtaken = overtaken.count();
    (different.len(), arrivals.len() - different.len(), overtaken)
}

fn losses() {
    const PACKETS: u32 = 2000;
    let mut emulated = Emulated::new();
    for (setting, share) in [
        ("loss = \"5%\"", 0.05),
        ("corrupt = \"5%\"", 0.05),
        ("duplicate = \"5%\"", 0.05),
        ("reorder = \"5%\"\nreorder-by = \"50ms\"", 0.05),
        ("bit-errors = \"1e-5\"", 1.0 - (1.0 - 1e-5_f64).powi(8 * 1250)),
    ] {
        let settings = format!("delay = \"5ms\"\n{setting}");
        let path = begin(&mut emulated, &scenario(&settings, 1000, 2.0));
        let arrivals = emulated.send(true, PACKETS, PAYLOAD, Duration::from_millis(1));
        emulated.end();
        let (different, twice, overtaken) = counts(&arrivals);
        let lost = PACKETS as usize - different;
        let column = if setting.starts_with("duplicate") || setting.starts_with("reorder") {
            None
        } else {
            Some("lost_packets")
        };
        let found = match setting {
            _ if setting.starts_with("duplicate") => twice,
            _ if setting.starts_with("reorder") => overtaken,
            _ => lost,
        };
        // Four standard deviations.
        let expected = f64::from(PACKETS) * share;
        let interval = 4.0 * (expected * (1.0 - share)).sqrt();
        println!("{setting}: {found} of {PACKETS}, {expected:.0} ± {interval:.0} expected");
        assert!((found as f64 - expected).abs() <= interval, "{setting}: {found}");
        assert!(column.is_some() || lost == 0, "{setting}: {lost} lost");
        if let Some(column) = column {
            let offered = simulated(emulated.testbed.files(), &path, "offered_packets");
            let simulated = simulated(emulated.testbed.files(), &path, column);
            println!("the simulator: {simulated} of {offered}");
            let apart = found as f64 / f64::from(PACKETS) - simulated / offered;
            assert!(apart.abs() < 0.02, "{setting}: {found} live, {simulated} simulated");
        }
    }
}

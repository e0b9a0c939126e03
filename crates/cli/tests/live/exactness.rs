//! What `bentpipe link` promises, measured from outside with plain sockets, and the simulator's figure for the same file
//! beside it. What the machine itself is late by is the emulator's own figure, and is allowed for.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::emulated::{Arrival, Emulated, in_some_try, rate_error};
use crate::stage::BENTPIPE;

pub(crate) const CASES: &[(&str, fn())] = &[
    ("link_and_simulator_agree_about_rate_and_delay", rate_and_delay),
    ("link_and_simulator_agree_about_what_is_lost", losses),
    ("link_and_simulator_agree_about_a_trace", trace),
    ("link_and_simulator_agree_about_a_shared_medium", medium),
];

/// A packet's payload, and its headers of IPv4 and UDP.
const PAYLOAD: usize = 1222;
const HEADERS: usize = 28;

/// A scenario with the link `settings` and one flow of so many such packets in a second, for so long.
fn scenario(settings: &str, packets_per_second: u64, seconds: f64) -> String {
    let packet = PAYLOAD + HEADERS;
    let rate = packets_per_second * packet as u64 * 8;
    format!(
        "[run]\nduration = \"{seconds}s\"\n[host.a]\n[host.b]\n[link.sat]\nbetween = [\"a\", \"b\"]\n{settings}\n\
         [flow.probe]\nworkload = \"udp\"\nfrom = \"a\"\nto = \"b\"\nrate = \"{rate}bit/s\"\npacket = \"{packet}B\"\n"
    )
}

/// What the simulator says of the way from a to b: a column of `links.csv`.
fn simulated(folder: &Path, file: &Path, column: &str) -> f64 {
    simulated_from("a", folder, file, column)
}

/// What it says of the way from `end` on.
fn simulated_from(end: &str, folder: &Path, file: &Path, column: &str) -> f64 {
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

fn late(summary: &Value) -> f64 {
    summary["release_error_p99_us"].as_f64().expect("a figure") / 1e6
}

/// A link of this file, as its first link says.
fn begin(emulated: &mut Emulated, text: &str) -> std::path::PathBuf {
    let path = emulated.testbed.files().join("exact.toml");
    std::fs::write(&path, text).expect("scenario");
    emulated.link(&["--scenario", &path.display().to_string()]);
    path
}

fn rate_and_delay() {
    let mut emulated = Emulated::new();
    in_some_try("rate and delay", || {
        // Twice what the line carries.
        let settings = "rate = \"4Mbit/s\"\ndelay = \"30ms\"\nqueue = \"unlimited\"";
        let path = begin(&mut emulated, &scenario(settings, 800, 10.0));
        let arrivals = emulated.send(true, 400, PAYLOAD, Duration::ZERO);
        let alone = emulated.send(true, 50, 100, Duration::from_millis(10));
        let summary = emulated.end();
        assert_eq!((arrivals.len(), alone.len()), (400, 50));
        let error = rate_error(&arrivals, PAYLOAD, 4e6);
        let least = alone.iter().map(|arrival| arrival.took).min().expect("arrivals");
        let over = least.as_secs_f64() - 0.030 - 128.0 * 8.0 / 4e6;
        let simulated = simulated(emulated.testbed.files(), &path, "throughput_bps");
        // `error` is of the time that a packet takes.
        let ratio = 4e6 / (1.0 + error) / simulated;
        println!(
            "rate off by {:.3} %, {ratio:.4} of the simulator's; delay {:.0} us more, late by {:.0} us",
            error * 100.0,
            over * 1e6,
            late(&summary) * 1e6
        );
        assert!(over > -1e-6, "too early by {over} s");
        let good =
            error.abs() < 0.005 && (ratio - 1.0).abs() < 0.02 && over < 0.0002 + late(&summary);
        if good { Ok(()) } else { Err(format!("rate {error}, {ratio}; delay {over}; {summary}")) }
    });
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

/// Bytes in each 100 ms of a trace whose rate changes so often.
fn trace() {
    let mut emulated = Emulated::new();
    let files = emulated.testbed.files().to_owned();
    std::fs::write(
        files.join("steps.csv"),
        "time,rate\n0ms,8Mbit/s\n100ms,16Mbit/s\n200ms,4Mbit/s\n300ms,12Mbit/s\n",
    )
    .expect("trace");
    in_some_try("bytes of 100 ms", || {
        let settings = "trace = \"steps.csv\"\ntrace-period = \"400ms\"\nqueue = \"unlimited\"";
        let path = begin(&mut emulated, &scenario(settings, 2000, 4.0));
        let arrivals = emulated.send(true, 2400, PAYLOAD, Duration::ZERO);
        let summary = emulated.end();
        // Which 100 ms the first arrival is in is not known from outside: the arrangement that fits best is taken.
        let bytes_at = |moment: f64| {
            let passed = |a: &&Arrival| (a.at - arrivals[0].at).as_secs_f64() <= moment;
            arrivals.iter().filter(passed).count() as f64 * 1250.0
        };
        let rates = [8e6, 16e6, 4e6, 12e6];
        let worst = |phase: f64| {
            let windows = (1..16).map(|number| {
                let begin = f64::from(number) * 0.1 - phase % 0.1;
                let found = bytes_at(begin + 0.1) - bytes_at(begin);
                let step = ((phase + begin) / 0.1).round() as usize % 4;
                let expected = rates[step] / 8.0 * 0.1;
                // A packet more or less is in a window whose borders cut packets.
                ((found - expected).abs() - 1250.0).max(0.0) / expected
            });
            let mut errors: Vec<f64> = windows.collect();
            errors.sort_by(f64::total_cmp);
            // One window in eight may have had a halt of the machine at its border.
            errors[errors.len() - 1 - errors.len() / 8]
        };
        let best = (0..400).map(|millis| worst(f64::from(millis) / 1e3)).fold(1.0, f64::min);
        // All of the trace.
        let measured = bytes_at(1.6 + 0.4) - bytes_at(0.4);
        let simulated = simulated(&files, &path, "throughput_bps") / 8.0 * 1.6;
        let ratio = measured / simulated;
        println!("100 ms are off by {:.2} %; {ratio:.4} of the simulator's bytes", best * 100.0);
        match best < 0.01 && (ratio - 1.0).abs() < 0.02 {
            true => Ok(()),
            false => Err(format!("off by {best}, {ratio} of the simulator's: {summary}")),
        }
    });
}

/// A half-duplex link that both ends fill.
fn medium() {
    let mut emulated = Emulated::new();
    in_some_try("both directions together", || {
        let settings =
            "rate = \"4Mbit/s\"\ndelay = \"5ms\"\nmedium = \"wire\"\nqueue = \"unlimited\"";
        let back = "[flow.back]\nworkload = \"udp\"\nfrom = \"b\"\nto = \"a\"\nrate = \"8Mbit/s\"\n\
                    packet = \"1250B\"\n";
        let path = begin(&mut emulated, &(scenario(settings, 800, 10.0) + back));
        let ways = thread::scope(|scope| {
            let emulated = &emulated;
            [true, false]
                .map(|down| scope.spawn(move || emulated.send(down, 500, PAYLOAD, Duration::ZERO)))
                .map(|sending| sending.join().expect("arrivals"))
        });
        let summary = emulated.end();
        // While both have something to send.
        let begin = ways.iter().map(|arrivals| arrivals[0].at).max().expect("ways");
        let end = ways.iter().map(|arrivals| arrivals[arrivals.len() - 1].at).min().expect("ways");
        let within = |arrival: &&Arrival| arrival.at > begin && arrival.at <= end;
        let packets = ways.iter().flatten().filter(within).count();
        let carried = packets as f64 * 1e4 / (end - begin).as_secs_f64();
        let of = |end| simulated_from(end, emulated.testbed.files(), &path, "throughput_bps");
        let simulated = of("a") + of("b");
        println!("{carried:.0} bit/s in both directions together, the simulator: {simulated:.0}");
        match (carried / simulated - 1.0).abs() < 0.02 {
            true => Ok(()),
            false => Err(format!("{carried} bit/s, simulated {simulated}: {summary}")),
        }
    });
}

//! `bentpipe link` with queues that keep delays short, and with an orbit: what a ping sees beside a
//! flood, and how the delay moves. What the machine itself is late by is the emulator's own figure,
//! and is allowed for.

use std::thread;
use std::time::{Duration, Instant};

use bentpipe_core::time;
use bentpipe_scenario::{Experiment, LinkIndex};
use bentpipe_testbed::five_hosts::Testbed;
use serde_json::Value;

use super::in_some_try;
use crate::probe::Emulated;

pub(crate) const CASES: &[(&str, fn())] = &[
    ("emulated_queues_keep_the_delay_of_others_short", disciplines),
    ("emulated_orbit_is_the_simulators", orbit),
];

/// How late the emulator has been, at most, in milliseconds.
fn lateness(summary: &Value) -> f64 {
    summary["release_error_max_us"].as_f64().expect("a figure") / 1e3
}

/// A flood of 4 Mbit/s down a line of 2 Mbit/s for 3 s. What pings beside it take, in milliseconds,
/// from the earliest to the latest, and the link's summary.
fn beside_a_flood(queue: &str) -> (Vec<f64>, Value) {
    let mut emulated = Emulated::on_time();
    emulated.link(&[
        "--down",
        &format!("rate=2Mbit/s,delay=5ms,queue={queue}"),
        "--up",
        "delay=5ms",
    ]);
    let address = Testbed::H2_V4.to_string();
    let said = thread::scope(|scope| {
        let pings = scope.spawn(|| {
            // When the queue stands.
            thread::sleep(Duration::from_millis(1000));
            let ping = ["-n", "-i", "0.06", "-c", "25", "-W", "10", &address];
            emulated.testbed.h1.command("ping").args(ping).output().expect("ping")
        });
        emulated.send(true, 1200, 1222, Duration::from_micros(2500));
        pings.join().expect("pings")
    });
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let times =
        said.lines().filter_map(|line| line.split_once("time=")?.1.split(' ').next()?.parse().ok());
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    // A queue that drops half of all has dropped half of these.
    assert!(!times.is_empty(), "{queue}: {said}");
    (times, emulated.end())
}

fn disciplines() {
    let (times, summary) = beside_a_flood("unlimited");
    println!("unlimited: {times:.1?} ms");
    assert!(times[0] > 400.0, "the flood fills the line: {times:?} {summary}");
    for (queue, most) in [("fq-codel:target=5ms,interval=100ms", 30.0), ("pie:target=15ms", 400.0)]
    {
        in_some_try(queue, || {
            let (times, summary) = beside_a_flood(queue);
            let (median, late) = (times[times.len() / 2], lateness(&summary));
            println!("{queue}: {times:.1?} ms, late by {late} ms at most");
            let dropped = summary["directions"][0]["dropped"]["packets"].as_u64();
            match median < most + 2.0 * late && dropped > Some(50) {
                true => Ok(()),
                false => Err(format!("{median} ms, {dropped:?} dropped: {summary}")),
            }
        });
    }
}

/// Satellites that pass overhead: the delay moves as the same file says in the simulator.
fn orbit() {
    const TEXT: &str = "[run]\nduration = \"3600s\"\n[router.a]\nposition = \"50.1N 8.7E\"\n[router.b]\n\
                        position = \"48.1N 11.6E\"\n[link.sat]\nbetween = [\"a\", \"b\"]\nrate = \"10Mbit/s\"\n\
                        orbit = { kind = \"leo\", altitude = 550, inclination = 53, planes = 72, satellites = 22 }\n";
    let mut emulated = Emulated::on_time();
    let path = emulated.testbed.files().join("orbit.toml");
    std::fs::write(&path, TEXT).expect("scenario");
    let none = |_: &str| Err("no files".to_owned());
    let experiment = Experiment::parse("orbit.toml", TEXT, &none).expect("a scenario");
    let [forward, _] = experiment.point(0).scenario.live_link(LinkIndex(0), 0).configs();
    let path = path.display().to_string();
    emulated.link(&["--scenario", &path, "--link", "sat"]);
    // It began a moment before.
    let begun = Instant::now();
    let arrivals = emulated.send(true, 200, 100, Duration::from_millis(20));
    assert_eq!(arrivals.len(), 200);
    let line = 128.0 * 8.0 / 10e6;
    let mut over: Vec<f64> = arrivals
        .iter()
        .map(|arrival| {
            let sent = arrival.at - arrival.took - begun;
            let delay = forward.link.delay.at(time::Instant::ZERO + sent);
            (arrival.took.as_secs_f64() - delay.as_secs_f64() - line) * 1e3
        })
        .collect();
    over.sort_by(f64::total_cmp);
    let summary = emulated.end();
    let late = summary["release_error_p99_us"].as_f64().expect("a figure") / 1e3;
    println!("{:.3} to {:.3} ms more than the simulator's, late by {late} ms", over[0], over[199]);
    // The delay moves by some microseconds in a second.
    assert!(over[0] > -0.2 && over[20] < 1.0 + late, "{over:?} {summary}");
}

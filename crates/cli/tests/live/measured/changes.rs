//! The rates and delays of a link's directions, as they are set, changed and traced.

use std::time::Duration;

use super::{in_some_try, rate_error};
use crate::links::ask;
use crate::probe::{Arrival, Emulated, serialisation};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("emulated_directions_have_their_own_rates_and_delays", directions),
    ("changed_links_have_their_new_rates_and_delays", changed),
    ("emulated_trace_is_carried_byte_for_byte", trace),
];

fn directions() {
    let mut emulated = Emulated::on_time();
    emulated.link(&[
        "--both",
        "queue=unlimited",
        "--down",
        "rate=4Mbit/s,delay=30ms",
        "--up",
        "rate=1Mbit/s,delay=10ms",
    ]);
    for (down, rate, delay) in [(true, 4e6, 0.030), (false, 1e6, 0.010)] {
        in_some_try("rate", || {
            let arrivals = emulated.send(down, 200, 1222, Duration::ZERO);
            assert_eq!(arrivals.len(), 200);
            let error = rate_error(&arrivals, 1222, rate);
            println!("rate {rate}: off by {:.4} %", error * 100.0);
            if error.abs() < 0.005 { Ok(()) } else { Err(format!("{rate} is off by {error}")) }
        });
        in_some_try("delay", || {
            let arrivals = emulated.send(down, 50, 100, Duration::from_millis(10));
            let least = arrivals.iter().map(|arrival| arrival.took).min().expect("arrivals");
            let over = least.as_secs_f64() - delay - serialisation(100, rate);
            println!("delay {delay} s: {:.0} us more", over * 1e6);
            assert!(over > -1e-6, "too early by {over}");
            if over < 0.002 { Ok(()) } else { Err(format!("{over} s more than {delay}")) }
        });
    }
    emulated.end();
}

fn changed() {
    let mut emulated = Emulated::on_time();
    let name = format!("measured_{}", std::process::id());
    let begun = ["--name", &name, "--rate", "4Mbit/s", "--delay", "30ms", "--queue", "unlimited"];
    emulated.link(&begun);
    ask(&["set", "--link", &name, "delay=10ms", "--down", "rate=1Mbit/s"]).expect("changed");
    for (down, rate) in [(true, 1e6), (false, 4e6)] {
        in_some_try("a changed link", || {
            let arrivals = emulated.send(down, 60, 1222, Duration::ZERO);
            let error = rate_error(&arrivals, 1222, rate);
            let alone = emulated.send(down, 10, 100, Duration::from_millis(20));
            let least = alone.iter().map(|arrival| arrival.took).min().expect("arrivals");
            println!("{rate}: off by {error:.4}, delay {least:?}");
            let millis = least.as_secs_f64() * 1e3;
            match error.abs() < 0.01 && (10.0..14.0).contains(&millis) && arrivals.len() == 60 {
                true => Ok(()),
                false => Err(format!("{rate} is off by {error}, {millis} ms")),
            }
        });
    }
    emulated.end();
}

/// A trace that repeats carries the same bytes in any span of a period, wherever that begins.
fn trace() {
    let mut emulated = Emulated::on_time();
    let path = emulated.testbed.files().join("steps.csv");
    std::fs::write(&path, "time,rate\n0ms,2Mbit/s\n100ms,6Mbit/s\n200ms,0bit/s\n300ms,4Mbit/s\n")
        .expect("trace");
    let settings = format!("trace={},trace-period=400ms,queue=unlimited", path.display());
    emulated.link(&["--down", &settings]);
    in_some_try("bytes of a period", || {
        let arrivals = emulated.send(true, 600, 1222, Duration::ZERO);
        let begin = arrivals[50].at;
        // Three periods: 1.2 Mbit each, which are 120 packets of 1250 bytes.
        let within = |a: &&Arrival| a.at >= begin && a.at < begin + Duration::from_millis(1200);
        let packets = arrivals.iter().filter(within).count();
        println!("{packets} packets in three periods, 360 expected");
        match (356..=364).contains(&packets) {
            true => Ok(()),
            false => Err(format!("{packets} packets instead of 360")),
        }
    });
    emulated.end();
}

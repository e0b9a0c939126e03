//! What `bentpipe link` promises, measured from outside with plain sockets, and the simulator's
//! figure for the same file beside it. What the machine itself is late by is the emulator's own
//! figure, and is allowed for.

use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::{in_some_try, rate_error};
use crate::beside::{PAYLOAD, begin, scenario, simulated, simulated_from};
use crate::probe::{Arrival, Emulated};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("link_and_simulator_agree_about_rate_and_delay", rate_and_delay),
    ("link_and_simulator_agree_about_a_trace", trace),
    ("link_and_simulator_agree_about_a_shared_medium", medium),
];

fn late(summary: &Value) -> f64 {
    summary["release_error_p99_us"].as_f64().expect("a figure") / 1e6
}

fn rate_and_delay() {
    let mut emulated = Emulated::on_time();
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

/// Bytes in each 100 ms of a trace whose rate changes so often.
fn trace() {
    let mut emulated = Emulated::on_time();
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
        // Which 100 ms the first arrival is in is not known from outside: the arrangement that fits
        // best is taken.
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
    let mut emulated = Emulated::on_time();
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

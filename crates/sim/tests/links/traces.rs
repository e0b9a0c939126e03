//! Traces: units in the header, traces that begin anew, mahimahi's.

use super::{DATAGRAMS, with_file};
use crate::support::{link, played};
use bentpipe_core::time::Duration;

#[test]
fn units_may_stand_in_the_header() {
    let trace = |file: &str| {
        let keys = "trace = \"x.csv\"";
        let scenario = with_file("duration = \"10s\"", keys, DATAGRAMS, file);
        let direction = scenario.links[0].forward.clone();
        (direction.rate, direction.delay, direction.loss)
    };
    let plain = trace("time,rate,delay,loss\n0s,8Mbit/s,250ms,1%\n1.5s,4Mbit/s,,\n");
    assert_eq!(trace("time_s,rate_Mbit/s,delay_ms,loss_%\n0,8,250,1\n1.5,4,,\n"), plain);
    assert_eq!(
        trace("time_ms,rate_kbps,delay_s,loss_percent\n0,8000,0.25,1\n1500,4000,,\n"),
        plain
    );
    assert_eq!(
        trace("time_us,rate_bps,delay,loss\n0,8000000,250ms,0.01\n1500000,4000000,,\n"),
        plain
    );
}

#[test]
fn a_trace_begins_anew_after_its_period() {
    // A second of 8 Mbit/s, a second of nothing: half of what comes passes.
    let keys = "trace = \"x.csv\"\ntrace-period = \"2s\"\nqueue = \"1packet\"";
    let file = "time_s,rate_Mbit/s\n0,8\n1,0\n";
    let outcome = played(&with_file("duration = \"100s\"", keys, DATAGRAMS, file));
    let sat = link(&outcome, "sat", "server").counters;
    assert!((49_000..=50_100).contains(&sat.delivered.packets), "{sat:?}");
    let error = std::panic::catch_unwind(|| {
        with_file(
            "duration = \"1s\"",
            "trace = \"x.csv\"\ntrace-period = \"500ms\"",
            DATAGRAMS,
            file,
        )
    });
    assert!(error.is_err(), "a period that ends before its last step");
}

/// Opportunities at 1, 1, 5 and 10 ms: four packets of 1500 bytes in 10 ms, over and over.
#[test]
fn mahimahis_opportunities_are_a_rate() {
    let keys = "trace = \"x\"\nqueue = \"unlimited\"";
    let flow = DATAGRAMS.replace("8Mbit/s", "12Mbit/s") + "\npacket = \"1500B\"";
    let outcome = played(&with_file("duration = \"10s\"", keys, &flow, "1\n1\n5\n10\n"));
    let sat = link(&outcome, "sat", "server").counters;
    // 4.8 Mbit/s of the 12 that come.
    assert!(sat.delivered.packets.abs_diff(4000) <= 2, "{sat:?}");
    let scenario = with_file("duration = \"1s\"", keys, &flow, "1\n1\n5\n10\n");
    let rate = scenario.links[0].forward.rate.clone().unwrap();
    let at = |micros| rate.at(bentpipe_core::time::Instant::ZERO + Duration::from_micros(micros));
    let mbit: Vec<u64> = [500, 1500, 4500, 5500, 9500, 10_500]
        .map(|at_| at(at_).bits_per_sec() / 1_000_000)
        .to_vec();
    assert_eq!(mbit, [24, 0, 12, 0, 12, 24]);
}

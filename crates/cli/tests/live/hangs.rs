//! Gateways that hang more than once, while they are being stopped, or for longer than they look after
//! what they held.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bentpipe_core::units::Rate;
use bentpipe_net::netns::process::Process;
use bentpipe_net::testbed::{Place, Plan, SatelliteLink, Testbed};
use nix::sys::signal::Signal;

use crate::stage::{Ends, FAMILIES, build, gateways_wanted, start_gateways};
use crate::toolbox::{accept, assert_same, content, receive, send};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("uploads_meet_two_hangs", uploads_meet_two_hangs),
    ("uploads_meet_a_hang_in_a_drain", uploads_meet_a_hang_in_a_drain),
];

/// Longer than the watchdog waits.
const HANG: Duration = Duration::from_millis(1200);
/// From the beginning of the uploads to the first signal.
const WARM_UP: Duration = Duration::from_millis(700);
const SIZE: usize = 1_500_000;

/// A second hang meets connections that leave since the first.
fn uploads_meet_two_hangs() {
    let said = uploads(|gateway| {
        for _ in 0..2 {
            gateway.signal(Signal::SIGSTOP);
            thread::sleep(HANG);
            gateway.signal(Signal::SIGCONT);
            thread::sleep(Duration::from_millis(300));
        }
    });
    if let Some(said) = said {
        assert!(said.matches("hung for a while").count() == 2, "{said}");
    }
}

/// Connections that leave because the gateway is being stopped.
fn uploads_meet_a_hang_in_a_drain() {
    uploads(|gateway| {
        gateway.signal(Signal::SIGTERM);
        thread::sleep(Duration::from_millis(200));
        gateway.signal(Signal::SIGSTOP);
        thread::sleep(HANG);
        gateway.signal(Signal::SIGCONT);
    });
}

/// Six uploads over 10 Mbit/s and 200 ms, which all end whole whatever happens to the near gateway. What it
/// said.
fn uploads(happens: impl FnOnce(&mut Process)) -> Option<String> {
    if !gateways_wanted() {
        return None;
    }
    let rate = Rate::from_bits_per_sec(10_000_000);
    let link = SatelliteLink::with_bdp_queue(rate, Duration::from_millis(100));
    let mut testbed: Testbed = build(Plan { link: Some(link), ..Plan::default() });
    start_gateways(&mut testbed);
    let mut gateway = testbed.take_gateway(Place::Near).expect("gateway");
    let testbed = Arc::new(testbed);
    let sent = content(26, SIZE);
    thread::scope(|scope| {
        for family in FAMILIES.repeat(3) {
            let ends = Ends::of(&testbed, family);
            let (listener, address) = ends.listen();
            let client = ends.connect(address);
            let server = accept(&listener);
            let sent = &sent;
            scope.spawn(move || send(&client, sent));
            scope.spawn(move || assert_same("an upload", sent, &receive(&server, SIZE)));
        }
        thread::sleep(WARM_UP);
        happens(&mut gateway);
    });
    Some(gateway.stderr())
}

//! Gateways that hang more than once, or while they are being stopped; and those whose watchdog is
//! dead.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::five_hosts::{GatewayPosition, TestbedConfig};
use nix::sys::signal::{Signal, kill};

use crate::life::{await_unchanged, exchange, state};
use crate::observation::{await_split, watchdog_of};
use crate::stage::{
    FAMILIES, StageEnds, build, fast_link, gateways_wanted, narrow_link, start_gateways,
};
use crate::toolbox::{accept, assert_same, await_said, content, receive, send};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("uploads_meet_two_hangs", uploads_meet_two_hangs),
    ("uploads_meet_a_hang_in_a_drain", uploads_meet_a_hang_in_a_drain),
    ("watchdog_dies_first", watchdog_dies_first),
];

/// Longer than the watchdog waits.
const HANG: Duration = Duration::from_millis(1200);
/// From the beginning of the uploads to the first signal.
const WARM_UP: Duration = Duration::from_millis(700);
const SIZE: usize = 1_500_000;

/// A second hang meets connections that leave since the first.
fn uploads_meet_two_hangs() {
    let said = uploads(|gateway| {
        for hang in 1..=2 {
            gateway.signal(Signal::SIGSTOP);
            await_said(gateway, "does not answer", hang);
            // Packets go by.
            thread::sleep(Duration::from_millis(500));
            gateway.signal(Signal::SIGCONT);
            await_said(gateway, "hung for a while", hang);
        }
    });
    if let Some(said) = said {
        // A busy machine may hold it up once more.
        assert!(said.matches("hung for a while").count() >= 2, "{said}");
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

/// A gateway without its watchdog says so and goes on. It still ends in order; and if it is killed
/// the kernel forwards, and the next one takes over what nobody has cleared away.
fn watchdog_dies_first() {
    if !gateways_wanted() {
        return;
    }
    let mut testbed = build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() });
    let before = state(&testbed.g1);
    start_gateways(&mut testbed);
    let mut gateway = testbed.take_gateway(GatewayPosition::Near).expect("gateway");
    let testbed = Arc::new(testbed);
    let exchanges = || {
        FAMILIES.into_iter().for_each(|family| exchange(&StageEnds::of(&testbed, family), 100_000));
    };
    bereave(&mut gateway);
    exchanges();
    assert!(gateway.stop().is_some_and(|status| status.success()), "{}", gateway.stderr());
    await_unchanged(&before, &testbed.g1);

    let mut gateway = testbed.run_gateway(GatewayPosition::Near).expect("another");
    bereave(&mut gateway);
    gateway.kill();
    exchanges();
    let mut gateway = testbed.run_gateway(GatewayPosition::Near).expect("a third");
    FAMILIES.into_iter().for_each(|family| await_split(&testbed, GatewayPosition::Near, family));
    assert!(gateway.stop().is_some_and(|status| status.success()), "{}", gateway.stderr());
    await_unchanged(&before, &testbed.g1);
}

/// Kills the gateway's watchdog, and waits until it has noticed.
fn bereave(gateway: &mut Process) {
    kill(watchdog_of(gateway), Signal::SIGKILL).expect("a signal");
    await_said(gateway, "the watchdog is gone", 1);
}

/// Six uploads over 10 Mbit/s and 200 ms, which all end whole whatever happens to the near gateway.
/// What it said.
pub(crate) fn uploads(happens: impl FnOnce(&mut Process)) -> Option<String> {
    if !gateways_wanted() {
        return None;
    }
    let mut testbed =
        build(TestbedConfig { link: Some(narrow_link()), ..TestbedConfig::default() });
    start_gateways(&mut testbed);
    let mut gateway = testbed.take_gateway(GatewayPosition::Near).expect("gateway");
    let testbed = Arc::new(testbed);
    let sent = content(26, SIZE);
    thread::scope(|scope| {
        for family in FAMILIES.repeat(3) {
            let ends = StageEnds::of(&testbed, family);
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

//! Gateways that end under load, and start again: killed, or asked to stop. Some connections are
//! idle, some busy, some open and close all the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::five_hosts::{BOTH, GatewayPosition, Testbed, TestbedConfig};
use nix::sys::signal::Signal;

use crate::life::exchange;
use crate::observation::{ask, await_nothing_held};
use crate::pair::{Pair, open_for, pairs, part, talk, transfer};
use crate::stage::{FAMILIES, StageEnds, build, fast_link, gateways_wanted, start_gateways};
use crate::toolbox::{End, PATIENCE, wait_until};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("killed_near_gateway_under_load", || killed(GatewayPosition::Near)),
    ("killed_far_gateway_under_load", || killed(GatewayPosition::Far)),
    ("drained_near_gateway_under_load", || drained(GatewayPosition::Near)),
    ("drained_far_gateway_under_load", || drained(GatewayPosition::Far)),
];

/// Connections that hold nothing, for each family.
const IDLE: usize = 10;
/// Users for each family who transfer this much on one connection after another, every other one a
/// download: all together 6.4 s of the link in one direction, were they alone.
const BUSY: usize = 10;
const SIZE: usize = 4_000_000;
/// Others, who transfer this much.
const USERS: usize = 4;
const SHORT: usize = 30_000;
/// How long readers wait where some wait in vain, and hosts' kernels try.
const KILLED: Patience =
    Patience { reader: Duration::from_secs(12), kernel: Duration::from_secs(8) };
/// The same where nobody does, on a machine that may be busy.
const DRAINED: Patience =
    Patience { reader: Duration::from_secs(90), kernel: Duration::from_secs(60) };

#[derive(Debug, Clone, Copy)]
struct Patience {
    reader: Duration,
    kernel: Duration,
}

/// Gateways, and what becomes of connections when the one at `position` gets kill -9 and is started
/// again: those that held nothing live on, the others end whole or not in order.
fn killed(position: GatewayPosition) {
    let (testbed, gateway) = stage(position);
    let ends = load(&testbed, KILLED, |testbed| {
        gateway.map(|mut gateway| {
            gateway.kill();
            thread::sleep(Duration::from_millis(300));
            testbed.run_gateway(position).expect("the gateway again")
        })
    });
    if let Some(again) = &ends.event {
        // Else the load was none, or nothing of it was where it could be lost.
        assert!(ends.cut(&ends.busy) > 0, "{ends}");
        let status = ask(testbed.gateway_at(position).1, "status");
        assert!(status["totals"]["split"].as_u64() > Some(0), "{status}: {}", again.stderr());
    } else {
        assert_eq!(ends.cut(&ends.busy) + ends.cut(&ends.short), 0, "{ends}");
    }
}

/// The same with SIGTERM: no connection is cut, as there is time enough for what is held.
fn drained(position: GatewayPosition) {
    let (testbed, gateway) = stage(position);
    let ends = load(&testbed, DRAINED, |testbed| {
        gateway.map(|mut gateway| {
            gateway.signal(Signal::SIGTERM);
            // Its limit is 30 s.
            let ended = gateway.wait(PATIENCE).expect("it is drained");
            assert!(ended.success(), "{ended}: {}", gateway.stderr());
            let again = testbed.run_gateway(position).expect("the gateway again");
            (gateway, again)
        })
    });
    let said = ends.event.as_ref().map(|(gateway, _)| gateway.stdout() + &gateway.stderr());
    assert_eq!(
        ends.cut(&ends.busy) + ends.cut(&ends.short),
        0,
        "{ends}\n{}",
        said.unwrap_or_default()
    );
    if let Some((gateway, _again)) = &ends.event {
        let summary = gateway.stdout();
        assert!(summary.contains(" 0 reset, "), "{summary}");
        assert!(!summary.contains("acknowledged but not delivered"), "{summary}");
        // The idle ones and some of the busy ones, at least.
        let released = summary.split(" reset, ").nth(1).and_then(|rest| rest.split(' ').next());
        let released: usize = released.and_then(|n| n.parse().ok()).expect("a count");
        assert!(released > 2 * IDLE, "{summary}");
    }
}

/// Waits until both gateways hold bytes: the busy connections are busy.
fn await_held(testbed: &Testbed) {
    if !gateways_wanted() {
        return;
    }
    for position in BOTH {
        wait_until("bytes are held", || {
            let status = ask(testbed.gateway_at(position).1, "status");
            let held = status["held_bytes"].as_u64() > Some(100_000);
            if held { Ok(()) } else { Err(format!("{position:?}: {status}")) }
        });
    }
}

fn stage(position: GatewayPosition) -> (Arc<Testbed>, Option<Process>) {
    let mut testbed = build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() });
    start_gateways(&mut testbed);
    let gateway = testbed.take_gateway(position);
    (Arc::new(testbed), gateway)
}

/// How the connections of a load ended, and what the event in it returned.
struct Ended<T> {
    event: T,
    busy: Vec<End>,
    short: Vec<End>,
}

impl<T> Ended<T> {
    /// How many did not end in order.
    fn cut(&self, ends: &[End]) -> usize {
        ends.iter().filter(|end| **end != End::Whole).count()
    }
}

impl<T> std::fmt::Display for Ended<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cut: Vec<_> =
            self.busy.iter().chain(&self.short).filter(|end| **end != End::Whole).collect();
        write!(
            f,
            "{} of {} busy connections cut, {} of {} short ones: {cut:?}",
            self.cut(&self.busy),
            self.busy.len(),
            self.cut(&self.short),
            self.short.len()
        )
    }
}

/// Runs `event` amid the load. Connections that held nothing then must live on.
fn load<T>(
    testbed: &Arc<Testbed>,
    patience: Patience,
    event: impl FnOnce(&Testbed) -> T,
) -> Ended<T> {
    let Patience { reader, kernel } = patience;
    let idle: Vec<Pair> = pairs(testbed, IDLE);
    idle.iter().for_each(|pair| talk(pair, 5_000));
    if gateways_wanted() {
        BOTH.into_iter().for_each(|position| await_nothing_held(testbed.gateway_at(position).1));
    }

    let over = AtomicBool::new(false);
    let ended = thread::scope(|scope| {
        // However long it takes until the event comes, there are transfers under way.
        let users = |count: usize, bytes: usize| -> Vec<_> {
            let families = FAMILIES.into_iter().flat_map(|family| (0..count).map(move |_| family));
            let begin = |(number, family): (usize, _)| {
                let (ends, over) = (StageEnds::of(testbed, family), &over);
                scope.spawn(move || {
                    let mut ended = Vec::new();
                    while !over.load(Ordering::Relaxed) {
                        let which = (number + ended.len()) as u64;
                        ended.push(transfer(which, open_for(&ends, kernel), bytes, reader));
                    }
                    ended
                })
            };
            families.enumerate().map(begin).collect()
        };
        let (busy, short) = (users(BUSY, SIZE), users(USERS, SHORT));
        thread::sleep(Duration::from_millis(1_500));
        await_held(testbed);
        let event = event(testbed);
        thread::sleep(Duration::from_secs(1));
        over.store(true, Ordering::Relaxed);
        let [busy, short] = [busy, short].map(|users| {
            users.into_iter().flat_map(|thread| thread.join().expect("a user")).collect()
        });
        Ended { event, busy, short }
    });
    for pair in &idle {
        talk(pair, 100_000);
    }
    idle.into_iter().for_each(part);
    FAMILIES.into_iter().for_each(|family| exchange(&StageEnds::of(testbed, family), 100_000));
    ended
}

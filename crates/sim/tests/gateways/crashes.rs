//! Gateways that crash with bytes that they have acknowledged, and come back at once: hosts that
//! miss them are told, and nobody else is.

use super::*;
use bentpipe_core::link::Outages;
use bentpipe_sim::{Close, Pace};

const RATE: Rate = Rate::from_bits_per_sec(8_000_000);
const KILL: Duration = Duration::from_secs(5);
/// What systemd's `Restart=always` and a start take.
const RESTART: Duration = Duration::from_millis(2_600);
/// From the crash on: as long as a host's fourth or fifth repetition may take.
const TOLD_WITHIN: Duration = Duration::from_secs(40);

/// The near gateway's node and the far one's.
const BOXES: [usize; 2] = [2, 3];

fn at(span: Duration) -> Instant {
    Instant::ZERO + span
}

/// Lets all happen that happens by then.
fn run_until(world: &mut World, end: Instant) {
    while world.next_event().is_some_and(|next| next <= end) {
        world.step(end);
    }
}

/// The gateway at `place` is gone, and another one stands there after [`RESTART`].
fn crash(world: &mut World, place: usize, kill: Duration) {
    run_until(world, at(kill));
    world.replace(BOXES[place], Node::Router);
    run_until(world, at(kill + RESTART));
    world.replace(BOXES[place], gateway(knowing(RATE), place));
}

/// How many connections gateways have reset that they had forwarded.
fn forwarded_resets(world: &World) -> u64 {
    world.gateways().map(|gateway| gateway.summary().forwarded_resets).sum()
}

/// An upload of the near host, or a download, and how it is read.
fn transfer(upload: bool, script: Script, read: Pace) -> World {
    let reader = Script { bytes: 0, close: Close::AfterPeer, read, ..Script::default() };
    let (near, far) = if upload { (script, reader) } else { (reader, script) };
    let (mut world, _) = Path::geo(RATE, [knowing(RATE), knowing(RATE)]).call(near, far).build();
    world.start();
    world
}

/// When both hosts hear of a reset.
fn when_told(world: &mut World, latest: Duration) -> [Instant; 2] {
    let mut told = [None; 2];
    while told.contains(&None) {
        let goes_on = world.next_event().is_some_and(|next| next < at(latest));
        assert!(goes_on, "not told: {:?}", reports(world, 0));
        world.step(Instant::FAR_FUTURE);
        for (told, report) in told.iter_mut().zip(reports(world, 0)) {
            assert!(!report.timed_out, "{report:?}");
            if report.reset {
                told.get_or_insert(world.now());
            }
        }
    }
    told.map(Option::unwrap)
}

#[test]
fn both_hosts_hear_soon_that_a_crash_has_taken_bytes() {
    for (upload, place) in [(true, 0), (true, 1), (false, 0), (false, 1)] {
        let script = Script { bytes: 20_000_000, ..Script::default() };
        // The gateway next to a fast reader holds nothing.
        let slow = Pace { chunk: 50_000, every: Duration::from_millis(100) };
        let read = if upload == (place == 0) { Pace::default() } else { slow };
        let mut world = transfer(upload, script, read);
        crash(&mut world, place, KILL);
        let told = when_told(&mut world, KILL + 2 * TOLD_WITHIN);
        let took = told.map(|told| told.saturating_since(at(KILL)));
        println!("upload {upload}, box {place}: the hosts are told {took:?} after the crash");
        assert!(took.iter().all(|took| *took < TOLD_WITHIN), "{took:?}");
        assert!(forwarded_resets(&world) > 0);
        assert!(world.run(Duration::from_secs(3600)), "and then it is over");
    }
}

/// The reader stalls until all buffers are full and all windows closed, and reads on after the
/// crash: the writer has nothing to retransmit, and probes.
#[test]
fn hosts_that_wait_for_a_window_are_told_too() {
    let (kill, stall) = (Duration::from_secs(15), Duration::from_secs(19));
    for (upload, place) in [(true, 0), (false, 1)] {
        let script = Script { bytes: 40_000_000, ..Script::default() };
        let mut world = transfer(upload, script, Pace { chunk: u64::MAX, every: stall });
        crash(&mut world, place, kill);
        let written = reports(&world, 0)[usize::from(!upload)].written;
        assert!(written < script.bytes, "the writer waits");
        let told = when_told(&mut world, kill + Duration::from_secs(300));
        let took = told.map(|told| told.saturating_since(at(kill)));
        println!("upload {upload}: the hosts are told {took:?} after the crash");
        assert!(forwarded_resets(&world) > 0);
        assert!(world.run(Duration::from_secs(3600)), "and then it is over");
    }
}

#[test]
fn connections_of_which_a_crash_takes_nothing_live_on() {
    for (upload, place) in [(true, 0), (true, 1), (false, 0), (false, 1)] {
        // Nothing is under way when the gateway crashes.
        let write = Pace { chunk: 200_000, every: Duration::from_secs(4) };
        let script = Script { bytes: 2_000_000, write, ..Script::default() };
        let mut world = transfer(upload, script, Pace::default());
        crash(&mut world, place, KILL);
        assert!(world.run(Duration::from_secs(3600)));
        assert_whole(&world, 0);
        assert_eq!(forwarded_resets(&world), 0);
    }
}

/// Both gateways are stopped in good order just before a long fade ends. What the near one holds is
/// still to go when the host sends more, which the far host cannot use yet; the far gateway
/// forwards that.
#[test]
fn what_a_leaving_gateway_holds_behind_a_fade_is_not_lost() {
    for end in [43, 46, 50, 55, 60].map(Duration::from_secs) {
        let write = Pace { chunk: 5_000, every: Duration::from_millis(5_100) };
        let script = Script { bytes: 150_000, write, ..Script::default() };
        let reader = Script { bytes: 0, close: Close::AfterPeer, ..Script::default() };
        let configs = [knowing(RATE), knowing(RATE)];
        let mut path = Path::geo(RATE, configs).call(script, reader);
        let fade = at(Duration::from_millis(5_400))..at(end);
        path.links[1].outages = Outages::listed(vec![fade]).unwrap();
        let (mut world, _) = path.build();
        world.start();
        run_until(&mut world, at(end - Duration::from_millis(100)));
        let held: usize = world.gateways().map(Gateway::held).sum();
        assert!(held > 30_000, "{held}");
        BOXES.iter().for_each(|&node| world.drain(node));
        assert!(world.run(Duration::from_secs(3600)));
        assert_eq!(forwarded_resets(&world), 0, "a fade until {end:?}");
        assert_whole(&world, 0);
    }
}

//! A sender is pulled as fast as the satellite carries, and no faster: its window says so.

use super::*;
use bentpipe_core::link::{After, Outages, QueueLimit, Schedule, Varying};
use bentpipe_core::tcp::receiver::AckPolicy;
use bentpipe_sim::Close;

const RATE: Rate = Rate::from_bits_per_sec(8_000_000);

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

/// What the probe sees of an upload of `bytes` along `path`, until `end`.
fn upload(path: Path, bytes: u64, end: Duration) -> (World, Vec<Seen>) {
    let near = Script { bytes, ..Script::default() };
    let far = Script { close: Close::AfterPeer, ..Script::default() };
    let (mut world, probe) = path.call(near, far).build();
    world.run(end);
    let seen = probe.0.borrow().clone();
    (world, seen)
}

/// Acknowledgments to the near host between two moments: when, up to which byte, and the window
/// behind it.
fn acknowledgments(seen: &[Seen], from: Instant, to: Instant) -> Vec<(Instant, SeqNum, u64)> {
    let back = || seen.iter().filter(|seen| !seen.leaves);
    let syn_ack = back().find(|seen| seen.tcp.has(Flags::SYN)).unwrap();
    let shift = syn_ack.tcp.options.window_scale.unwrap();
    back()
        .filter(|seen| seen.at >= from && seen.at < to && !seen.tcp.has(Flags::SYN))
        .map(|seen| (seen.at, seen.tcp.ack, u64::from(seen.tcp.window) << shift))
        .collect()
}

/// Bytes acknowledged in a span, as a rate in bit/s.
fn rate(acks: &[(Instant, SeqNum, u64)]) -> f64 {
    let (first, last) = (acks[0], acks[acks.len() - 1]);
    let bytes = f64::from(last.1.distance_from(first.1));
    bytes * 8.0 / last.0.saturating_since(first.0).as_secs_f64()
}

/// G01-D-11: while the satellite link is blocked, the near host's window falls to nothing, and its
/// right edge never moves left.
#[test]
fn a_blocked_link_closes_the_near_window_from_the_left() {
    let mut path = Path::geo(RATE, [knowing(RATE), knowing(RATE)]);
    path.links[1].outages = Outages::listed(vec![at(5)..at(20)]).unwrap();
    let (_, seen) = upload(path, 1 << 40, Duration::from_secs(70));
    let all = acknowledgments(&seen, at(0), at(70));
    let mut edge = all[0].1 + all[0].2;
    for (moment, ack, window) in &all {
        let now = *ack + *window;
        // What a window field cannot express may round it up, by less than its unit.
        assert!(now.distance_from(edge) > -128, "back at {moment:?}: {now:?} from {edge:?}");
        edge = if now.distance_from(edge) > 0 { now } else { edge };
    }
    let blocked = acknowledgments(&seen, at(6), at(20));
    let windows: Vec<u64> = blocked.iter().map(|(_, _, window)| *window).collect();
    assert!(windows.is_sorted_by(|a, b| a >= b), "{windows:?}");
    assert!(*windows.last().unwrap() < 1448, "{windows:?}");
    // The retransmission timer may have backed off to 16 s by then.
    assert!(rate(&acknowledgments(&seen, at(50), at(70))) > 7.0e6, "and it opens again");
}

/// G99-D-8: when the link's rate is halved, the near host is slowed down within five seconds. For
/// some seconds it gets less than the link carries, while the leg recovers from the losses of its
/// full queue; the claim's tenth is kept from 15 s on.
#[test]
fn the_near_host_follows_the_links_rate() {
    let half = Rate::from_bits_per_sec(4_000_000);
    let steps = vec![(Duration::ZERO, RATE), (Duration::from_secs(30), half)];
    let schedule = Schedule::new(steps, After::Hold).unwrap();
    let mut path =
        Path::geo(RATE, [(); 2].map(|()| Config { super_segments: false, ..Config::default() }));
    path.links[1].rate = Some(Varying::Scheduled(schedule.into()));
    path.links[1].queue =
        QueueLimit::bandwidth_delay_product(RATE, Duration::from_millis(500)).into();
    let (_, seen) = upload(path, 1 << 40, Duration::from_secs(60));
    let payload = 1448.0 / 1500.0;
    for (from, to, carried, least) in
        [(20, 30, 8.0e6, 0.9), (35, 45, 4.0e6, 0.7), (45, 60, 4.0e6, 0.9)]
    {
        let pulled = rate(&acknowledgments(&seen, at(from), at(to))) / payload;
        println!("{from} to {to} s: {:.2} Mbit/s", pulled / 1e6);
        assert!((least..1.1).contains(&(pulled / carried)), "{from} to {to} s: {pulled}");
    }
}

/// G01-D-18: in the steady state acknowledgments come to the near host as if its peer were at the other
/// end of a cable of the satellite's rate, and acknowledged every segment, as gateways do.
#[test]
fn acknowledgments_come_as_over_a_cable_of_the_same_rate() {
    let gap = |mut path: Path| {
        path.tcp.ack_policy = AckPolicy::PerSegment;
        let (_, seen) = upload(path, 1 << 40, Duration::from_secs(40));
        let mut acks = acknowledgments(&seen, at(20), at(40));
        // Those that only open the window do not count.
        acks.dedup_by_key(|(_, ack, _)| *ack);
        acks[acks.len() - 1].0.saturating_since(acks[0].0).as_secs_f64() / (acks.len() - 1) as f64
    };
    let split = gap(Path::geo(RATE, [knowing(RATE), knowing(RATE)]));
    let mut cable = Path::geo(RATE, [knowing(RATE), knowing(RATE)]);
    cable.boxes = vec![Node::Router, Node::Router];
    cable.links[1].delay = Duration::from_millis(1).into();
    let cable = gap(cable);
    println!("mean gap: split {:.3} ms, a cable {:.3} ms", split * 1e3, cable * 1e3);
    assert!((0.85..1.15).contains(&(split / cable)), "{split} s, {cable} s");
}

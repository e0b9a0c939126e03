//! A sender is pulled as fast as the satellite carries, and no faster: its window says so.

use super::*;
use bentpipe_core::link::{After, Outages, QueueLimit, Schedule, Varying};
use bentpipe_sim::Close;

const RATE: Rate = Rate::from_bits_per_sec(8_000_000);

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

/// What the probe sees of an upload of `bytes` along `path`, until `end`.
fn upload(path: Path, bytes: u64, end: Duration) -> (World, Vec<ProbedSegment>) {
    let near = Script { bytes, ..Script::default() };
    let far = Script { close: Close::AfterPeer, ..Script::default() };
    let (mut world, probe) = path.call(near, far).build();
    world.run(end);
    let seen = probe.0.borrow().clone();
    (world, seen)
}

/// Acknowledgments to the near host between two moments: when, up to which byte, and the window
/// behind it.
fn acknowledgments(
    seen: &[ProbedSegment],
    from: Instant,
    to: Instant,
) -> Vec<(Instant, SeqNum, u64)> {
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
        // What a window field cannot express may round it up, by less than its unit, 1 KiB for
        // these hosts.
        assert!(now.distance_from(edge) > -1024, "back at {moment:?}: {now:?} from {edge:?}");
        edge = if now.distance_from(edge) > 0 { now } else { edge };
    }
    let blocked = acknowledgments(&seen, at(6), at(20));
    let windows: Vec<u64> = blocked.iter().map(|(_, _, window)| *window).collect();
    // A probe takes new data along, and makes room for as much as it takes, and as much again.
    let falls = windows.windows(2).all(|pair| pair[1] <= pair[0] + 3 * 1024);
    assert!(falls && windows[0] >= *windows.last().unwrap(), "{windows:?}");
    assert!(*windows.last().unwrap() < 1448, "{windows:?}");
    // The retransmission timer may have backed off to 16 s by then.
    assert!(rate(&acknowledgments(&seen, at(50), at(70))) > 7.0e6, "and it opens again");
}

/// An upload over a link that carries 8 Mbit/s, from 30 s on 4, and from 60 s on 8 again, with a
/// queue of half a second. Gives how much of that the near host is pulled, by span.
fn pulled<const N: usize>(config: &Config, spans: [(u64, u64, f64); N]) -> [f64; N] {
    let half = Rate::from_bits_per_sec(4_000_000);
    let steps = [(0, RATE), (30, half), (60, RATE)];
    let steps = steps.map(|(from, rate)| (Duration::from_secs(from), rate)).to_vec();
    let schedule = Schedule::new(steps, After::Hold).unwrap();
    let mut path = Path::geo(RATE, [config.clone(), config.clone()]);
    path.links[1].rate = Some(Varying::Scheduled(schedule.into()));
    path.links[1].queue =
        QueueLimit::bandwidth_delay_product(RATE, Duration::from_millis(250)).into();
    let (_, seen) = upload(path, 1 << 40, Duration::from_secs(80));
    let payload = 1448.0 / 1500.0;
    spans.map(|(from, to, carried)| {
        let part = rate(&acknowledgments(&seen, at(from), at(to))) / payload / carried;
        println!("{from} to {to} s: {part:.3} of {:.0} Mbit/s", carried / 1e6);
        part
    })
}

/// G99-D-8: when the link's rate is halved the near host is slowed down within five seconds, though
/// the gateways go on believing in the old one. The right edge of its window moves as the link
/// takes, two segments before it: so the window says so at all times, and closes where the link
/// stands still (G01-D-11).
#[test]
fn the_near_host_follows_the_links_rate() {
    // Half a second's pause, while a stream falls to its new size, is within a tenth of ten
    // seconds.
    let spans = [(20, 30, 8.0e6), (35, 45, 4.0e6), (45, 60, 4.0e6), (65, 80, 8.0e6)];
    let parts = pulled(&knowing(RATE), spans);
    assert!(parts.iter().all(|part| (0.9..1.1).contains(part)), "{parts:?}");
}

/// The same where nothing is known of the link: it is followed as well on the whole, with pauses
/// while the leg recovers from what its full queue has dropped, and while what was held for that is
/// used up.
#[test]
fn the_near_host_follows_the_rate_of_a_link_that_is_not_known() {
    let config = Config { super_segments: false, ..Config::default() };
    let parts = pulled(&config, [(20, 30, 8.0e6), (35, 60, 4.0e6), (65, 80, 8.0e6)]);
    // While more than a hundredth is lost twice as much is held: two megabytes of ten.
    assert!(parts.iter().all(|part| (0.7..1.25).contains(part)), "{parts:?}");
}

/// Acknowledgments that the near host gets in ten seconds of steady sending, for each segment that
/// it sends, and the mean time between them.
fn pace_of_acknowledgments(path: Path) -> (f64, Duration) {
    let (_, seen) = upload(path, 1 << 40, Duration::from_secs(40));
    let (from, to) = (at(30), at(40));
    let acks = acknowledgments(&seen, from, to).len();
    let sends = |s: &&ProbedSegment| s.leaves && s.len > 0 && s.at >= from && s.at < to;
    let segments = seen.iter().filter(sends).count();
    (acks as f64 / segments as f64, to.saturating_since(from) / acks as u32)
}

/// G01-D-18: where the satellite link is not congested its sender gets acknowledgments as often as
/// on a terrestrial link of that rate.
#[test]
fn a_sender_hears_as_often_as_on_a_terrestrial_link() {
    let split = pace_of_acknowledgments(Path::geo(RATE, [knowing(RATE), knowing(RATE)]));
    let mut path = Path::geo(RATE, [knowing(RATE), knowing(RATE)]);
    path.boxes = vec![Node::Router, Node::Router];
    path.links[1].delay = Duration::ZERO.into();
    let plain = pace_of_acknowledgments(path);
    println!("acknowledgments a segment, and between them: split {split:?}, plain {plain:?}");
    let ratio = split.1.as_secs_f64() / plain.1.as_secs_f64();
    assert!((0.85..1.15).contains(&ratio), "{ratio}");
}

//! Fast links over long round trips: a flow that is alone fills them, with nothing but defaults.

use super::*;
use bentpipe_core::units::Bytes;
use bentpipe_gateway::Losses;

const ROUND_TRIP: Duration = Duration::from_millis(600);

/// Who sends: the near host, which opens the connection, or the far one.
#[derive(Debug, Clone, Copy)]
enum Direction {
    Upload,
    Download,
}

/// How long `bytes` take over a link of `rate` between gateways like `config`, in seconds from the
/// SYN, and how long they take at least.
fn transfer(config: &Config, rate: Rate, direction: Direction, bytes: u64) -> (f64, f64) {
    let mut path = Path::geo(rate, [config.clone(), config.clone()]);
    let cable = LinkConfig {
        rate: Some(Rate::from_bits_per_sec(1_000_000_000).into()),
        delay: Duration::from_micros(50).into(),
        ..LinkConfig::IDEAL
    };
    (path.links[0], path.links[2]) = (cable.clone(), cable);
    path.links[1].delay = (ROUND_TRIP / 2).into();
    let writes = Script { bytes, ..Script::default() };
    // The handshake, and the bytes' own way. A download's begin when the handshake's last segment
    // has come. An upload's first flight is the 64 KB of the SYN-ACK, whose window is not scaled
    // (RFC 7323, 2.2), with or without gateways: the others follow when that is acknowledged.
    let (path, reader, round_trips) = match direction {
        Direction::Upload => (path.call(writes, Script::default()), 1, 2.5),
        Direction::Download => (path.call(Script::default(), writes), 0, 2.0),
    };
    let (mut world, _) = path.build();
    world.run(Duration::from_secs(120));
    assert_whole(&world, 0);
    let took = reports(&world, 0)[reader].last_read.unwrap().saturating_since(Instant::ZERO);
    let wire = bytes as f64 * 1500.0 / 1448.0 * 8.0 / rate.bits_per_sec() as f64;
    (took.as_secs_f64(), wire + round_trips * ROUND_TRIP.as_secs_f64())
}

/// Nothing is said but the link's rate.
fn rate_alone(rate: Rate) -> Config {
    let mut config = Config { super_segments: false, ..Config::default() };
    config.satellite.rate = Some(rate);
    config
}

/// Rate and round trip are said.
fn both(rate: Rate) -> Config {
    let mut config = rate_alone(rate);
    config.satellite.round_trip = Some(ROUND_TRIP);
    config
}

#[test]
fn a_stream_holds_what_a_fast_link_needs() {
    let rate = Rate::from_bits_per_sec(100_000_000);
    let believed = |mut config: Config| {
        config.satellite.losses = Losses::Believed;
        config
    };
    for (told, config) in [
        ("rate and round trip", both(rate)),
        ("both, losses believed", believed(both(rate))),
        ("the rate alone", rate_alone(rate)),
    ] {
        for direction in [Direction::Upload, Direction::Download] {
            let (took, limit) = transfer(&config, rate, direction, 20_000_000);
            println!("{told}, {direction:?}: {took:.3} s, {limit:.3} s at least");
            assert!(took < 1.05 * limit, "{told}, {direction:?}: {took} of {limit}");
        }
    }
}

/// The operator's cap holds, and so does the pool's rule.
#[test]
fn a_stream_is_capped_by_what_it_may_hold_and_by_the_pool() {
    let rate = Rate::from_bits_per_sec(100_000_000);
    let capped = Config { max_stream: Some(Bytes::new(2_000_000)), ..both(rate) };
    let small = Config { memory: Bytes::new(10_000_000), ..both(rate) };
    for (what, config) in [("capped", capped), ("a fifth of a small pool", small)] {
        let (took, _) = transfer(&config, rate, Direction::Download, 20_000_000);
        println!("{what}: {took:.3} s");
        // Ten round trips of 2 MB.
        assert!((6.0..9.0).contains(&took), "{what}: {took}");
    }
}

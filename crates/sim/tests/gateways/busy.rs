//! What gateways hold of flows that are busy, and how these share a link whose rate is known.

use super::*;
use bentpipe_core::link::QueueLimit;
use bentpipe_core::units::Bytes;
use bentpipe_sim::Close;

const ROUND_TRIP: Duration = Duration::from_millis(600);

/// Downloads without end over a link that gives each of them `share`, with a queue of half a
/// round trip. They begin `apart` from each other.
struct Downloads {
    world: World,
    flows: usize,
    share: Rate,
}

/// What is seen of them in some span of time.
#[derive(Debug)]
struct Span {
    /// The most that a gateway held, in bytes a flow.
    max_held: usize,
    /// Bytes read, as a part of what the link carries.
    used: f64,
    /// Jain's index of what each has read.
    fairness: f64,
    /// Packets that links have dropped, since the beginning.
    dropped: u64,
}

impl Downloads {
    fn new(flows: usize, share: Rate, apart: Duration) -> Downloads {
        let rate = Rate::from_bits_per_sec(share.bits_per_sec() * flows as u64);
        let mut config = knowing(rate);
        config.satellite.round_trip = Some(ROUND_TRIP);
        Downloads::through(&config, flows, share, apart)
    }

    /// Through gateways with this configuration.
    fn through(config: &Config, flows: usize, share: Rate, apart: Duration) -> Downloads {
        let rate = Rate::from_bits_per_sec(share.bits_per_sec() * flows as u64);
        let mut path = Path::geo(rate, [config.clone(), config.clone()]);
        path.links[1].delay = (ROUND_TRIP / 2 - Duration::from_millis(1)).into();
        path.links[1].queue = QueueLimit::Bytes(Bytes::new(rate.bytes_in(ROUND_TRIP / 2))).into();
        let cable = LinkConfig { rate: None, ..cable() };
        (path.links[0], path.links[2]) = (cable.clone(), cable);
        // Real bytes, so not more of them than it takes.
        path.tcp.send_buffer = Bytes::new(32_000);
        let near = Script { close: Close::AfterPeer, ..Script::default() };
        for number in 0..flows {
            path = path.call(near, Script { bytes: 1 << 40, ..Script::default() });
            path.calls[number].0 = Instant::ZERO + apart * number as u32;
        }
        let mut world = path.build().0;
        world.start();
        Downloads { world, flows, share }
    }

    fn read(&self) -> Vec<u64> {
        let key = |number: usize| (1_000 + number as u16, HOSTS[1], port(number));
        let read = |number| self.world.host(0).report(&key(number)).map_or(0, |seen| seen.read);
        (0..self.flows).map(read).collect()
    }

    /// Lets it run until `end` seconds.
    fn until(&mut self, end: u64) -> Span {
        let (began, before) = (self.world.now(), self.read());
        let mut most = 0;
        while self.world.step(Instant::ZERO + Duration::from_secs(end)) {
            most = self.world.gateways().map(Gateway::held).fold(most, usize::max);
        }
        let read: Vec<f64> =
            self.read().iter().zip(before).map(|(now, then)| (now - then) as f64).collect();
        let sum: f64 = read.iter().sum();
        let squares: f64 = read.iter().map(|bytes| bytes * bytes).sum();
        let span = self.world.now().saturating_since(began).as_secs_f64();
        let carried = self.share.bits_per_sec() as f64 / 8.0 * span;
        let lines = (0..4).filter_map(|node| self.world.line_from(node, 1));
        let back = (1..5).filter_map(|node| self.world.line_from(node, 0));
        let seen = Span {
            max_held: most / self.flows,
            used: sum / carried / self.flows as f64,
            fairness: sum * sum / squares / self.flows as f64,
            dropped: lines.chain(back).map(|line| line.link().counters().dropped.packets).sum(),
        };
        println!("{} flows, until {end} s: {seen:?}", self.flows);
        seen
    }

    /// Two and a half times the bandwidth-delay product of a flow's share, and 64 KB.
    fn limit(&self) -> usize {
        (5 * self.share.bytes_in(ROUND_TRIP) / 2 + 64_000) as usize
    }
}

/// However many begin at once: each holds what its share of the link takes, all get the same, and
/// the link's queue never overflows.
#[test]
fn a_thousand_busy_flows_share_a_link_and_hold_what_their_share_takes() {
    let mut downloads = Downloads::new(1000, Rate::from_bits_per_sec(200_000), Duration::ZERO);
    let beginning = downloads.until(3);
    let steady = downloads.until(4);
    for seen in [&beginning, &steady] {
        assert!(seen.max_held < downloads.limit(), "{seen:?}");
        assert_eq!(seen.dropped, 0);
    }
    assert!(steady.used > 0.95 && steady.fairness > 0.99, "{steady:?}");
}

/// H-D-22: at most 500 KB for each of 100 connections of 1.3 Mbit/s and 600 ms, if the link's rate
/// is configured.
#[test]
fn a_geo_connection_takes_less_than_half_a_megabyte() {
    let share = Rate::from_bits_per_sec(1_300_000);
    let mut downloads = Downloads::new(100, share, Duration::ZERO);
    let beginning = downloads.until(4);
    let steady = downloads.until(6);
    for seen in [&beginning, &steady] {
        assert!(seen.max_held < downloads.limit() && seen.max_held < 500_000, "{seen:?}");
        assert_eq!(seen.dropped, 0);
    }
    assert!(steady.used > 0.95 && steady.fairness > 0.99, "{steady:?}");
}

/// H-D-22: where no rate is configured connections find it together, and hold twice the paper's
/// 500 KB at most.
#[test]
fn a_geo_connection_over_an_unknown_link_takes_twice_as_much() {
    let share = Rate::from_bits_per_sec(1_300_000);
    let config = Config { super_segments: false, ..Config::default() };
    let mut downloads = Downloads::through(&config, 100, share, Duration::ZERO);
    let seen = downloads.until(12);
    assert!((500_000..1_100_000).contains(&seen.max_held), "{seen:?}");
}

/// Who comes when others have long filled the link gets as much as they do.
#[test]
fn flows_that_come_later_get_as_much() {
    let share = Rate::from_bits_per_sec(1_300_000);
    let mut downloads = Downloads::new(10, share, Duration::from_millis(500));
    let coming = downloads.until(8);
    let steady = downloads.until(12);
    // The first ones have what they held when they had more to drain.
    assert!(coming.max_held < 2 * downloads.limit(), "{coming:?}");
    assert!(steady.used > 0.95 && steady.fairness > 0.99, "{steady:?}");
    assert_eq!(steady.dropped, 0);
}

/// How long a download of `bytes` alone takes along `path`, in seconds.
fn alone(path: Path, bytes: u64) -> f64 {
    let (mut world, _) =
        path.call(Script::default(), Script { bytes, ..Script::default() }).build();
    world.run(Duration::from_secs(60));
    let took = reports(&world, 0)[0].last_read.unwrap().saturating_since(Instant::ZERO);
    took.as_secs_f64()
}

/// The handshake and its last part, the way back, and the bytes in packets of 1,500.
fn min_time(bytes: u64, rate: Rate) -> f64 {
    1.01 + bytes as f64 * 1500.0 / 1448.0 * 8.0 / rate.bits_per_sec() as f64
}

/// A flow that is alone has the whole link from its first round trip on, however fast its data
/// comes from nearby.
#[test]
fn a_first_flow_fills_the_link_at_once() {
    let rate = Rate::from_bits_per_sec(8_000_000);
    for bytes in [100_000, 1_000_000, 4_000_000] {
        let took = alone(Path::geo(rate, [knowing(rate), knowing(rate)]), bytes);
        let limit = min_time(bytes, rate);
        println!("{bytes} bytes: {took:.3} s, {limit:.3} s at least");
        assert!(took < 1.03 * limit, "{bytes} bytes took {took} of {limit}");
    }
}

/// G01-W-9: at the rates of the BBN report's table 1, too.
#[test]
fn a_flow_fills_links_of_many_megabits() {
    for megabits in [45, 155] {
        let rate = Rate::from_bits_per_sec(megabits * 1_000_000);
        let config = knowing(rate);
        let mut path = Path::geo(rate, [config.clone(), config]);
        let cable = LinkConfig { rate: None, ..cable() };
        (path.links[0], path.links[2]) = (cable.clone(), cable);
        // Two seconds of it.
        let bytes = rate.bytes_in(Duration::from_secs(2));
        let (took, limit) = (alone(path, bytes), min_time(bytes, rate));
        println!("{megabits} Mbit/s: {bytes} bytes in {took:.3} s, {limit:.3} s at least");
        assert!(took < 1.1 * limit, "{took} of {limit}");
    }
}

/// Forty downloads of 1 MB begin at once over 8 Mbit/s, of which the gateways know nothing. The
/// queue holds the initial windows of 33: some flows lose all of theirs, and their gateway sends it
/// blindly once two timeouts went unanswered. When that arrives says nothing of the round trip: a
/// flow that took it for a sample held a window of two segments for a quarter of a minute after all
/// others were done.
#[test]
fn no_download_of_many_is_left_behind() {
    let ended = |delay: &str| {
        let outcome = crate::support::outcome(&format!(
            "[run]\nduration = \"90s\"\nuntil = \"flows-done\"\n\
             [host.server]\ntcp = \"linux\"\n[host.client]\ntcp = \"linux\"\n\
             [gateway.g1]\nlan-links = \"server-side\"\n[gateway.g2]\nlan-links = \"client-side\"\n\
             [link.server-side]\nbetween = [\"server\", \"g1\"]\nprofile = \"lan\"\n\
             [link.sat]\nbetween = [\"g1\", \"g2\"]\nrate = \"8Mbit/s\"\ndelay = \"{delay}\"\n\
             queue = \"1bdp\"\n\
             [link.client-side]\nbetween = [\"client\", \"g2\"]\nprofile = \"lan\"\n\
             [flow.main]\nfrom = \"server\"\nto = \"client\"\nbytes = \"1MB\"\ncount = 40\n\
             opened-by = \"to\"\n"
        ));
        outcome.run.end.as_secs_f64()
    };
    // 40 MB take 41.4 s alone.
    let ends = ["250ms", "250.2ms", "250.7ms"].map(ended);
    assert!(ends.iter().all(|end| *end < 47.0), "{ends:?}");
}

/// Two hundred downloads over a link of which each alone may hold five bandwidth-delay products,
/// 1.9 GB in all, and gateways with a fortieth of that; nobody has told the terminal's of the link,
/// or either.
#[test]
fn many_flows_share_a_memory_that_is_small_beside_what_each_may_hold() {
    const MEMORY: usize = 50 << 20;
    let played = |told: &str, loss: &str| {
        let outcome = crate::support::outcome(&format!(
            "[run]\nduration = \"40s\"\nwarm-up = \"15s\"\n\
             [host.server]\ntcp = \"linux\"\n[host.client]\ntcp = \"linux\"\n\
             [gateway.hub]\nlan-links = \"server-side\"\nlimits = {{ memory = \"50MiB\" }}\n{told}\n\
             [gateway.terminal]\nlan-links = \"client-side\"\nlimits = {{ memory = \"50MiB\" }}\n\
             [link.server-side]\nbetween = [\"server\", \"hub\"]\nrate = \"1Gbit/s\"\ndelay = \"1ms\"\n\
             [link.sat]\nbetween = [\"hub\", \"terminal\"]\nrate = \"25Mbit/s\"\ndelay = \"300ms\"\n\
             loss = \"{loss}\"\nback = {{ rate = \"500kbit/s\" }}\n\
             [link.client-side]\nbetween = [\"client\", \"terminal\"]\nrate = \"1Gbit/s\"\ndelay = \"1ms\"\n\
             [flow.main]\nfrom = \"server\"\nto = \"client\"\ncount = 200\nopened-by = \"to\"\n"
        ));
        for gateway in &outcome.gateways {
            let held = gateway.max_held.unwrap();
            assert!(held <= MEMORY as u64, "{held} of {MEMORY}");
        }
        let mut read: Vec<f64> =
            outcome.flows.iter().map(|flow| flow.counts.delivered as f64).collect();
        read.sort_by(f64::total_cmp);
        let (sum, squares) = (read.iter().sum::<f64>(), read.iter().map(|x| x * x).sum::<f64>());
        let (fairness, used) = (sum * sum / squares / 200.0, sum * 8.0 / 25.0 / 25e6);
        println!(
            "{told} {loss}: {used:.3} used, {fairness:.3}, least {:.3} of the mean",
            read[0] * 200.0 / sum
        );
        (used, fairness, read[0] * 200.0 / sum)
    };
    let told =
        "satellite = { rate = \"25Mbit/s\", return-rate = \"500kbit/s\", round-trip = \"600ms\" }";
    for (loss, most) in [("0%", 0.93), ("1%", 0.91)] {
        let (used, fairness, least) = played(told, loss);
        assert!(used > most && fairness > 0.99 && least > 0.9, "{used} {fairness} {least}");
    }
    let (used, fairness, least) = played("", "0%");
    assert!(used > 0.9 && fairness > 0.85 && least > 0.25, "{used} {fairness} {least}");
}

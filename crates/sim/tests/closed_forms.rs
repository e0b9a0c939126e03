//! Whole runs against what theory says of them in closed form: serialisation, the queue M/D/1, the
//! sawtooth of one flow, and the law of the inverse square root.

use crate::support::outcome;
use bentpipe_core::link::{LinkConfig, QueueLimit};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Rate;
use bentpipe_results::RunResults;
use bentpipe_sim::workload::Workload;
use bentpipe_sim::{
    Content, Datagram, Echo, Endpoint, Host, Line, Net, Node, NodeId, Notice, Simulation, Stream,
    World,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

fn line(bits_per_sec: u64, delay: Duration) -> Line {
    let link = LinkConfig {
        rate: Some(Rate::from_bits_per_sec(bits_per_sec).into()),
        delay: delay.into(),
        queue: QueueLimit::Unlimited.into(),
        ..LinkConfig::IDEAL
    };
    Line::new(&link)
}

/// Nanoseconds that `bytes` take at `rate`, not rounded.
fn span(bytes: u64, rate: u64) -> f64 {
    bytes as f64 * 8e9 / rate as f64
}

#[test]
fn packets_arrive_to_the_nanosecond_over_two_hops() {
    // 7 and 1.5 Mbit/s do not divide a packet's bits: each is a fraction of a nanosecond off.
    let (fast, slow) = (7_000_000, 1_500_000);
    let (near, far) = (Duration::from_micros(333), Duration::from_millis(250));
    let [one, two] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(IpAddr::from);
    let mut world: World<Stream> = World::chain(
        vec![Host::new(one).into(), Node::Router, Host::new(two).into()],
        vec![[line(fast, near), line(fast, near)], [line(slow, far), line(slow, far)]],
    );
    world.start();
    let (count, len) = (1000u64, 999);
    let wire = u64::from(len) + 28;
    for _ in 0..count {
        let datagram = Datagram { src_port: 1, dst_port: 2, len };
        world.emit(0, two, Content::Udp(datagram));
    }
    let mut arrived = 0;
    while world.step(Instant::FAR_FUTURE) {
        let packets = world.host(2).datagrams(2).packets;
        if packets == arrived {
            continue;
        }
        assert_eq!(packets, arrived + 1, "each comes by itself");
        arrived = packets;
        // The first one's way over the first hop, and then the second hop's line without a pause.
        let first = (span(wire, fast)).ceil() + near.as_nanos() as f64;
        let expected = first + span(wire * arrived, slow) + far.as_nanos() as f64;
        assert_eq!(world.now().as_nanos(), expected.ceil() as u64, "packet {arrived}");
    }
    assert_eq!(arrived, count);
}

/// Pings that come as a Poisson process, and how long each was away.
#[derive(Debug)]
struct Pings {
    from: NodeId,
    to: NodeId,
    mean: f64,
    identifier: u16,
    left: u64,
    rng: Pcg64Mcg,
    sent: VecDeque<Instant>,
    away: Arc<Mutex<Vec<Duration>>>,
}

impl Workload for Pings {
    fn start(&mut self, net: &mut Net) {
        self.identifier = net.echo_identifier(self.from);
        net.set_timer(Instant::ZERO, 0);
    }

    fn on_notice(&mut self, _net: &mut Net, _end: Endpoint, _tag: u64, _notice: Notice) {}

    fn on_timer(&mut self, net: &mut Net, _mark: u64) {
        net.ping(self.from, self.to, self.identifier, 1, 972);
        self.sent.push_back(net.now());
        self.left -= 1;
        if self.left > 0 {
            let pause = -self.mean * (1.0 - self.rng.random::<f64>()).ln();
            net.set_timer(net.now() + Duration::from_secs_f64(pause), 0);
        }
    }

    fn stop(&mut self, _net: &mut Net) {}

    fn on_echo(&mut self, _net: &mut Net, at: Instant, _echo: Echo) {
        let sent = self.sent.pop_front().expect("each was sent");
        self.away.lock().expect("nobody has failed").push(at.saturating_since(sent));
    }
}

#[test]
fn a_queue_with_poisson_arrivals_waits_as_m_d_1_does() {
    // 1000 bytes at 8 Mbit/s: one packet in a millisecond.
    const SERVICE: f64 = 0.001;
    for load in [0.3, 0.6, 0.8] {
        let mut world: World<Stream> = World::default();
        let from = world.add(Host::new([10, 0, 0, 1].into()));
        let to = world.add(Host::new([10, 0, 0, 2].into()));
        let back = Line::new(&LinkConfig::IDEAL);
        world.join((from, 0), (to, 0), line(8_000_000, Duration::ZERO), back);
        let mut simulation = Simulation::new(world);
        let away = Arc::new(Mutex::new(Vec::new()));
        simulation.add(Pings {
            from,
            to,
            mean: SERVICE / load,
            identifier: 0,
            left: 200_000,
            rng: Pcg64Mcg::seed_from_u64(7),
            sent: VecDeque::new(),
            away: away.clone(),
        });
        simulation.run(Instant::FAR_FUTURE);
        let away = away.lock().expect("nobody has failed");
        assert_eq!(away.len(), 200_000);
        let mean = away.iter().map(Duration::as_secs_f64).sum::<f64>() / away.len() as f64;
        // Pollaczek and Khinchine, for a constant service time.
        let wait = load * SERVICE / (2.0 * (1.0 - load));
        let measured = mean - SERVICE;
        assert!((measured / wait - 1.0).abs() < 0.04, "load {load}: {measured} for {wait}");
    }
}

/// One endless SACK flow with the standard increase, every segment acknowledged. The minimum
/// timeout is three round trips: on so even a path RTTVAR is nothing, and a queue that fills would
/// let it expire.
fn one_flow(link: &str, duration: u64) -> RunResults {
    let text = format!(
        r#"
        tcp = "mss=1460,send-buffer=64MiB,receive-buffer=16MiB,window-scale=12,sack=on,timestamps=off,ack=per-segment,recovery=sack,byte-limit=1,nagle=off,iw=2,rto.min=3s"
        [run]
        duration = "{duration}s"
        warm-up = "{warm_up}s"
        [host]
        a = {{}}
        b = {{}}
        [link.l]
        between = ["a", "b"]
        {link}
        [flow.main]
        from = "a"
        to = "b"
        "#,
        warm_up = duration / 10
    );
    outcome(&text)
}

/// The utilisation of a path that holds `path` packets and whose queue holds `queue`: the window
/// grows by one packet a round trip from half of `path + queue`, and below `path` the line idles.
/// 3/4 without a queue, 1 with one of the path's length.
fn sawtooth(path: f64, queue: f64) -> f64 {
    let max = path + queue;
    let min = max / 2.0;
    if min >= path {
        return 1.0;
    }
    let sent = (max * max - min * min) / 2.0;
    // In round trips of the empty path, each worth `path` packets of the line's time.
    let below = path - min;
    let above = (max * max - path * path) / 2.0 / path;
    sent / path / (below + above)
}

#[test]
fn one_flow_saws_between_half_a_window_and_a_window() {
    assert_eq!((sawtooth(100.0, 0.0), sawtooth(100.0, 100.0)), (0.75, 1.0));
    // 100 packets a second, and a second's round trip: 100 packets, with the one being sent 101.
    for queue in [3, 10, 25, 50, 75, 101, 150] {
        let link = format!(
            "rate = \"1.2Mbit/s\"\ndelay = \"500ms\"\nqueue = \"{queue}packets\"\nback = {{ rate = \"1Gbit/s\" }}"
        );
        let outcome = one_flow(&link, 3000);
        let [flow] = &outcome.flows[..] else { panic!("one flow") };
        let measured = outcome.links[0].utilisation().unwrap();
        let expected = sawtooth(101.0, queue as f64 - 1.0);
        assert_eq!(flow.counts.timeouts, Some(0), "queue {queue}");
        assert!((measured - expected).abs() < 0.01, "queue {queue}: {measured} for {expected}");
        if queue >= 101 {
            assert!(measured > 0.995, "queue {queue}: {measured}");
        }
    }
}

#[test]
fn throughput_follows_the_inverse_square_root_of_loss() {
    // Mathis, Semke, Mahdavi and Ott (1997): with every segment acknowledged, C is 1.22 for losses
    // at even distances, 1.31 for random ones. At 1 % the window is some 12 packets, and losses of
    // several in a window and timeouts take their share.
    for (loss, min, max) in [
        (1e-4, 1.15, 1.45),
        (3e-4, 1.2, 1.42),
        (1e-3, 1.2, 1.42),
        (3e-3, 1.15, 1.4),
        (1e-2, 1.0, 1.4),
    ] {
        // A round trip of 100 ms; some hundreds of losses.
        let losses = if loss < 2e-4 { 80.0 } else { 400.0 };
        let window = 1.31 / f64::sqrt(loss);
        let duration = (losses / loss / window * 0.1) as u64;
        let link = format!("delay = \"50ms\"\nloss = {loss}\nback = {{ loss = 0 }}");
        let outcome = one_flow(&link, duration);
        let packets_per_round_trip = outcome.flows[0].goodput / 8.0 / 1460.0 * 0.1;
        let constant = packets_per_round_trip * loss.sqrt();
        assert!((min..max).contains(&constant), "loss {loss}: C is {constant}");
    }
}

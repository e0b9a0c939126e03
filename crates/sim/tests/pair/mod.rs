//! Random scenarios: two hosts, two gateways (or one, or none), a bad satellite link between.

use bentpipe_core::link::{LinkConfig, QueueLimit};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::tcp::pacing::Pacing;
use bentpipe_core::tcp::receiver::AckPolicy;
use bentpipe_core::tcp::rtt::RtoConfig;
use bentpipe_core::tcp::sender::InitialWindow;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Probability, Rate};
use bentpipe_core::wire::SeqNum;
use bentpipe_gateway::{AddOptions, Config, Gateway};
use bentpipe_sim::{Close, Faults, Host, Line, Node, Pace, Script, SessionKey, Start, World};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::net::IpAddr;

/// How bad the scenarios are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    /// Nothing but delay and rate.
    Calm,
    /// Losses, duplicates, reordering, damage, outages.
    Faulty,
    /// Applications reset their connections, too.
    Violent,
}

/// A connection in a scenario: where to find its two ends, and what they were to do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    /// Node and session of the caller, then of the called.
    pub(crate) ends: [(usize, SessionKey); 2],
    /// What runs there.
    pub(crate) applications: [Script; 2],
}

impl Call {
    /// Whether one of the applications resets the connection.
    pub(crate) fn aborts(&self) -> bool {
        self.applications.iter().any(|application| application.abort_after.is_some())
    }
}

/// A world about to run.
pub(crate) struct Scenario {
    pub(crate) world: World,
    pub(crate) calls: Vec<Call>,
    /// What was drawn, for the reader of a failure.
    pub(crate) description: String,
}

/// Draws a scenario.
pub(crate) fn draw(seed: u64, severity: Severity) -> Scenario {
    let mut draw = Draw { rng: Pcg64Mcg::seed_from_u64(seed), severity };
    let v6 = draw.flip();
    let address = |last: u8| {
        if v6 {
            IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, u16::from(last)])
        } else {
            IpAddr::from([10, 0, 0, last])
        }
    };
    let mut hosts = [Host::new(address(1)), Host::new(address(2))];
    let count = draw.pick(&[1, 1, 2, 5]);
    let calls: Vec<Call> = (0..count).map(|number| draw.call(&mut hosts, number)).collect();
    let satellite = draw.satellite();
    let middle: Vec<Node> = match draw.pick(&[2, 2, 2, 2, 1, 0]) {
        2 => {
            let one = draw.gateway(&satellite);
            let other = if draw.flip() { one.clone() } else { draw.gateway(&satellite) };
            vec![gateway(one, 0), gateway(other, 1)]
        }
        1 => vec![gateway(draw.gateway(&satellite), 0), Node::Router],
        _ => vec![Node::Router, Node::Router],
    };
    let faults = draw.faults();
    let description = format!("{calls:#?}\n{satellite:#?}\n{faults:#?}\n{middle:#?}");
    let back = LinkConfig { seed: satellite.seed + 1, ..satellite.clone() };
    let lines = vec![
        draw.cable(),
        [Line::new(&satellite, faults.clone()), Line::new(&back, faults)],
        draw.cable(),
    ];
    let [left, right] = hosts;
    let mut nodes = vec![Node::Host(left)];
    nodes.extend(middle);
    nodes.push(Node::Host(right));
    Scenario { world: World::chain(nodes, lines), calls, description }
}

fn gateway(config: Config, lan: usize) -> Node {
    Node::Gateway(Box::new(Gateway::new(config)), vec![lan])
}

struct Draw {
    rng: Pcg64Mcg,
    severity: Severity,
}

impl Draw {
    fn flip(&mut self) -> bool {
        self.rng.random()
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.rng.random_range(0..choices.len())]
    }

    fn between(&mut self, least: u64, most: u64) -> u64 {
        self.rng.random_range(least..=most)
    }

    fn millis(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(self.between(least, most))
    }

    /// Zero half of the time, else up to `worst`.
    fn chance(&mut self, worst: f64) -> Probability {
        let value = self.rng.random::<f64>() * worst;
        let bad = self.flip() && self.severity != Severity::Calm;
        Probability::new(if bad { value } else { 0.0 }).expect("below one")
    }

    fn call(&mut self, hosts: &mut [Host; 2], number: u16) -> Call {
        let caller = usize::from(self.flip());
        let nodes = if caller == 0 { [0, 3] } else { [3, 0] };
        let (port, listening) = (1000 + number, 80 + number);
        let keys = [
            (port, hosts[1 - caller].address(), listening),
            (listening, hosts[caller].address(), port),
        ];
        let mut applications = [self.application(), self.application()];
        let name = 2 * u64::from(number);
        for (end, application) in applications.iter_mut().enumerate() {
            application.key = name + end as u64;
            application.peer_key = name + 1 - end as u64;
        }
        // One end may answer, or close behind the other; not both, or they wait for ever.
        match self.between(0, 5) {
            0 => applications[1].start = Start::AfterReading(applications[0].bytes),
            1 => applications[1].start = Start::AfterReading(applications[0].bytes / 2),
            2 => applications[0].close = Close::AfterPeer,
            3 => applications[1].close = Close::AfterPeer,
            _ => {}
        }
        let configs = [self.connection(), self.connection()];
        let isns = [0; 2].map(|_: u32| {
            let near_wrap = self.flip();
            let isn = self.rng.random::<u32>();
            SeqNum(if near_wrap { isn | 0xffff_0000 } else { isn })
        });
        let at = Instant::ZERO + self.millis(0, 3_000);
        hosts[caller].call(at, keys[0], configs[0], isns[0], applications[0]);
        hosts[1 - caller].listen(listening, configs[1], isns[1], applications[1]);
        Call { ends: [(nodes[0], keys[0]), (nodes[1], keys[1])], applications }
    }

    fn application(&mut self) -> Script {
        let bytes = match self.between(0, 4) {
            0 => 0,
            1 => self.between(1, 3_000),
            2 => self.pick(&[1, 1447, 1448, 1449, 1460, 65_535, 65_536, 65_537]),
            _ => self.between(1, 400_000),
        };
        let abort = self.severity == Severity::Violent && self.between(0, 2) == 0;
        Script {
            bytes,
            write: self.pace(),
            read: self.pace(),
            abort_after: abort.then(|| self.millis(0, 8_000)),
            ..Script::default()
        }
    }

    fn pace(&mut self) -> Pace {
        if self.between(0, 3) > 0 {
            return Pace::default();
        }
        Pace { chunk: self.between(500, 20_000), every: self.millis(1, 200) }
    }

    fn connection(&mut self) -> ConnectionConfig {
        let mut config = ConnectionConfig {
            mss: self.pick(&[1460, 1460, 1400, 536]),
            send_buffer: self.between(4_000, 400_000),
            receive_buffer: self.pick(&[2_000, 20_000, 65_535, 400_000]),
            window_scale: self.pick(&[Some(7), Some(0), Some(4), None]),
            sack: self.between(0, 3) > 0,
            timestamps: self.flip(),
            ack_policy: self
                .pick(&[AckPolicy::PerSegment, AckPolicy::Delayed(Duration::from_millis(40))]),
            syn_retries: 30,
            time_wait: Duration::from_secs(120),
            ..ConnectionConfig::default()
        };
        let smss = config.sender.smss;
        config.sender.nagle = self.flip();
        config.sender.max_burst = self.pick(&[smss, 16 * smss]);
        config.sender.initial_window = InitialWindow::Segments(self.pick(&[1, 2, 10]));
        config.sender.pacing = self.pick(&[Pacing::Off, Pacing::Window { cap: None }]);
        config.sender.max_unanswered = 60;
        config.sender.rto = rto();
        config
    }

    fn gateway(&mut self, satellite: &LinkConfig) -> Config {
        let mut config = Config {
            memory: Bytes::new(self.pick(&[512 << 20, 1 << 20, 400 << 10])),
            stream_capacity: Bytes::new(self.pick(&[4 << 20, 100_000, 20_000])),
            guaranteed: Bytes::new(self.pick(&[16 << 10, 4 << 10])),
            add_options: self.pick(&[AddOptions::KnownPeer, AddOptions::Always, AddOptions::Never]),
            announce: self.between(0, 3) > 0,
            super_segments: self.flip(),
            fin_hold: self.pick(&[Duration::from_secs(30), Duration::from_millis(300)]),
            idle_timeout: Duration::from_secs(900),
            ..Config::default()
        };
        if self.flip() {
            config.satellite.rate = satellite.rate.as_ref().map(|rate| rate.at(Instant::ZERO));
            config.satellite.round_trip = Some(satellite.delay.at(Instant::ZERO) * 2);
        }
        config.satellite.sender.rto = rto();
        config.lan.sender.rto = rto();
        config
    }

    fn satellite(&mut self) -> LinkConfig {
        let rate = Rate::from_bits_per_sec(self.pick(&[500_000, 2_000_000, 20_000_000]));
        let delay = self.millis(5, 300);
        let queue = match self.between(0, 3) {
            0 => QueueLimit::Packets(self.between(5, 50)),
            1 => QueueLimit::Unlimited,
            _ => QueueLimit::bandwidth_delay_product(rate, delay + Duration::from_millis(50)),
        };
        LinkConfig {
            rate: Some(rate.into()),
            delay: delay.into(),
            queue: queue.into(),
            packet_loss: self.chance(0.12).into(),
            bit_errors: self.chance(1e-6).into(),
            seed: self.rng.random::<u64>() >> 1,
            ..LinkConfig::IDEAL
        }
    }

    fn faults(&mut self) -> Faults {
        let mut faults = Faults {
            duplicate: self.chance(0.1),
            reorder: self.chance(0.1),
            jitter: self.millis(1, 300),
            corrupt: self.chance(0.05),
            outages: Vec::new(),
            through_bytes: true,
        };
        if self.severity != Severity::Calm && self.between(0, 2) == 0 {
            let start = Instant::ZERO + self.millis(0, 10_000);
            faults.outages.push(start..start + self.millis(10, 20_000));
        }
        faults
    }

    /// A LAN cable, hardly ever at fault.
    fn cable(&mut self) -> [Line; 2] {
        let link = LinkConfig {
            rate: Some(Rate::from_bits_per_sec(100_000_000).into()),
            delay: self.millis(0, 3).into(),
            packet_loss: self.chance(0.02).into(),
            seed: self.rng.random::<u64>() >> 1,
            ..LinkConfig::IDEAL
        };
        let back = LinkConfig { seed: link.seed + 1, ..link.clone() };
        let duplicate = self.chance(0.01);
        let faults = Faults { duplicate, through_bytes: true, ..Faults::default() };
        [Line::new(&link, faults.clone()), Line::new(&back, faults)]
    }
}

/// Short enough that hundreds of losses fit into a run.
fn rto() -> RtoConfig {
    RtoConfig { max: Duration::from_secs(8), ..RtoConfig::default() }
}

//! Draws plans: small transfers, so that a seed costs milliseconds, and all that can befall them.

mod adoption;
mod changes;
mod icmp;
mod keys;
mod later;
mod liars;
mod meddling;
mod signals;
mod together;

use super::line_faults::Faults;
use super::plan::{Cable, Call, Detour, FaultPlan, Hazard, Middle};
use crate::host::script::{Close, Pace, Script, Start};
use bentpipe_core::link::{After, GilbertElliott, LinkConfig, LossKind, QueueLimit, Schedule};
use bentpipe_core::link::{Order, Varying};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::tcp::pacing::Pacing;
use bentpipe_core::tcp::receiver::AckPolicy;
use bentpipe_core::tcp::rtt::RtoConfig;
use bentpipe_core::tcp::sender::InitialWindow;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Probability, Rate};
use bentpipe_core::wire::SeqNum;
use bentpipe_gateway::{AddOptions, Config, Discard, FinMode, FoundBy, Handshake};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// When applications of runs that may break give up waiting: by then their connections have
/// completed or timed out, or one host waits for another that has forgotten it.
const PATIENCE: Duration = Duration::from_secs(1800);

/// How long a stopped gateway may deliver what it holds: bursts may swallow all that a box
/// retransmits in a minute (seed 23554).
const DRAIN: Duration = Duration::from_secs(3600);

impl FaultPlan {
    /// Draws a plan.
    pub fn draw(seed: u64) -> FaultPlan {
        let rng = Pcg64Mcg::seed_from_u64(seed);
        let mut draw = Draw { rng, hazards: BTreeSet::new() };
        let calm = draw.one_in(12);
        if !calm {
            draw.hazards();
        }
        let mut plan = draw.plan(seed);
        if !calm {
            draw.icmp(&mut plan);
        }
        draw.adoption(&mut plan);
        draw.recall(&mut plan);
        if !calm {
            later::add(seed, &mut plan);
        }
        plan
    }
}

struct Draw {
    rng: Pcg64Mcg,
    hazards: BTreeSet<Hazard>,
}

impl Draw {
    fn plan(&mut self, seed: u64) -> FaultPlan {
        let v6 = self.flip();
        let addresses = [1, 2].map(|last: u8| {
            if v6 {
                IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, u16::from(last)])
            } else {
                IpAddr::from([10, 0, 0, last])
            }
        });
        let through_bytes = self.one_in(4);
        let satellite = self.satellite();
        let back = LinkConfig { seed: satellite.seed + 1, ..satellite.clone() };
        let middle = self.middle(&satellite);
        let count = self.pick(&[1, 1, 1, 2, 4]);
        let calls: Vec<Call> = (0..count).map(|number| self.call(addresses, number)).collect();
        let faults = self.faults(through_bytes);
        let cables = [self.cable(through_bytes), self.cable(through_bytes)];
        let routes = self.has(Hazard::RouteOneWay) || self.has(Hazard::RouteTwoWay);
        let detour = routes.then(|| self.detour(&satellite));
        let mut changes = self.changes(&middle, &calls);
        changes.sort_by_key(|(at, _)| *at);
        FaultPlan {
            seed,
            hazards: std::mem::take(&mut self.hazards),
            addresses,
            calls,
            satellite: [satellite, back],
            faults,
            cables,
            middle,
            detour,
            strait: None,
            meddlers: Vec::new(),
            changes,
        }
    }

    /// Which hazards there are: each on its own, so that most runs have several.
    fn hazards(&mut self) {
        for (hazard, percent) in [
            (Hazard::Loss, 45),
            (Hazard::BurstLoss, 15),
            (Hazard::Reordering, 40),
            (Hazard::Duplication, 40),
            (Hazard::Corruption, 30),
            (Hazard::DelayChange, 15),
            (Hazard::Outage, 25),
            (Hazard::Abort, 25),
            (Hazard::Crash, 12),
            (Hazard::Drain, 12),
            (Hazard::RouteOneWay, 10),
            (Hazard::RouteTwoWay, 10),
            (Hazard::Exhaustion, 20),
            (Hazard::Attack, 30),
            (Hazard::SynFlood, 10),
        ] {
            if self.between(1, 100) <= percent {
                self.hazards.insert(hazard);
            }
        }
        if self.has(Hazard::Crash) && self.flip() {
            self.hazards.insert(Hazard::Restart);
        }
        // A link loses packets in one way or in the other.
        if self.has(Hazard::BurstLoss) {
            self.hazards.remove(&Hazard::Loss);
        }
    }

    fn has(&self, hazard: Hazard) -> bool {
        self.hazards.contains(&hazard)
    }

    fn may_break(&self) -> bool {
        self.hazards.iter().any(|hazard| hazard.breaks())
    }

    fn flip(&mut self) -> bool {
        self.rng.random()
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.between(1, count) == 1
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.rng.random_range(0..choices.len())]
    }

    fn between(&mut self, min: u64, max: u64) -> u64 {
        self.rng.random_range(min..=max)
    }

    fn millis(&mut self, min: u64, max: u64) -> Duration {
        Duration::from_millis(self.between(min, max))
    }

    /// Up to `worst` if there is this hazard, else zero.
    fn chance(&mut self, hazard: Hazard, worst: f64) -> Probability {
        let value = self.rng.random::<f64>() * worst;
        Probability::new(if self.has(hazard) { value } else { 0.0 }).expect("below one")
    }

    fn call(&mut self, addresses: [IpAddr; 2], number: u16) -> Call {
        let caller = usize::from(self.flip());
        let (port, listening) = (1000 + number, 80 + number);
        let keys = [(port, addresses[1 - caller], listening), (listening, addresses[caller], port)];
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
        Call { caller, at, keys, configs, isns, applications }
    }

    fn application(&mut self) -> Script {
        let bytes = match self.between(0, 9) {
            0 | 1 => 0,
            2 | 3 => self.between(1, 3_000),
            4 => self.pick(&[1, 1447, 1448, 1449, 1460, 16_384, 65_535, 65_536, 65_537]),
            5 => self.between(1, 300_000),
            // A pool that is never full is not exhausted.
            6 | 7 if self.has(Hazard::Exhaustion) => self.between(100_000, 300_000),
            _ => self.between(1, 60_000),
        };
        let abort_after = if self.has(Hazard::Abort) && self.one_in(3) {
            Some(self.millis(0, 8_000))
        } else {
            self.may_break().then_some(PATIENCE)
        };
        let (write, read) = (self.pace(), self.pace());
        Script { bytes, write, read, abort_after, ..Script::default() }
    }

    fn pace(&mut self) -> Pace {
        if !self.one_in(5) {
            return Pace::default();
        }
        Pace { chunk: self.between(500, 20_000), every: self.millis(1, 200) }
    }

    fn connection(&mut self) -> ConnectionConfig {
        let mut config = ConnectionConfig {
            mss: self.pick(&[1460, 1460, 1400, 536]),
            send_buffer: Bytes::new(self.between(4_000, 400_000)),
            receive_buffer: Bytes::new(self.pick(&[2_000, 20_000, 65_535, 400_000])),
            window_scale: self.pick(&[Some(7), Some(0), Some(4), None]),
            sack: self.between(0, 3) > 0,
            timestamps: self.flip(),
            ack_policy: self
                .pick(&[AckPolicy::PerSegment, AckPolicy::Delayed(Duration::from_millis(40))]),
            syn_retries: 60,
            time_wait: Duration::from_secs(120),
            ..ConnectionConfig::default()
        };
        let smss = config.sender.smss;
        config.sender.nagle = self.flip();
        config.sender.max_burst = self.pick(&[smss, 16 * smss]);
        config.sender.initial_window = InitialWindow::Segments(self.pick(&[1, 2, 10]));
        config.sender.pacing = self.pick(&[Pacing::Off, Pacing::Window { cap: None }]);
        config.sender.max_retries = self.max_retries();
        config.sender.rto = rto();
        config
    }

    /// How often something is sent in vain before the peer is given up. Bursts of losses may be
    /// long, and where nothing breaks nobody is to be given up.
    fn max_retries(&self) -> u32 {
        if self.may_break() { 15 } else { 100 }
    }

    fn middle(&mut self, satellite: &LinkConfig) -> [Middle; 2] {
        let gateway = |config| Middle::Gateway(Box::new(config));
        let mut middle = match self.pick(&[2, 2, 2, 2, 2, 1, 1, 0]) {
            2 => {
                let one = self.gateway(satellite);
                let other = if self.flip() { one.clone() } else { self.gateway(satellite) };
                [gateway(one), gateway(other)]
            }
            1 => [gateway(self.gateway(satellite)), Middle::Router],
            _ => [Middle::Router, Middle::Router],
        };
        if self.flip() {
            middle.reverse();
        }
        middle
    }

    fn gateway(&mut self, satellite: &LinkConfig) -> Config {
        let mut config = Config {
            memory: Bytes::new(self.pick(&[512 << 20, 1 << 20, 400 << 10])),
            max_stream: self.pick(&[None, Some(100_000), Some(20_000)]).map(Bytes::new),
            guaranteed: Bytes::new(self.pick(&[16 << 10, 4 << 10])),
            add_options: self.pick(&[AddOptions::KnownPeer, AddOptions::Always, AddOptions::Never]),
            announce: self.between(0, 3) > 0,
            handshake: self.pick(&[
                Handshake::EndToEnd,
                Handshake::EndToEnd,
                Handshake::DownstreamFirst,
            ]),
            fin: self.pick(&[FinMode::EndToEnd, FinMode::EndToEnd, FinMode::Immediate]),
            super_segments: self.flip(),
            reset_drain: if self.has(Hazard::Drain) { DRAIN } else { Duration::from_secs(60) },
            fin_hold: self.pick(&[Duration::from_secs(30), Duration::from_millis(300)]),
            // Whenever they can, between two segments.
            hibernate_after: Duration::ZERO,
            idle_timeout: Duration::from_secs(900),
            ..Config::default()
        };
        // See `together`.
        config.satellite.found_by = FoundBy::EachFlow;
        if self.has(Hazard::Exhaustion) {
            config.memory = Bytes::new(self.pick(&[20_000, 40_000, 70_000, 150_000]));
            config.guaranteed = Bytes::new(self.pick(&[2_000, 4_000, 16_000]));
            let max = self.pick(&[Some(4_000), Some(20_000), Some(100_000), None]);
            config.max_stream = max.map(Bytes::new);
            config.max_flows = self.pick(&[0, 1, 2, 20]);
            config.max_half_open = self.pick(&[0, 1, 20]);
            config.max_flows_per_client = self.pick(&[1, 20]);
        }
        if self.flip() {
            config.satellite.rate = satellite.rate.as_ref().map(|rate| rate.at(Instant::ZERO));
            config.satellite.round_trip = Some(satellite.delay.at(Instant::ZERO) * 2);
        }
        for leg in [&mut config.satellite, &mut config.lan] {
            leg.sender.rto = rto();
            leg.sender.max_retries = self.max_retries();
            leg.discard = self.pick(&[Discard::Off, Discard::Single, Discard::RandomEarly]);
        }
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
        let mut packet_loss = LossKind::from(self.chance(Hazard::Loss, 0.12));
        if self.has(Hazard::BurstLoss) {
            let burst = self.between(2, 5) as f64;
            let loss = self.chance(Hazard::BurstLoss, 0.1);
            let channel = GilbertElliott::from_bursts(burst, loss).expect("bursts of two and more");
            packet_loss = LossKind::GilbertElliott(channel);
        }
        LinkConfig {
            rate: Some(rate.into()),
            delay: self.delay(delay),
            order: self.pick(&[Order::Kept, Order::ByArrival]),
            queue: queue.into(),
            packet_loss,
            bit_errors: self.chance(Hazard::Loss, 1e-6).into(),
            seed: self.seed(),
            ..LinkConfig::IDEAL
        }
    }

    /// `delay`, or steps that begin with it.
    fn delay(&mut self, delay: Duration) -> Varying<Duration> {
        if !self.has(Hazard::DelayChange) {
            return delay.into();
        }
        let mut steps = vec![(Duration::ZERO, delay)];
        let mut at = Duration::ZERO;
        for _ in 0..self.between(1, 4) {
            at += self.millis(100, 5_000);
            steps.push((at, self.millis(5, 600)));
        }
        let after =
            if self.flip() { After::Hold } else { After::Repeat(at + Duration::from_secs(1)) };
        Schedule::new(steps, after).expect("steps in order").into()
    }

    fn faults(&mut self, through_bytes: bool) -> Faults {
        let mut faults = Faults {
            duplicate: self.chance(Hazard::Duplication, 0.1),
            reorder: self.chance(Hazard::Reordering, 0.1),
            jitter: self.millis(1, 300),
            corrupt: self.chance(Hazard::Corruption, 0.05),
            outages: Vec::new(),
            through_bytes,
        };
        if self.has(Hazard::Outage) {
            let start = Instant::ZERO + self.millis(0, 10_000);
            faults.outages.push(start..start + self.millis(10, 20_000));
        }
        faults
    }

    /// A LAN cable, hardly ever at fault.
    fn cable(&mut self, through_bytes: bool) -> Cable {
        let link = LinkConfig {
            rate: Some(Rate::from_bits_per_sec(100_000_000).into()),
            delay: self.millis(0, 3).into(),
            packet_loss: self.chance(Hazard::Loss, 0.01).into(),
            seed: self.seed(),
            ..LinkConfig::IDEAL
        };
        let duplicate = self.chance(Hazard::Duplication, 0.01);
        Cable { link, faults: Faults { duplicate, through_bytes, ..Faults::default() } }
    }

    fn detour(&mut self, satellite: &LinkConfig) -> Detour {
        let mut way = || LinkConfig {
            rate: Some(self.pick(&[2_000_000, 20_000_000].map(Rate::from_bits_per_sec)).into()),
            delay: self.millis(5, 300).into(),
            packet_loss: self.chance(Hazard::Loss, 0.05).into(),
            seed: self.seed(),
            ..satellite.clone()
        };
        Detour { beside: way(), around: way() }
    }

    /// Seeds of links have room for those of their parts.
    fn seed(&mut self) -> u64 {
        self.rng.random::<u64>() >> 1
    }
}

/// Short enough that hundreds of losses fit into a run.
fn rto() -> RtoConfig {
    RtoConfig { max: Duration::from_secs(8), ..RtoConfig::default() }
}

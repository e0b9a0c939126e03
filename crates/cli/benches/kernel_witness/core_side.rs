//! Core to core, in virtual time, over the same link model.

use super::outcome::Sample;
use super::{Case, CongestionAlgorithm, FILE, Windows};
use bentpipe_core::link::{LinkConfig, QueueLimit};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::tcp::rtt::RtoConfig;
use bentpipe_core::tcp::sender::{Reduction, SenderConfig};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Bytes;
use bentpipe_core::wire::SeqNum;
use bentpipe_sim::{Close, Host, Line, Node, Script, World};
use std::net::IpAddr;

/// How often the receiver's progress is looked at.
const STEP: Duration = Duration::from_millis(5);

/// The congestion control and recovery that are the kernel's.
fn sender(control: CongestionAlgorithm) -> SenderConfig {
    // As Linux: an acknowledgment counts for all that it covers, and the timer allows 200 ms for
    // a delayed one.
    let rto = RtoConfig { granularity: Duration::from_millis(200), ..RtoConfig::default() };
    SenderConfig {
        recovery: "rack".parse().expect("RACK-TLP is in the registry"),
        congestion: match control {
            CongestionAlgorithm::Reno => "standard".parse().expect("in the registry"),
            CongestionAlgorithm::Cubic => "cubic".parse().expect("in the registry"),
            CongestionAlgorithm::Bbr => "bbr1".parse().expect("in the registry"),
        },
        reduction: Reduction::Prr,
        byte_limit: None,
        rto,
        ..SenderConfig::default()
    }
}

/// Both hosts' configuration.
fn config(case: Case) -> ConnectionConfig {
    let preset: ConnectionConfig = "linux".parse().expect("a preset");
    let sender = sender(case.control);
    match case.windows {
        Windows::Tuned => ConnectionConfig { sender, ..preset },
        Windows::Large => ConnectionConfig {
            sender,
            send_buffer: Bytes::new(16 << 20),
            receive_buffer: Bytes::new(16 << 20),
            window_scale: Some(10),
            ..ConnectionConfig::default()
        },
    }
}

/// Sends the file from the one host to the other.
pub(crate) fn transfer(case: Case, run: u64) -> Sample {
    let link = case.link();
    let config = config(case);
    let addresses = [IpAddr::from([10, 91, 1, 2]), IpAddr::from([10, 91, 4, 2])];
    let key = (50_000, addresses[1], 80);
    let mut one = Host::new(addresses[0]);
    let sends = Script { bytes: FILE, key: 1, peer_key: 2, ..Script::default() };
    one.call(Instant::ZERO, key, config, SeqNum(1), sends);
    let mut other = Host::new(addresses[1]);
    let reads = Script { key: 2, peer_key: 1, close: Close::AfterPeer, ..Script::default() };
    other.listen(80, config, SeqNum(2), reads);
    let line = |seed| {
        let config = LinkConfig {
            rate: Some(link.rate.into()),
            delay: link.delay.into(),
            queue: QueueLimit::Bytes(link.queue).into(),
            packet_loss: link.loss.into(),
            seed,
            ..LinkConfig::IDEAL
        };
        Line::new(&config)
    };
    let seed = 1 + 2 * run;
    let nodes = vec![Node::Host(one), Node::Host(other)];
    let mut world = World::chain(nodes, vec![[line(seed), line(seed + 1)]]);
    let mut tenths = [0.0; 10];
    let session = (80, addresses[0], 50_000);
    let mut at = Duration::ZERO;
    while tenths[9] == 0.0 {
        at += STEP;
        assert!(at < Duration::from_secs(3600), "the transfer ends");
        world.run(at);
        let got = world.host(1).report(&session).map_or(0, |report| report.read);
        for (i, tenth) in tenths.iter_mut().enumerate() {
            if *tenth == 0.0 && got * 10 >= FILE * (i as u64 + 1) {
                *tenth = at.as_secs_f64();
            }
        }
    }
    let connection = world.host(0).connection(&key).expect("the caller's connection");
    let stats = connection.tcb().expect("synchronised").sender.stats();
    Sample { seconds: tenths[9], retransmissions: stats.retransmissions, tenths }
}

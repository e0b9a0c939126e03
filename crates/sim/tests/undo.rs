//! Undoing needless reductions between whole hosts: on a path that reorders and loses nothing it
//! wins the rate back; on a path that loses and does not reorder there is nothing to undo.

use bentpipe_core::link::{LinkConfig, QueueLimit};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::tcp::recovery::RecoveryAlgorithm;
use bentpipe_core::tcp::sender::SenderStats;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Probability, Rate};
use bentpipe_core::wire::SeqNum;
use bentpipe_sim::fuzz::Faults;
use bentpipe_sim::{Close, Host, Node, Script, World};
use std::net::IpAddr;

const BYTES: u64 = 4_000_000;
const RATE: Rate = Rate::from_bits_per_sec(8_000_000);
const DELAY: Duration = Duration::from_millis(50);
const SEED: u64 = 7;

/// A share of the packets, held up by as much as forty of them take to leave.
fn reordering() -> Faults {
    Faults {
        reorder: Probability::new(0.01).expect("a probability"),
        jitter: Duration::from_millis(60),
        ..Faults::default()
    }
}

/// Goodput in kbit/s and what the sender counted, for an upload with `text`'s TCP at both ends.
fn transfer(text: &str, loss: f64, faults: &Faults) -> (u64, SenderStats) {
    let config: ConnectionConfig = text.parse().expect("a configuration");
    let config = ConnectionConfig { time_wait: Duration::from_secs(1), ..config };
    let (client, server) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
    let session = (1000, server, 80);
    let mut host = Host::new(client);
    let upload = Script { bytes: BYTES, key: 1, peer_key: 2, ..Script::default() };
    host.call(Instant::ZERO, session, config, SeqNum(5), upload);
    let mut peer = Host::new(server);
    let sink = Script { key: 2, peer_key: 1, close: Close::AfterPeer, ..Script::default() };
    peer.listen(80, config, SeqNum(7), sink);
    let line = |loss: f64, faults: Faults| {
        let link = LinkConfig {
            rate: Some(RATE.into()),
            delay: DELAY.into(),
            queue: QueueLimit::bandwidth_delay_product(RATE, DELAY * 2).into(),
            packet_loss: Probability::new(loss).expect("a probability").into(),
            seed: SEED,
            ..LinkConfig::IDEAL
        };
        faults.line(&link)
    };
    let lines = vec![[line(loss, faults.clone()), line(0.0, Faults::default())]];
    let mut world = World::chain(vec![Node::Host(host), Node::Host(peer)], lines);
    let (mut limit, mut stats) = (Duration::ZERO, SenderStats::default());
    loop {
        limit += Duration::from_millis(100);
        let over = world.run(limit);
        let tcb = world.host(0).connection(&session).and_then(|connection| connection.tcb());
        stats = tcb.map_or(stats, |tcb| tcb.sender.stats());
        let report = world.host(1).report(&(80, client, 1000));
        if let Some(report) = report.filter(|report| report.read == BYTES) {
            let took = report.last_read.expect("all was read").as_secs_f64();
            return ((BYTES as f64 * 8.0 / took / 1000.0).round() as u64, stats);
        }
        assert!(!over && limit < Duration::from_secs(1000), "{text} does not end");
    }
}

fn text(algorithm: RecoveryAlgorithm, timestamps: bool, undo: bool) -> String {
    let switch = |on: bool| if on { "on" } else { "off" };
    format!(
        "recovery={algorithm},timestamps={},undo={},ssthresh=100KB,send-buffer=1MiB,receive-buffer=1MiB,window-scale=6",
        switch(timestamps),
        switch(undo),
    )
}

#[test]
fn reordering_does_not_cost_the_rate() {
    for algorithm in [
        RecoveryAlgorithm::NewReno,
        RecoveryAlgorithm::Sack,
        RecoveryAlgorithm::Fack,
        RecoveryAlgorithm::Rack,
    ] {
        for timestamps in [true, false] {
            let (off, _) = transfer(&text(algorithm, timestamps, false), 0.0, &reordering());
            let (on, stats) = transfer(&text(algorithm, timestamps, true), 0.0, &reordering());
            let found = format!("{algorithm}, timestamps {timestamps}: {off} to {on}, {stats:?}");
            // RACK tolerates most of it by itself. NewReno's go-back-N sends much twice again, of
            // which reports of duplicates say nothing.
            let (factor, share) = match (algorithm, timestamps) {
                (RecoveryAlgorithm::Rack, _) => (1.3, 0.9),
                (RecoveryAlgorithm::NewReno, false) => (1.0, 0.5),
                _ => (2.0, 0.8),
            };
            assert!(on as f64 > off as f64 * factor, "{found}");
            let reductions = stats.recoveries + stats.timeouts;
            assert!(stats.spurious as f64 >= reductions as f64 * share, "{found}");
        }
    }
}

#[test]
fn what_is_lost_is_not_undone() {
    for &algorithm in RecoveryAlgorithm::ALL {
        let (off, _) = transfer(&text(algorithm, true, false), 0.01, &Faults::default());
        let (on, stats) = transfer(&text(algorithm, true, true), 0.01, &Faults::default());
        assert!(stats.recoveries > 5, "{algorithm}");
        // These let a false fast retransmit happen behind a timeout, which is needless indeed.
        let false_ones = matches!(
            algorithm,
            RecoveryAlgorithm::Reno
                | RecoveryAlgorithm::NewRenoLessCareful
                | RecoveryAlgorithm::NewRenoAckHeuristic
        );
        if false_ones {
            assert!(stats.spurious <= 1, "{algorithm}: {stats:?}");
        } else {
            assert_eq!((on, stats.spurious), (off, 0), "{algorithm}");
        }
    }
}

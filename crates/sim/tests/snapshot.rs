//! The behaviour of every loss recovery algorithm with every congestion control, as a table kept
//! beside this file: 2 MB at 8 Mbit/s with one bandwidth-delay product of buffer, by loss and
//! round-trip time. A change in behaviour is thereby seen in review.
//!
//! `BENTPIPE_BLESS=1 cargo test -p bentpipe-sim --test runs snapshot` writes the table anew.

use bentpipe_core::link::{LinkConfig, QueueLimit};
use bentpipe_core::tcp::congestion::CongestionAlgorithm;
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::tcp::recovery::RecoveryAlgorithm;
use bentpipe_core::tcp::sender::SenderConfig;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Probability, Rate};
use bentpipe_core::wire::SeqNum;
use bentpipe_sim::{Close, Host, Line, Node, Script, World};
use std::fmt::Write;
use std::net::IpAddr;
use std::path::Path;

const BYTES: u64 = 2_000_000;
const RATE: Rate = Rate::from_bits_per_sec(8_000_000);
const LOSSES: [(&str, f64); 4] = [("0", 0.0), ("0.1%", 0.001), ("1%", 0.01), ("3%", 0.03)];
const ROUND_TRIPS: [u64; 3] = [20, 100, 550];
const SEED: u64 = 3;

/// What is measured, and how the file's columns are called.
const HEAD: &str = "\
# 2 MB at 8 Mbit/s, a bandwidth-delay product of buffer, one seed: goodput in kbit/s and
# retransmissions, by packet loss and round-trip time.
";

/// Every recovery with the standard control, and every other control with SACK.
fn combinations() -> impl Iterator<Item = (RecoveryAlgorithm, CongestionAlgorithm)> {
    let recoveries =
        RecoveryAlgorithm::ALL.iter().map(|algorithm| (*algorithm, CongestionAlgorithm::Standard));
    let controls = CongestionAlgorithm::ALL
        .into_iter()
        .skip(1)
        .map(|control| (RecoveryAlgorithm::Sack, control));
    recoveries.chain(controls)
}

/// Goodput in kbit/s and segments retransmitted.
fn transfer(
    algorithm: RecoveryAlgorithm,
    control: CongestionAlgorithm,
    loss: f64,
    round_trip: Duration,
) -> Option<(u64, u64)> {
    let sender =
        SenderConfig { recovery: algorithm, congestion: control, ..SenderConfig::default() };
    let config = ConnectionConfig {
        sack: algorithm.needs_sack(),
        time_wait: Duration::from_secs(1),
        sender,
        ..ConnectionConfig::default()
    };
    let (client, server) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
    let mut host = Host::new(client);
    let upload = Script { bytes: BYTES, key: 1, peer_key: 2, ..Script::default() };
    let session = (1000, server, 80);
    host.call(Instant::ZERO, session, config, SeqNum(5), upload);
    let mut peer = Host::new(server);
    let sink = Script { key: 2, peer_key: 1, close: Close::AfterPeer, ..Script::default() };
    peer.listen(80, config, SeqNum(7), sink);
    let line = |loss: f64| {
        let link = LinkConfig {
            rate: Some(RATE.into()),
            delay: (round_trip / 2).into(),
            queue: QueueLimit::bandwidth_delay_product(RATE, round_trip / 2).into(),
            packet_loss: Probability::new(loss).expect("a probability").into(),
            seed: SEED,
            ..LinkConfig::IDEAL
        };
        Line::new(&link)
    };
    let nodes = vec![Node::Host(host), Node::Host(peer)];
    let mut world = World::chain(nodes, vec![[line(loss), line(0.0)]]);
    // The hosts forget nothing, but a closed connection loses its counters: look while it lives.
    let (mut limit, mut sent_again) = (Duration::ZERO, 0);
    loop {
        limit += Duration::from_millis(100);
        let over = world.run(limit);
        let tcb = world.host(0).connection(&session).and_then(|connection| connection.tcb());
        sent_again = tcb.map_or(sent_again, |tcb| tcb.sender.stats().retransmissions);
        let report = world.host(1).report(&(80, client, 1000));
        if let Some(report) = report.filter(|report| report.read == BYTES) {
            let took = report.last_read?.as_secs_f64();
            return Some(((BYTES as f64 * 8.0 / took / 1000.0).round() as u64, sent_again));
        }
        if over || limit > Duration::from_secs(1000) {
            return None;
        }
    }
}

fn table() -> String {
    let mut out = String::from(HEAD);
    for (algorithm, control) in combinations() {
        let _ = writeln!(out, "\n{algorithm} {control}");
        let _ = write!(out, "{:<22}", "");
        for round_trip in ROUND_TRIPS {
            let _ = write!(out, " {:>14}", format!("{round_trip}ms"));
        }
        out.push('\n');
        for (loss_name, loss) in LOSSES {
            let _ = write!(out, "{loss_name:>22}");
            for round_trip in ROUND_TRIPS.map(Duration::from_millis) {
                let cell = match transfer(algorithm, control, loss, round_trip) {
                    Some((goodput, again)) => format!("{goodput:>7} {again:>6}"),
                    None => format!("{:>14}", "unfinished"),
                };
                let _ = write!(out, " {cell}");
            }
            out.push('\n');
        }
    }
    out
}

/// The lines in which two tables differ, each with the line above its block that names it.
fn differences(kept: &str, now: &str) -> String {
    let mut out = String::new();
    let mut heading = "";
    let (mut kept, mut now) = (kept.lines(), now.lines());
    loop {
        let (before, after) = match (kept.next(), now.next()) {
            (None, None) => return out,
            (before, after) => (before.unwrap_or(""), after.unwrap_or("")),
        };
        if after.starts_with(|first: char| first.is_alphabetic()) {
            heading = after;
        }
        if before != after {
            let _ = writeln!(out, "  {heading}\n- {before}\n+ {after}");
        }
    }
}

#[test]
fn goodput_and_retransmissions_are_as_they_were() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshot.txt");
    let now = table();
    if std::env::var_os("BENTPIPE_BLESS").is_some() {
        std::fs::write(&path, &now).expect("the table can be written");
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == now,
        "{} differs; BENTPIPE_BLESS=1 accepts:\n{}",
        path.display(),
        differences(&kept, &now)
    );
}

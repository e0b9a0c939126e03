//! The same downloads in virtual time: the project's own TCP at the ends, the same gateway code,
//! the same link. Slow start is Linux's with standard congestion control, not CUBIC.

use super::report::{Row, limit};
use bentpipe_core::link::{LinkConfig, QueueLimit};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::tcp::sender::SenderConfig;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::SeqNum;
use bentpipe_gateway::{Config, Gateway};
use bentpipe_sim::{Close, Host, Line, Node, Script, Start, World};
use bentpipe_testbed::five_hosts::SatelliteLink;
use std::net::IpAddr;

/// A simulated download that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(600);
/// The length of curl's request, about.
const REQUEST: u64 = 80;

const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 91, 1, 2));
const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 91, 4, 2));

/// Downloads files of `sizes` over `link`, end to end and through the gateways.
pub fn all(link: &SatelliteLink, sizes: &[u64]) -> Vec<Row> {
    sizes
        .iter()
        .map(|&bytes| {
            let ends = |gateways| Ends { hosts: own_tcp(), gateways, told: true };
            let [direct, split] = [false, true].map(|there| download(link, bytes, ends(there)));
            Row {
                bytes,
                end_to_end_s: direct.unwrap_or(f64::INFINITY),
                gateways_s: split,
                limit_s: limit(link, bytes).as_secs_f64(),
                hashes_match: direct.is_some() && split.is_some(),
            }
        })
        .collect()
}

/// What is at the ends of the link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    /// The hosts' TCP.
    pub(super) hosts: ConnectionConfig,
    /// Whether there are gateways.
    pub(super) gateways: bool,
    /// Whether they know the link.
    pub(super) told: bool,
}

/// The project's own TCP.
fn own_tcp() -> ConnectionConfig {
    let sender = SenderConfig { byte_limit: None, ..SenderConfig::default() };
    ConnectionConfig { sender, ..ConnectionConfig::default() }
}

/// Seconds from the SYN to the last byte. None if the file did not come whole; the hosts compare
/// every byte that they read with the one that was sent.
pub(super) fn download(link: &SatelliteLink, bytes: u64, ends: Ends) -> Option<f64> {
    let config = ends.hosts;
    let key = (50_000, SERVER, 80);
    let mut client = Host::new(CLIENT);
    let request = Script {
        bytes: REQUEST,
        key: 1,
        peer_key: 2,
        close: Close::AfterPeer,
        ..Script::default()
    };
    client.call(Instant::ZERO, key, config, SeqNum(1), request);
    let mut server = Host::new(SERVER);
    let answer = Script {
        bytes,
        key: 2,
        peer_key: 1,
        start: Start::AfterReading(REQUEST),
        ..Script::default()
    };
    server.listen(80, config, SeqNum(2), answer);

    let middle = |lan_port: usize| match ends.gateways {
        true => Node::Gateway(Box::new(gateway(link, ends.told)), vec![lan_port]),
        false => Node::Router,
    };
    let nodes = vec![Node::Host(client), middle(0), middle(1), Node::Host(server)];
    let lan = LinkConfig::IDEAL;
    // Each direction loses packets of its own.
    let cable =
        |config: &LinkConfig| [1, 2].map(|seed| Line::new(&LinkConfig { seed, ..config.clone() }));
    let mut world = World::chain(nodes, vec![cable(&lan), cable(&satellite(link)), cable(&lan)]);
    world.run(PATIENCE);
    let report = world.host(0).report(&key)?;
    report.last_read.filter(|_| report.read == bytes).map(Instant::as_secs_f64)
}

/// Both directions of the satellite link.
fn satellite(link: &SatelliteLink) -> LinkConfig {
    LinkConfig {
        rate: Some(link.rate.into()),
        delay: link.delay.into(),
        queue: QueueLimit::Bytes(link.queue).into(),
        packet_loss: link.loss.into(),
        ..LinkConfig::IDEAL
    }
}

/// A gateway as the live demo configures it, `told` about the link or not.
fn gateway(link: &SatelliteLink, told: bool) -> Gateway {
    let mut config = Config { super_segments: false, ..Config::default() };
    if told {
        config.satellite.rate = Some(link.rate);
        config.satellite.round_trip = Some(2 * link.delay);
    }
    let ethernet = 1500;
    config.lan.mtu = ethernet;
    config.satellite.mtu = ethernet;
    Gateway::new(config)
}

#[cfg(test)]
mod tests {
    use super::super::{SIZES, geo_link};
    use super::*;

    #[test]
    fn the_gateways_are_near_the_limit_and_never_slower() {
        for row in all(&geo_link(), &SIZES) {
            let gateways = row.gateways_s.unwrap();
            assert!(row.hashes_match);
            assert!(gateways >= row.limit_s * 0.99 && gateways < row.limit_s * 1.1, "{row:?}");
            assert!(gateways <= row.end_to_end_s * 1.05, "{row:?}");
        }
    }
}

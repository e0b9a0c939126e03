//! The same downloads in virtual time: the project's own TCP at the ends, the same gateway code,
//! the same link. Slow start is Linux's with standard congestion control, not CUBIC.

use super::report::{Row, limit};
use bentpipe_core::link::{LinkConfig, QueueLimit};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::tcp::sender::SenderConfig;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::SeqNum;
use bentpipe_gateway::{Config, Gateway};
use bentpipe_net::testbed::SatelliteLink;
use bentpipe_sim::{Close, Faults, Host, Line, Node, Script, Start, World};
use std::net::IpAddr;

/// A simulated download that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(600);
/// The length of curl's request, about.
const REQUEST: u64 = 80;

const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 91, 1, 2));
const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 91, 4, 2));

/// Downloads files of `sizes` over `link`, end to end and through the gateways.
pub(crate) fn all(link: &SatelliteLink, sizes: &[u64]) -> Vec<Row> {
    sizes
        .iter()
        .map(|&bytes| {
            let (direct, split) = (download(link, bytes, false), download(link, bytes, true));
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

/// Seconds from the SYN to the last byte. None if the file did not come whole; the hosts compare
/// every byte that they read with the one that was sent.
fn download(link: &SatelliteLink, bytes: u64, gateways: bool) -> Option<f64> {
    let sender = SenderConfig { byte_limit: None, ..SenderConfig::default() };
    let config = ConnectionConfig { sender, ..ConnectionConfig::default() };
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

    let middle = |lan_port: usize| {
        if gateways { Node::Gateway(Box::new(gateway(link)), vec![lan_port]) } else { Node::Router }
    };
    let nodes = vec![Node::Host(client), middle(0), middle(1), Node::Host(server)];
    let lan = LinkConfig { rate: None, delay: Duration::ZERO.into(), ..satellite(link) };
    let cable = |config: &LinkConfig| [0, 1].map(|_| Line::new(config, Faults::default()));
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
        seed: 1,
        ..LinkConfig::IDEAL
    }
}

/// A gateway as the live demo configures it.
fn gateway(link: &SatelliteLink) -> Gateway {
    let mut config = Config { super_segments: false, ..Config::default() };
    config.satellite.rate = Some(link.rate);
    config.satellite.round_trip = Some(2 * link.delay);
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

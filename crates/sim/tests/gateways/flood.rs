//! SYNs in others' names that a live server answers, beside true clients whose packets are lost.

use super::*;
use bentpipe_core::units::Probability;
use bentpipe_core::wire::{IpHeader, TcpOptions};
use bentpipe_gateway::Handshake;
use bentpipe_sim::{Body, Close};

/// Connections of the true client, one each second.
const CALLS: usize = 60;
const BYTES: u64 = 20_000;
/// The gateway's node: behind the near host, the probe and a satellite link.
const GATEWAY: usize = 2;

/// A forged SYN to the server, from an address where nobody is.
fn forged(number: u32) -> Packet {
    let [_, b, c, d] = number.to_be_bytes();
    let src = IpAddr::from([172, 16 | b, c, d]);
    let ip = IpHeader { hop_limit: 60, ..IpHeader::between(src, HOSTS[1]) };
    let tcp = TcpHeader {
        src_port: 7,
        dst_port: port(0),
        seq: SeqNum(number),
        flags: Flags::SYN,
        window: 60_000,
        options: TcpOptions { mss: Some(1460), ..TcpOptions::default() },
        ..TcpHeader::default()
    };
    Packet::tcp(ip, tcp, Body::EMPTY)
}

/// How many of the true connections were split by a gateway that has room for `flows`, while so
/// many forged SYNs come each second. All are whole.
fn split_beside(per_second: u32, config: Config) -> u64 {
    let upload = Script { bytes: BYTES, ..Script::default() };
    let answer = Script { close: Close::AfterPeer, ..Script::default() };
    let lossy = LinkConfig {
        packet_loss: Probability::new(0.1).unwrap().into(),
        ..satellite(Rate::from_bits_per_sec(8_000_000))
    };
    let path = Path {
        back: None,
        boxes: vec![gateway(Config { super_segments: false, ..config }, 1)],
        links: vec![lossy, cable()],
        tcp: ConnectionConfig::preset("linux").unwrap(),
        calls: Vec::new(),
    };
    let mut path = (0..CALLS).fold(path, |path, _| path.call(upload, answer));
    for (number, (at, _)) in path.calls.iter_mut().enumerate() {
        *at = Instant::ZERO + Duration::from_secs(number as u64);
    }
    let (mut world, _) = path.build();
    world.start();
    for number in 0..CALLS as u32 * per_second {
        let at = Duration::from_secs(1).mul_f64(f64::from(number) / f64::from(per_second));
        while world.step(Instant::ZERO + at) {}
        world.advance(Instant::ZERO + at);
        world.inject(GATEWAY, 0, forged(number));
    }
    assert!(world.run(Duration::from_secs(1_800)));
    for number in 0..CALLS {
        assert_whole(&world, number);
    }
    let gateway = world.gateways().next().expect("it is there");
    assert_eq!((gateway.flows(), gateway.held()), (0, 0));
    gateway.summary().closed
}

#[test]
fn all_connections_are_whole_in_a_flood_that_is_answered_and_most_are_split() {
    let small = Config { max_flows: 200, ..Config::default() };
    let early = Config { handshake: Handshake::DownstreamFirst, ..small.clone() };
    let always = Config { add_options: bentpipe_gateway::AddOptions::Always, ..small.clone() };
    for config in [small, early, always] {
        for (per_second, min) in [(20, 57), (200, 0)] {
            let split = split_beside(per_second, config.clone());
            println!("{split} of {CALLS} are split beside {per_second} SYN/s");
            assert!(split >= min, "{split} of {CALLS} beside {per_second} SYN/s, {config:?}");
        }
    }
}

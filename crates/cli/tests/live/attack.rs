//! Hosts of either side that send all that may confuse a gateway: none of it makes the gateway
//! split nothing any more.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bentpipe_linux::netns::Namespace;
use bentpipe_testbed::five_hosts::{BOTH, Testbed, TestbedConfig};
use etherparse::PacketBuilder;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use socket2::{Domain, Protocol, Socket, Type};

use crate::life::exchange;
use crate::observation::{ask, await_split};
use crate::stage::{FAMILIES, StageEnds, build, fast_link, gateways_wanted, start_gateways};

pub(crate) const CASES: &[(&str, fn())] = &[("no_host_ends_splitting_for_others", attack)];

/// Packets of each host, each of another kind than the one before.
const PACKETS: usize = 30_000;
/// `IPPROTO_RAW`: the sender writes the IP header.
const RAW: i32 = 255;

fn attack() {
    if !gateways_wanted() {
        return;
    }
    let mut testbed = build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() });
    start_gateways(&mut testbed);
    let gateways = BOTH.map(|place| testbed.take_gateway(place).expect("a gateway"));
    let testbed = Arc::new(testbed);
    let [one, other] = [Testbed::H1_V4, Testbed::H2_V4];
    thread::scope(|scope| {
        for (seed, host, own, victim) in
            [(1, &testbed.h1, one, other), (2, &testbed.h2, other, one)]
        {
            scope.spawn(move || flood(seed, host, own, victim));
        }
        // Others are split meanwhile, though not each of them has to be.
        for _ in 0..5 {
            FAMILIES
                .into_iter()
                .for_each(|family| exchange(&StageEnds::of(&testbed, family), 100_000));
        }
    });
    // What does not come back is noticed within two seconds.
    thread::sleep(Duration::from_secs(3));
    for (place, gateway) in BOTH.into_iter().zip(&gateways) {
        let (_, router) = testbed.gateway_at(place);
        let status = ask(router, "status");
        assert_eq!(status["diverting"], true, "{status} {}", gateway.stderr());
        assert!(!gateway.stderr().contains("does not come by"), "{}", gateway.stderr());
        FAMILIES.into_iter().for_each(|family| await_split(&testbed, place, family));
    }
    assert!(ask(&testbed.g1, "status")["totals"]["split"].as_u64() > Some(0));
}

/// SYNs to who is there and who is not, in the host's name and in others'; SYN-ACKs, resets and
/// data of no connection; pieces; and ICMP errors about all that.
fn flood(seed: u64, host: &Namespace, own: IpAddr, victim: IpAddr) {
    let (IpAddr::V4(own), IpAddr::V4(victim)) = (own, victim) else { panic!("not IPv4") };
    let socket = host.run(|| Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(RAW))));
    let socket = socket.expect("namespace").expect("a raw socket");
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let near = |address: Ipv4Addr, rng: &mut Pcg64Mcg| {
        let [a, b, c, last] = address.octets();
        Ipv4Addr::new(a, b, c, if rng.random() { last } else { rng.random_range(10..250) })
    };
    for number in 0..PACKETS {
        let (src, dst) = (near(own, &mut rng), near(victim, &mut rng));
        let ends = [rng.random_range(1..u16::MAX), rng.random_range(1..u16::MAX)];
        let tcp = PacketBuilder::ipv4(src.octets(), dst.octets(), 64).tcp(
            ends[0],
            ends[1],
            rng.random(),
            rng.random(),
        );
        let tcp = match number % 6 {
            0 | 1 => tcp.syn(),
            2 => tcp.syn().ack(rng.random()),
            3 => tcp.rst(),
            _ => tcp.ack(rng.random()),
        };
        let payload = vec![7; if number % 6 > 3 { 400 } else { 0 }];
        let mut packet = Vec::new();
        tcp.write(&mut packet, &payload).expect("a packet");
        let packet = match number % 12 {
            // A piece, of whatever there is.
            4 => {
                packet[6..8].copy_from_slice(&rng.random_range(0x2000_u16..0x2100).to_be_bytes());
                packet
            }
            // Of a segment that its sender may not have sent.
            5 => {
                let quoted =
                    [&packet[..12], &dst.octets(), &src.octets(), &packet[20..28]].concat();
                let error = PacketBuilder::ipv4(src.octets(), dst.octets(), 64).icmpv4_raw(
                    3,
                    rng.random_range(0..16),
                    [0, 0, 2, 88],
                );
                let mut packet = Vec::new();
                error.write(&mut packet, &quoted).expect("a packet");
                packet
            }
            _ => packet,
        };
        // A full queue of the host's own is no matter.
        let _ = socket.send_to(&packet, &SocketAddr::new(IpAddr::V4(dst), 0).into());
        if number % 100 == 0 {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

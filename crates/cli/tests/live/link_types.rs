//! Links of any kind: gateways work over devices that carry Ethernet frames and over those that
//! carry plain IP packets, and the emulated link carries whatever it is given. That the sources of
//! links know nothing of TCP is in `crate_rules.rs`.

use std::io::Read as _;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bentpipe_core::link::LinkConfig;
use bentpipe_core::units::Rate;
use bentpipe_emulator::emulator::{Emulator, Exit};
use bentpipe_linux::netns::Namespace;
use bentpipe_linux::signals::Signals;
use bentpipe_linux::tun::{Offload, Tun};
use bentpipe_testbed::five_hosts::{BOTH, Testbed, TestbedConfig};
use socket2::{Protocol, Socket, Type};

use crate::life::exchange;
use crate::observation::{ask, await_split};
use crate::stage::{
    FAMILIES, Family, StageEnds, build, fast_link, gateways_wanted, start_gateways,
};
use crate::toolbox::{PATIENCE, assert_same, content, uninterrupted};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("satellite_link_without_ethernet", without_ethernet),
    ("what_only_looks_like_tcp_crosses_untouched", what_only_looks_like_tcp),
];

/// G99-D-3: the same gateway, configured alike, where its satellite interface is no Ethernet but a
/// TUN device, as modems with a serial line or a network card of their own have it. All other tests
/// have Ethernet.
fn without_ethernet() {
    let mut testbed = build(TestbedConfig::default());
    let tuns = [(&testbed.g1, 2), (&testbed.g2, 3)].map(|(gateway, network)| {
        gateway.ip("link delete sat0\n").expect("no Ethernet any more");
        let tun = gateway.run(|| Tun::open("sat0", Offload::None)).expect("namespace");
        gateway
            .ip(&format!(
                "link set sat0 up\n\
                 address add 10.91.{network}.1/24 dev sat0\n\
                 address add fd00:91:0:{network}::1/64 dev sat0 nodad\n\
                 route add default dev sat0\n\
                 route add ::/0 dev sat0\n"
            ))
            .expect("addresses and routes");
        tun.expect("a TUN device")
    });
    let link = LinkConfig {
        rate: Some(Rate::from_bits_per_sec(100_000_000).into()),
        delay: Duration::from_millis(10).into(),
        ..LinkConfig::IDEAL
    };
    let mut emulator = Emulator::new(tuns, Exit::Other, link);
    let (stop, stopped) = UnixStream::pair().expect("sockets");
    thread::scope(|scope| {
        let carried = scope.spawn(move || {
            let signals = Signals::catch().expect("signal handlers");
            emulator.run(&signals, Some(&stopped)).expect("the link");
            emulator.summary()
        });
        // Whatever fails here, the link ends, or the scope would wait for it for ever.
        let stop = stop;
        start_gateways(&mut testbed);
        let testbed = Arc::new(testbed);
        for family in FAMILIES {
            exchange(&StageEnds::of(&testbed, family), 3_000_000);
        }
        for place in BOTH.into_iter().filter(|_| gateways_wanted()) {
            FAMILIES.into_iter().for_each(|family| await_split(&testbed, place, family));
        }
        drop(stop);
        let carried = carried.join().expect("the link");
        for direction in carried.directions {
            assert!(direction.offered.bytes > 6_000_000, "{carried:?}");
        }
        assert_eq!(carried.refused, [0, 0]);
    });
}

/// G99-D-3: packets that say they are TCP and are not arrive byte for byte, through the link alone
/// and with gateways at its ends, which look into them and find nothing that is theirs.
fn what_only_looks_like_tcp() {
    let mut testbed = build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() });
    FAMILIES.into_iter().for_each(|family| send_garbage(&testbed, family));
    if !gateways_wanted() {
        return;
    }
    start_gateways(&mut testbed);
    FAMILIES.into_iter().for_each(|family| send_garbage(&testbed, family));
    for place in BOTH {
        let status = ask(testbed.gateway_at(place).1, "status");
        assert_eq!(status["totals"]["split"], 0, "{place:?}: {status}");
        assert!(status["totals"]["forwarded_bytes"]["not-tcp"].as_u64() > Some(0), "{status}");
    }
}

/// From H1 to H2, with protocol number 6 and nothing behind it that TCP allows.
fn send_garbage(testbed: &Testbed, family: Family) {
    let open = |host: &Namespace, address: IpAddr| {
        let socket = host.run(|| {
            let socket = Socket::new(family.domain(), Type::RAW, Some(Protocol::TCP));
            let socket = socket.expect("raw socket");
            socket.bind(&SocketAddr::new(address, 0).into()).expect("bind");
            socket.set_read_timeout(Some(PATIENCE)).expect("timeout");
            socket
        });
        socket.expect("namespace")
    };
    let near = open(&testbed.h1, family.h1());
    let far = open(&testbed.h2, family.h2());
    // Shorter than a header, with a header longer than the packet, and at random.
    let mut packets: Vec<Vec<u8>> = [1, 12, 19, 20, 60, 1400].map(|size| content(7, size)).into();
    packets.extend([vec![0; 20], vec![0xff; 20], vec![0x50; 40]]);
    for (number, sent) in packets.iter().enumerate() {
        near.send_to(sent, &SocketAddr::new(family.h2(), 0).into()).expect("send");
        let mut buffer = [0; 2048];
        let length = uninterrupted(|| (&far).read(&mut buffer)).expect("receive");
        // A raw socket gives the IPv4 header too, and no IPv6 header.
        let header = if family == Family::V4 { 20 } else { 0 };
        assert_same(&format!("{family}: packet {number}"), sent, &buffer[header..length]);
    }
}

//! The counts of what passes: as the interface counts it, by class and by prefix.

use crate::network::Network;
use crate::wire::{Reflector, attachments};
use bentpipe_daemon::bump::passed::{Class, Crossed};
use bentpipe_gateway::{Side, SitePrefix, Traffic};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::mpsc;
use std::time::Duration;

const LAYER_TWO: u64 = 14;

/// Counts of an interface, out and in, at its link layer.
type Interface = [Traffic; 2];

/// What the programs and the interface have counted at one moment.
fn at_rest(network: &Network, reflector: &Reflector) -> (Crossed, Interface) {
    let counters = "cd /sys/class/net/g2/statistics
                    cat tx_packets tx_bytes rx_packets rx_bytes";
    loop {
        let before = reflector.table.crossed().unwrap();
        let text = network.run("m", counters);
        let numbers: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
        if reflector.table.crossed().unwrap() == before {
            let traffic = |at: usize| Traffic { packets: numbers[at], bytes: numbers[at + 1] };
            return (before, [traffic(0), traffic(2)]);
        }
    }
}

/// Sends datagrams of these lengths from h1 to a port of h2, and the same back.
fn datagrams(network: &Network, [h1, h2]: [&str; 2], port: u16, lengths: &'static [usize]) {
    const PATIENCE: Option<Duration> = Some(Duration::from_secs(60));
    let [h1, h2]: [IpAddr; 2] = [h1, h2].map(|address| address.parse().unwrap());
    let (ready, wait) = mpsc::channel();
    let server = network.on("h2", move || {
        let socket = UdpSocket::bind(SocketAddr::new(h2, port)).unwrap();
        socket.set_read_timeout(PATIENCE).unwrap();
        ready.send(()).unwrap();
        let mut buffer = [0; 65_536];
        for _ in lengths {
            let (length, from) = socket.recv_from(&mut buffer).unwrap();
            socket.send_to(&buffer[..length], from).unwrap();
        }
    });
    wait.recv().unwrap();
    let client = network.on("h1", move || {
        let socket = UdpSocket::bind(SocketAddr::new(h1, 0)).unwrap();
        socket.set_read_timeout(PATIENCE).unwrap();
        let mut buffer = [0; 65_536];
        for length in lengths {
            socket.send_to(&vec![7; *length], SocketAddr::new(h2, port)).unwrap();
            assert_eq!(socket.recv(&mut buffer).unwrap(), *length);
        }
    });
    client.join().unwrap();
    server.join().unwrap();
}

/// Since an earlier moment.
fn since(now: Traffic, before: Traffic) -> Traffic {
    Traffic { packets: now.packets - before.packets, bytes: now.bytes - before.bytes }
}

#[test]
fn all_that_crosses_the_satellite_is_counted_as_its_interface_counts_it() {
    let Some(network) = Network::new("count") else { return };
    let (four, six) = (["10.77.1.2", "10.77.2.2"], ["fd77:1::2", "fd77:2::2"]);
    for [_, h2] in [four, six] {
        network.meet_neighbours(h2);
    }
    for attachment in attachments() {
        let lan = Some(vec!["g1".to_owned()]);
        let Some(reflector) = Reflector::start_for(&network, attachment, false, lan) else {
            return;
        };
        let (before, interface_before) = at_rest(&network, &reflector);
        datagrams(&network, four, 443, &[0, 1, 1000, 1200]);
        datagrams(&network, six, 443, &[1200, 1200]);
        datagrams(&network, four, 4433, &[100, 3000]);
        datagrams(&network, six, 53, &[500]);
        network.run("h1", "ping -q -c3 -i0.2 -s100 10.77.2.2 && ping -q -c3 -i0.2 -s100 fd77:2::2");
        for address in ["10.77.2.2", "fd77:2::2"] {
            network.transfer(address, 400_000);
        }
        let (own, server) = ("10.77.2.1".parse().unwrap(), "10.77.2.2:7001".parse().unwrap());
        network.try_transfer(("m", own), server, ("h2", server), 200_000).unwrap();
        let (after, interface_after) = at_rest(&network, &reflector);

        let passed = |class: Class| {
            let [now, then] = [after, before].map(|crossed| crossed.passed[class as usize]);
            [since(now[0], then[0]), since(now[1], then[1])]
        };
        // IPv4 and UDP take 28 bytes, IPv6 and UDP 48.
        let quic = Traffic { packets: 6, bytes: 2201 + 4 * 28 + 2 * (1200 + 48) };
        assert_eq!(passed(Class::Quic), [quic; 2], "{attachment:?}");
        // One of them in three fragments.
        let udp = Traffic { packets: 5, bytes: 128 + 3008 + 3 * 20 + 548 };
        assert_eq!(passed(Class::Udp), [udp; 2], "{attachment:?}");
        for traffic in passed(Class::OtherIp) {
            assert!(traffic.packets >= 6 && traffic.bytes >= 3 * (128 + 148), "{traffic:?}");
        }
        for traffic in passed(Class::Tcp) {
            assert!((200_000..250_000).contains(&traffic.bytes), "the router's own: {traffic:?}");
        }
        for way in [0, 1] {
            let taken = since(after.taken[way], before.taken[way]);
            assert!((800_000..900_000).contains(&taken.bytes), "{attachment:?}: {taken:?}");
            let classes = Class::ALL.iter().map(|class| passed(*class)[way].bytes).sum::<u64>();
            let interface = since(interface_after[way], interface_before[way]);
            let without_frames = interface.bytes - LAYER_TWO * interface.packets;
            assert_eq!(taken.bytes + classes, without_frames, "{attachment:?}, {way}");
        }
        let prefixes = reflector.table.passed_prefixes().unwrap();
        for (side, address, quic) in [
            (Side::Lan, "10.77.1.0", 2201 + 4 * 28),
            (Side::Satellite, "10.77.2.0", 2201 + 4 * 28),
            (Side::Lan, "fd77:1::", 2 * 1248),
            (Side::Satellite, "fd77:2::", 2 * 1248),
        ] {
            let prefix = SitePrefix::of(address.parse().unwrap());
            let found = prefixes.iter().find(|one| (one.side, one.prefix) == (side, prefix));
            let bytes = found.map(|one| one.bytes[Class::Quic as usize]);
            assert_eq!(bytes, Some([quic; 2]), "{attachment:?}, {address}");
        }
        reflector.stop();
        network.await_end_of_devices();
    }
}

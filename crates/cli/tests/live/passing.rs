//! What is not ours passes untouched, and what is keeps its sequence numbers.

use std::io::Read as _;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::thread;

use bentpipe_linux::netns::Namespace;
use etherparse::{IpAuthHeader, TcpHeader, TcpOptionElement, ip_number};
use socket2::{Protocol, Socket, Type};

use crate::Case;
use crate::captured::{Captures, Stream};
use crate::stage::{Family, StageEnds};
use crate::toolbox::{
    PATIENCE, accept, assert_same, content, finish, receive_to_end, send, uninterrupted,
};

pub(crate) const CASES: &[Case] = &[
    ("sequence_numbers_are_the_same_at_both_ends", sequence_numbers),
    ("udp_passes_untouched", udp),
    ("icmp_echo_passes", icmp_echo),
    ("raw_esp_and_ah_pass_untouched", ipsec),
];

/// IP protocol number of ESP (RFC 4303).
const ESP: u8 = 50;
/// IP protocol number of AH (RFC 4302).
const AH: u8 = 51;
/// G1, SAT and G2 each take one off the 64 with which a host starts.
const TTL_AT_FAR_END: u8 = 64 - 3;

/// G01-D-3 and G99-D-6: captures at both hosts have the same bytes at the same sequence numbers.
fn sequence_numbers(ends: &StageEnds) {
    let (up, down) = (content(6, 150_001), content(7, 250_003));
    let (listener, address) = ends.listen();
    let captures = Captures::start([&ends.testbed.h1, &ends.testbed.h2]);
    let client = ends.connect(address);
    let client_address = client.local_addr().expect("address");
    thread::scope(|scope| {
        scope.spawn(|| {
            let server = accept(&listener);
            assert_same("up", &up, &receive_to_end(&server));
            send(&server, &down);
        });
        send(&client, &up);
        finish(&client);
        assert_same("down", &down, &receive_to_end(&client));
    });
    drop(client);
    let [at_h1, at_h2] = captures.stop();

    for (from, to, sent) in [(client_address, address, &up), (address, client_address, &down)] {
        let near = Stream::seen(&at_h1, from, to);
        let far = Stream::seen(&at_h2, from, to);
        assert_eq!(near.isn, far.isn, "initial sequence number from {from}");
        assert_eq!(near.fin, far.fin, "sequence number of the FIN from {from}");
        for (host, stream) in [("H1", &near), ("H2", &far)] {
            assert_same(&format!("stream from {from} as seen at {host}"), sent, &stream.bytes());
        }
    }
}

/// G99-D-10: UDP crosses unmodified, in fragments too.
fn udp(ends: &StageEnds) {
    let socket = |host: &Namespace, address| {
        let socket = host.run(|| UdpSocket::bind(SocketAddr::new(address, 0)).expect("bind"));
        let socket = socket.expect("namespace");
        socket.set_read_timeout(Some(PATIENCE)).expect("timeout");
        socket
    };
    let near = socket(&ends.testbed.h1, ends.family.h1());
    let far = socket(&ends.testbed.h2, ends.family.h2());
    for (from, to) in [(&near, &far), (&far, &near)] {
        // The last one comes in fragments.
        for size in [0, 1, 1000, 1472, 5000] {
            let sent = content(size as u64, size);
            from.send_to(&sent, to.local_addr().unwrap()).expect("send");
            let mut buffer = [0; 6000];
            let (length, source) = uninterrupted(|| to.recv_from(&mut buffer)).expect("receive");
            assert_same(&format!("datagram of {size}"), &sent, &buffer[..length]);
            assert_eq!(source, from.local_addr().unwrap());
        }
    }
}

/// G99-D-10: ping compares the payload itself, and counts answers; the large one comes in
/// fragments.
fn icmp_echo(ends: &StageEnds) {
    for size in ["56", "3000"] {
        let h2 = ends.family.h2().to_string();
        // With -w it waits for the answers; with -W for two round trips, once one has come.
        let arguments = ["-n", "-c", "3", "-i", "0.2", "-w", "120", "-s", size, &h2];
        let output = ends.testbed.h1.output("ping", &arguments).expect("ping");
        // Where an answer is late, more are asked for meanwhile.
        let received = output.split_once(" received").expect("a summary").0;
        let received = received.rsplit(' ').next().and_then(|count| count.parse().ok());
        assert!(received >= Some(3), "{output}");
        assert!(!output.contains("wrong data"), "{output}");
        let ttl = format!("ttl={TTL_AT_FAR_END}");
        assert!(output.contains(&ttl), "{ttl} expected: {output}");
    }
}

/// G99-D-10 and H-D-20: what is encrypted or authenticated below TCP crosses unmodified.
fn ipsec(ends: &StageEnds) {
    for size in [8, 100, 1400] {
        let sent = content(size as u64, size);
        cross(ends, ESP, [&sent, &sent]);
    }
    let (h1, h2) = (ends.family.h1(), ends.family.h2());
    cross(ends, AH, [&authenticated_syn(h1, h2), &authenticated_syn(h2, h1)]);
}

/// Sends a packet with a protocol number each way: `sent[0]` to H2.
fn cross(ends: &StageEnds, protocol: u8, sent: [&[u8]; 2]) {
    let open = |host: &Namespace, address: IpAddr| {
        let socket = host.run(|| {
            let protocol = Protocol::from(i32::from(protocol));
            let socket = Socket::new(ends.family.domain(), Type::RAW, Some(protocol));
            let socket = socket.expect("raw socket");
            socket.bind(&SocketAddr::new(address, 0).into()).expect("bind");
            socket.set_read_timeout(Some(PATIENCE)).expect("timeout");
            socket
        });
        socket.expect("namespace")
    };
    let near = open(&ends.testbed.h1, ends.family.h1());
    let far = open(&ends.testbed.h2, ends.family.h2());
    let (h1, h2) = (ends.family.h1(), ends.family.h2());
    let ways = [(&near, h1, &far, h2), (&far, h2, &near, h1)];
    for ((from, source, to, destination), sent) in ways.into_iter().zip(sent) {
        from.send_to(sent, &SocketAddr::new(destination, 0).into()).expect("send");
        let mut buffer = [0; 2048];
        let length = uninterrupted(|| (&*to).read(&mut buffer)).expect("receive");
        // A raw socket gives the IPv4 header too, and no IPv6 header.
        let payload = if ends.family == Family::V4 {
            let (header, payload) =
                etherparse::Ipv4Header::from_slice(&buffer[..length]).expect("IPv4");
            assert_eq!(IpAddr::from(header.source), source);
            assert_eq!(header.protocol.0, protocol);
            assert_eq!(header.time_to_live, TTL_AT_FAR_END);
            payload
        } else {
            &buffer[..length]
        };
        assert_same(&format!("packet of protocol {protocol}"), sent, payload);
    }
}

/// A SYN in AH's transport mode (RFC 4302, 3.1.1): in the clear, and not to be touched. To IPv6, AH
/// is an extension header, and a packet filter that skips those takes the whole for TCP.
fn authenticated_syn(source: IpAddr, destination: IpAddr) -> Vec<u8> {
    let mut tcp = TcpHeader::new(40_000, 80, 0x0102_0304, 65_535);
    tcp.syn = true;
    tcp.set_options(&[TcpOptionElement::MaximumSegmentSize(1400)]).expect("options");
    tcp.checksum = match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            tcp.calc_checksum_ipv4_raw(source.octets(), destination.octets(), &[])
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            tcp.calc_checksum_ipv6_raw(source.octets(), destination.octets(), &[])
        }
        _ => unreachable!("both ends are of one family"),
    }
    .expect("it is short enough");
    let ah = IpAuthHeader::new(ip_number::TCP, 0x100, 1, &[0x5a; 12]).expect("AH");
    [&ah.to_bytes()[..], &tcp.to_bytes()].concat()
}

//! Equal-cost multipath: a router spreads flows over ways that cost the same (RFC 2992).
//!
//! Each flow stays on one way, by a hash over its addresses and ports. Of the ways, the flow takes
//! the one with the highest random weight (RFC 2991, section 4; Thaler and Ravishankar 1998), drawn
//! from the flow's hash and the way's label: when a way goes, only its own flows move. Two routers
//! that give both ends of a way the same label and hash symmetrically send both directions of a
//! flow along it, as whatever keeps state on a way needs it.
//!
//! An ICMP error is hashed as an answer to the segment that it quotes, so that it finds whoever
//! sent that (RFC 7690 tells what becomes of it otherwise).

use crate::packet::{Content, Packet};
use bentpipe_core::wire::IcmpError;
use std::net::IpAddr;

/// What a router hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FlowHash {
    /// Both directions of a flow have the same hash.
    #[default]
    Symmetric,
    /// Source and destination are told apart: each direction has its own hash.
    Directed,
}

/// One of several equally good ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EqualWay {
    /// What it is called at both of its ends.
    pub label: u32,
    /// The router's port.
    pub port: usize,
}

/// Equally good ways, and which flow takes which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spread {
    hash: FlowHash,
    ways: Vec<EqualWay>,
}

impl Spread {
    /// Flows take `ways` by `hash`.
    pub fn new(hash: FlowHash, ways: Vec<EqualWay>) -> Spread {
        Spread { hash, ways }
    }

    /// The port by which `packet` leaves; none if there is no way.
    pub fn port(&self, packet: &Packet) -> Option<usize> {
        let flow = self.hash.of(Endpoints::of(packet));
        let weight = |way: &&EqualWay| mix(flow ^ mix(u64::from(way.label)));
        self.ways.iter().max_by_key(weight).map(|way| way.port)
    }
}

type Endpoint = (IpAddr, u16);

/// Where a packet comes from and goes to. Without ports, pings of two hosts are one flow.
#[derive(Debug, Clone, Copy)]
struct Endpoints {
    src: Endpoint,
    dst: Endpoint,
}

impl Endpoints {
    fn of(packet: &Packet) -> Endpoints {
        let (src_port, dst_port) = match &packet.content {
            Content::Tcp(tcp, _) => (tcp.src_port, tcp.dst_port),
            Content::Udp(datagram) => (datagram.src_port, datagram.dst_port),
            Content::Echo(_) => (0, 0),
            Content::Error(bytes) => match IcmpError::parse(bytes) {
                Ok(IcmpError { quoted, .. }) => {
                    return Endpoints {
                        src: (quoted.dst, quoted.dst_port),
                        dst: (quoted.src, quoted.src_port),
                    };
                }
                Err(_) => (0, 0),
            },
        };
        Endpoints { src: (packet.ip.src, src_port), dst: (packet.ip.dst, dst_port) }
    }
}

impl FlowHash {
    fn of(self, Endpoints { src, dst }: Endpoints) -> u64 {
        let ends = match self {
            FlowHash::Symmetric => [src.min(dst), src.max(dst)],
            FlowHash::Directed => [src, dst],
        };
        ends.into_iter().fold(0, |hash, (address, port)| {
            let bits = match address {
                IpAddr::V4(address) => u128::from(address.to_bits()),
                IpAddr::V6(address) => address.to_bits(),
            };
            let words = [(bits >> 64) as u64, bits as u64, u64::from(port)];
            words.into_iter().fold(hash, |hash, word| mix(hash ^ word))
        })
    }
}

/// SplitMix64's step: each bit of the input moves half of the output's (Steele, Lea and Flood
/// 2014).
fn mix(word: u64) -> u64 {
    let mut word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Body;
    use bentpipe_core::wire::{IpHeader, TcpHeader};

    const FLOWS: u16 = 4000;

    /// A segment of flow `number`, from the client or to it.
    fn segment(number: u16, back: bool, v6: bool) -> Packet {
        let [mut src, mut dst] = [1, 2].map(|host| match v6 {
            false => IpAddr::from([10, 0, 0, host]),
            true => IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, u16::from(host)]),
        });
        let (mut src_port, mut dst_port) = (20_000 + number, 443);
        if back {
            (src, dst, src_port, dst_port) = (dst, src, dst_port, src_port);
        }
        let ip = IpHeader::between(src, dst);
        Packet::tcp(ip, TcpHeader { src_port, dst_port, ..TcpHeader::default() }, Body::EMPTY)
    }

    fn spread(hash: FlowHash, labels: &[u32]) -> Spread {
        let ways = labels.iter().map(|&label| EqualWay { label, port: 10 + label as usize });
        Spread::new(hash, ways.collect())
    }

    #[test]
    fn ways_have_equal_shares_and_keep_both_directions() {
        for (v6, count) in [(false, 2), (false, 4), (true, 3)] {
            let ways = spread(FlowHash::Symmetric, &(0..count).collect::<Vec<u32>>());
            let mut shares = vec![0; count as usize];
            for number in 0..FLOWS {
                let [there, back] = [false, true].map(|back| ways.port(&segment(number, back, v6)));
                assert_eq!(there, back);
                shares[there.unwrap() - 10] += 1;
            }
            let even = i64::from(FLOWS) / i64::from(count);
            // Four standard deviations are less than a tenth.
            assert!(
                shares.iter().all(|&share: &i64| (share - even).abs() < even / 8),
                "{shares:?}"
            );
        }
    }

    #[test]
    fn a_directed_hash_sends_directions_apart() {
        let ways = spread(FlowHash::Directed, &[0, 1]);
        let apart = (0..FLOWS).filter(|&number| {
            ways.port(&segment(number, false, false)) != ways.port(&segment(number, true, false))
        });
        let apart = apart.count();
        assert!((1850..2150).contains(&apart), "{apart}");
    }

    #[test]
    fn only_the_flows_of_a_way_that_goes_move() {
        let all = spread(FlowHash::Symmetric, &[0, 1, 2]);
        let left = spread(FlowHash::Symmetric, &[0, 2]);
        let mut moved = [0; 3];
        for number in 0..FLOWS {
            let packet = segment(number, false, false);
            match all.port(&packet) {
                Some(11) => moved[left.port(&packet).unwrap() - 10] += 1,
                port => assert_eq!(left.port(&packet), port),
            }
        }
        assert!(moved[0] > 500 && moved[2] > 500, "both get some: {moved:?}");
        assert_eq!(spread(FlowHash::Symmetric, &[]).port(&segment(0, false, false)), None);
    }

    #[test]
    fn an_error_goes_the_way_of_who_sent_what_it_quotes() {
        for hash in [FlowHash::Symmetric, FlowHash::Directed] {
            let ways = spread(hash, &[0, 1, 2, 3]);
            for number in 0..100 {
                let sent = segment(number, false, false);
                let router = IpAddr::from([10, 9, 9, 9]);
                let quoted = sent.to_bytes().unwrap();
                let bytes = IcmpError::packet_too_big(router, 1000, &quoted).unwrap();
                let ip = IpHeader { src: router, dst: sent.ip.src, ..sent.ip };
                let error = Packet::new(ip, Content::Error(bytes));
                assert_eq!(ways.port(&error), ways.port(&segment(number, true, false)));
            }
        }
    }
}

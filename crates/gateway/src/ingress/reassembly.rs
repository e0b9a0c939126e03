//! Fragments of TCP segments, made whole (RFC 791, 3.2; RFC 8200, 4.5).
//!
//! Were the fragments of a split connection's segment forwarded, its far host would get bytes that
//! the gateway does not have. The kernel's own reassembly, which connection tracking brings, does
//! not help: what it has made whole it cuts again on the way into our device.
//!
//! The fragments are kept as they came. If the whole is not for us, they go on unchanged; so do
//! those that contradict each other or never become whole: what is to become of them is for the
//! host to say (RFC 5722). Of a connection that is split they end here.
//!
//! Fragments wait for a short time only. A sender of 65,536 packets has used every identification,
//! and the fragments of two packets with one identification make a third (RFC 4963).

use super::fragment::{Key, Partial, read};
use crate::key::FlowKey;
use bentpipe_core::time::{Duration, Instant};
use std::collections::{BTreeMap, BTreeSet};

/// How long fragments wait for the others, which a router has sent at the same time. (Linux lets
/// them wait for 30 s: at 26 Mbit/s all identifications have been used by then.)
const PATIENCE: Duration = Duration::from_secs(2);
/// So many packets in fragments later a sender may have used half of all identifications, and the
/// next ones might be put together with what still waits.
const HALF_WRAP: u64 = 1 << 15;
/// Bytes of fragments that wait at most, as many as Linux lets wait.
const ROOM: usize = 4 << 20;
/// What a fragment costs beside its bytes, so that many small ones do not cost much more.
const OVERHEAD: usize = 128;

/// Packets as they came.
pub type Packets = Vec<Vec<u8>>;

/// What a packet brought about.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is no fragment of a TCP segment.
    NotFragment,
    /// It is kept; these fragments of others go on.
    Kept(Packets),
    /// The segment is whole: as one packet, and as it came.
    Whole(Vec<u8>, Packets),
}

/// Fragments that wait for others.
#[derive(Debug, Default)]
pub(super) struct Reassembly {
    waiting: BTreeMap<Key, Partial>,
    /// The same, oldest first.
    by_age: BTreeSet<(Instant, Key)>,
    held: usize,
    /// Packets of which a first fragment has come.
    begun: u64,
}

impl Reassembly {
    /// Takes an IP packet. What is given up goes on, unless `is_split` says otherwise of its
    /// connection.
    pub(super) fn take(
        &mut self,
        now: Instant,
        bytes: &[u8],
        is_split: impl Fn(&FlowKey) -> bool,
    ) -> Outcome {
        let Some((key, piece)) = read(bytes) else { return Outcome::NotFragment };
        let cost = bytes.len() + OVERHEAD;
        let partial = self.waiting.entry(key).or_insert_with(|| {
            self.by_age.insert((now, key));
            self.begun += 1;
            Partial { since: now, number: self.begun, pieces: Vec::new() }
        });
        let at = partial.pieces.partition_point(|other| other.offset < piece.offset);
        if partial.pieces.get(at).is_some_and(|other| other.bytes == piece.bytes) {
            // The network has doubled it; the host needs it once.
            return Outcome::Kept(Vec::new());
        }
        let overlaps = at > 0 && partial.pieces[at - 1].end() > piece.offset
            || partial.pieces.get(at).is_some_and(|next| next.offset < piece.end());
        partial.pieces.insert(at, piece);
        self.held += cost;
        if overlaps {
            return Outcome::Kept(self.give_up(&key, is_split));
        }
        if let Some(whole) = partial.whole() {
            return Outcome::Whole(whole, self.remove(&key));
        }
        let mut gone = Vec::new();
        while let Some(&(_, oldest)) = self.by_age.first()
            && (self.held > ROOM || self.is_outrun(&oldest))
        {
            gone.extend(self.give_up(&oldest, &is_split));
        }
        Outcome::Kept(gone)
    }

    /// When [`Reassembly::expire`] is to be called, if ever.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.by_age.first().map(|(since, _)| *since + PATIENCE)
    }

    /// The fragments that have waited in vain.
    pub(super) fn expire(&mut self, now: Instant, is_split: impl Fn(&FlowKey) -> bool) -> Packets {
        let mut late = Vec::new();
        while let Some(&(_, key)) = self.by_age.first().filter(|(at, _)| *at + PATIENCE <= now) {
            late.extend(self.give_up(&key, &is_split));
        }
        late
    }

    /// Whether the identification of a packet may come up again.
    fn is_outrun(&self, key: &Key) -> bool {
        self.waiting.get(key).is_some_and(|partial| partial.number + HALF_WRAP <= self.begun)
    }

    /// What is to go on of a packet that does not become whole. Of a split connection that is
    /// nothing: with what may come later its host would have bytes that we have not.
    fn give_up(&mut self, key: &Key, is_split: impl Fn(&FlowKey) -> bool) -> Packets {
        let flow = self.waiting.get(key).and_then(|partial| partial.flow(key));
        let fragments = self.remove(key);
        if flow.is_some_and(|flow| is_split(&flow)) { Vec::new() } else { fragments }
    }

    fn remove(&mut self, key: &Key) -> Packets {
        let Some(Partial { since, pieces, .. }) = self.waiting.remove(key) else {
            return Vec::new();
        };
        self.by_age.remove(&(since, *key));
        self.held -= pieces.iter().map(|piece| piece.bytes.len() + OVERHEAD).sum::<usize>();
        pieces.into_iter().map(|piece| piece.bytes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::wire::{self, Checksum, Flags, IpHeader, Packet, TcpHeader, Verify};
    use etherparse::{
        IpFragOffset, IpNumber, Ipv4Header, Ipv4HeaderSlice, Ipv6FragmentHeader, Ipv6HeaderSlice,
    };
    use std::net::IpAddr;

    fn packet(src: IpAddr, dst: IpAddr, payload: &[u8]) -> Vec<u8> {
        let ip = IpHeader { hop_limit: 60, ..IpHeader::between(src, dst) };
        let tcp = TcpHeader { flags: Flags::ACK, src_port: 7, ..TcpHeader::default() };
        let headers = wire::emit(&ip, &tcp, [payload].into_iter(), Checksum::Full);
        [&headers[..], payload].concat()
    }

    fn packets() -> [Vec<u8>; 2] {
        let payload: Vec<u8> = (0..3000_u32).map(|i| (i % 251) as u8).collect();
        let v4 = [1, 2].map(|host| IpAddr::from([10, 0, 0, host]));
        let v6 = [1, 2].map(|host| IpAddr::from([0xFD00, 0, 0, 0, 0, 0, 0, host]));
        [packet(v4[0], v4[1], &payload), packet(v6[0], v6[1], &payload)]
    }

    /// `packet` in fragments of at most `size` bytes of payload.
    fn cut(packet: &[u8], size: usize, id: u16) -> Packets {
        let v4 = packet[0] >> 4 == 4;
        let payload = &packet[if v4 { 20 } else { 40 }..];
        let total = payload.len();
        payload
            .chunks(size)
            .enumerate()
            .map(|(i, part)| {
                let at = IpFragOffset::try_new((i * size / 8) as u16).unwrap();
                let more = i * size + part.len() < total;
                if v4 {
                    let mut header = Ipv4HeaderSlice::from_slice(packet).unwrap().to_header();
                    header.set_payload_len(part.len()).unwrap();
                    (header.dont_fragment, header.more_fragments) = (false, more);
                    (header.identification, header.fragment_offset) = (id, at);
                    header.header_checksum = header.calc_header_checksum();
                    [&header.to_bytes()[..], part].concat()
                } else {
                    let mut header = Ipv6HeaderSlice::from_slice(packet).unwrap().to_header();
                    let next = header.next_header;
                    header.next_header = IpNumber::IPV6_FRAGMENTATION_HEADER;
                    header.set_payload_length(8 + part.len()).unwrap();
                    let fragment = Ipv6FragmentHeader::new(next, at, more, id.into());
                    [&header.to_bytes()[..], &fragment.to_bytes(), part].concat()
                }
            })
            .collect()
    }

    fn kept() -> Outcome {
        Outcome::Kept(Vec::new())
    }

    /// Where nothing is split.
    fn take(reassembly: &mut Reassembly, now: Instant, bytes: &[u8]) -> Outcome {
        reassembly.take(now, bytes, |_| false)
    }

    #[test]
    fn fragments_in_any_order_become_the_segment() {
        for whole in packets() {
            for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
                let fragments = cut(&whole, 1024, 9);
                let mut reassembly = Reassembly::default();
                for &i in &order[..2] {
                    assert_eq!(take(&mut reassembly, Instant::ZERO, &fragments[i]), kept());
                    // The network may double one.
                    assert_eq!(take(&mut reassembly, Instant::ZERO, &fragments[i]), kept());
                }
                let outcome = take(&mut reassembly, Instant::ZERO, &fragments[order[2]]);
                let Outcome::Whole(packet, came) = outcome else { panic!("{outcome:?}") };
                assert_eq!(came, fragments);
                let (read, sent) = (
                    Packet::parse(&packet, Verify::Full).unwrap(),
                    Packet::parse(&whole, Verify::Full).unwrap(),
                );
                let IpHeader { identification, dont_fragment, .. } = sent.ip;
                let ip = IpHeader { identification, dont_fragment, ..read.ip };
                assert_eq!((ip, read.tcp, read.payload), (sent.ip, sent.tcp, sent.payload));
                assert_eq!((reassembly.held, reassembly.poll_timeout()), (0, None));
            }
        }
    }

    #[test]
    fn segments_do_not_mix() {
        for whole in packets() {
            let (one, other) = (cut(&whole, 1600, 1), cut(&whole, 1600, 2));
            let mut reassembly = Reassembly::default();
            assert_eq!(take(&mut reassembly, Instant::ZERO, &one[0]), kept());
            assert_eq!(take(&mut reassembly, Instant::ZERO, &other[1]), kept());
            assert!(matches!(take(&mut reassembly, Instant::ZERO, &one[1]), Outcome::Whole(..)));
            assert!(matches!(take(&mut reassembly, Instant::ZERO, &other[0]), Outcome::Whole(..)));
        }
    }

    #[test]
    fn what_does_not_become_whole_goes_on_as_it_came() {
        for whole in packets() {
            let mut reassembly = Reassembly::default();
            let fragments = cut(&whole, 1024, 1);
            // An overlap (RFC 5722; RFC 1858, 4).
            assert_eq!(take(&mut reassembly, Instant::ZERO, &fragments[0]), kept());
            let other = cut(&whole, 512, 1);
            let outcome = take(&mut reassembly, Instant::ZERO, &other[1]);
            assert_eq!(outcome, Outcome::Kept(vec![fragments[0].clone(), other[1].clone()]));
            // A fragment that was lost.
            assert_eq!(take(&mut reassembly, Instant::ZERO, &fragments[1]), kept());
            let late = reassembly.poll_timeout().unwrap();
            assert_eq!(late, Instant::ZERO + PATIENCE);
            assert!(reassembly.expire(Instant::ZERO, |_| false).is_empty());
            assert_eq!(reassembly.expire(late, |_| false), [fragments[1].clone()]);
            assert_eq!((reassembly.held, reassembly.poll_timeout()), (0, None));
        }
    }

    #[test]
    fn of_a_split_connection_nothing_goes_on_that_is_not_whole() {
        for whole in packets() {
            let fragments = cut(&whole, 1024, 1);
            let ports = |key: &FlowKey| [true, false].map(|low| key.end(low).1);
            let is_split = |key: &FlowKey| ports(key) == [7, 0] || ports(key) == [0, 7];
            let mut reassembly = Reassembly::default();
            assert_eq!(reassembly.take(Instant::ZERO, &fragments[0], is_split), kept());
            let late = reassembly.poll_timeout().unwrap();
            assert!(reassembly.expire(late, is_split).is_empty());
            // Whose these are nobody can say.
            assert_eq!(reassembly.take(late, &fragments[1], is_split), kept());
            assert_eq!(reassembly.expire(late + PATIENCE, is_split), [fragments[1].clone()]);
        }
    }

    #[test]
    fn fragments_do_not_wait_until_identifications_come_up_again() {
        let [whole, _] = packets();
        let cut = |id: u16| cut(&whole, 2048, id);
        for (others, expected) in [(HALF_WRAP - 1, true), (HALF_WRAP, false)] {
            let mut reassembly = Reassembly::default();
            assert_eq!(take(&mut reassembly, Instant::ZERO, &cut(0)[0]), kept());
            for id in 1..=others {
                let [first, second] = &cut(id as u16)[..] else { panic!("two") };
                take(&mut reassembly, Instant::ZERO, first);
                take(&mut reassembly, Instant::ZERO, second);
            }
            let outcome = take(&mut reassembly, Instant::ZERO, &cut(0)[1]);
            assert_eq!(matches!(outcome, Outcome::Whole(..)), expected, "{others}");
        }
    }

    #[test]
    fn a_flood_of_beginnings_has_a_limit_and_drops_nothing() {
        let [whole, _] = packets();
        let mut reassembly = Reassembly::default();
        let mut gone = 0;
        for id in 0..u16::MAX {
            let now = Instant::ZERO + Duration::from_millis(id.into());
            match take(&mut reassembly, now, &cut(&whole, 1024, id)[0]) {
                Outcome::Kept(packets) => gone += packets.len(),
                outcome => panic!("{outcome:?}"),
            }
            assert!(reassembly.held <= ROOM);
        }
        assert_eq!(gone + reassembly.waiting.len(), usize::from(u16::MAX));
    }

    #[test]
    fn what_is_no_fragment_of_tcp_is_left_alone() {
        let mut reassembly = Reassembly::default();
        for whole in packets() {
            let fragment = &cut(&whole, 1024, 1)[0];
            let mut udp = fragment.clone();
            udp[if whole[0] >> 4 == 4 { 9 } else { 40 }] = 17;
            for bytes in [&whole[..], &udp, &fragment[..900], &[], &[0x45], &[0x60; 41]] {
                assert_eq!(take(&mut reassembly, Instant::ZERO, bytes), Outcome::NotFragment);
            }
        }
        let header = Ipv4Header::new(0, 1, IpNumber::TCP, [1; 4], [2; 4]).unwrap();
        let empty = Ipv4Header { more_fragments: true, ..header }.to_bytes();
        assert_eq!(take(&mut reassembly, Instant::ZERO, &empty), Outcome::NotFragment);
    }
}

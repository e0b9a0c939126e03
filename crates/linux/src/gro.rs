//! Packets of one flow that leave together are written as one super-segment: the kernel takes them
//! for little more than what one costs, and hosts see them as they were, or joined as by a network
//! card (GRO).
//!
//! Only packets whose checksum the kernel has still to finish are joined, which are those of hosts
//! on this machine and those that a network card has joined and checked.

use crate::packet::Packet;
use crate::transport_headers::{ACK, TransportHeaders};
use crate::tun::FRAME_LEN;
use crate::vnet_hdr::{Checksum, Gso, GsoKind, VnetHdr};
use bentpipe_core::time::{Duration, Instant};

/// Packets are joined if they are due within so long: the last waits for nothing, the first may be
/// late by as much.
const SPAN: Duration = Duration::from_micros(50);
/// The longest IP packet.
const LONGEST: usize = 65_535;
/// The kernel takes no more datagrams in one (`UDP_MAX_SEGMENTS` of older ones).
const MOST: usize = 64;

/// One packet or several, about to be written as one.
#[derive(Debug, Default)]
pub struct Joined {
    bytes: Vec<u8>,
    /// What stands in front of each.
    frame: Option<[u8; FRAME_LEN]>,
    checksum: Checksum,
    /// When each was to leave, and its bytes.
    packets: Vec<(Instant, usize)>,
    /// Of the first, if others may be joined to it, with its payload's length.
    first: Option<(TransportHeaders, usize)>,
    /// What can follow; None if nothing can.
    open: Option<Open>,
}

/// What the next packet has to be like.
#[derive(Debug, Clone, Copy)]
struct Open {
    headers: TransportHeaders,
    /// Payload of each, but for the last one.
    size: usize,
    sequence: u32,
    identification: u16,
}

impl Joined {
    /// Begins anew with `packet`, which was to leave at `due`. What there was has been written.
    pub fn begin(&mut self, due: Instant, packet: &Packet) {
        self.bytes.clear();
        self.bytes.extend_from_slice(&packet.bytes);
        self.frame = packet.frame;
        self.checksum = packet.checksum;
        self.packets.clear();
        self.packets.push((due, packet.bytes.len()));
        self.open = Open::after(packet);
        self.first = self.open.map(|open| (open.headers, open.size));
    }

    /// Adds `packet`, which was to leave at `due`, if it goes on where the others end. Whether it
    /// has.
    pub fn add(&mut self, due: Instant, packet: &Packet) -> bool {
        let (Some(open), Some((first, _))) = (self.open, self.packets.first()) else {
            return false;
        };
        let headers = &open.headers;
        let fits = due <= *first + SPAN
            && packet.checksum == self.checksum
            && packet.frame == self.frame
            && self.packets.len() < MOST
            && TransportHeaders::find(&packet.bytes, packet.checksum) == Some(*headers)
            && packet.bytes.len() - headers.payload <= open.size
            && self.bytes.len() + packet.bytes.len() - headers.payload <= LONGEST
            && headers.identification(&packet.bytes, 0) == open.identification
            && (headers.kind == GsoKind::Udp || headers.sequence(&packet.bytes) == open.sequence)
            && headers.are_alike(&self.bytes, &packet.bytes);
        if !fits {
            return false;
        }
        self.bytes.extend_from_slice(&packet.bytes[headers.payload..]);
        self.packets.push((due, packet.bytes.len()));
        if headers.kind != GsoKind::Udp {
            // They are alike but for PSH, which the last may have.
            headers.set_flags(&mut self.bytes, headers.flags(&packet.bytes));
        }
        self.open = Open::after(packet).filter(|next| next.size == open.size);
        true
    }

    /// When each packet was to leave, and its bytes. None if there is nothing to write.
    pub fn packets(&self) -> &[(Instant, usize)] {
        &self.packets
    }

    /// What stands in front of it.
    pub fn frame(&self) -> Option<[u8; FRAME_LEN]> {
        self.frame
    }

    /// What is to be written, once.
    pub fn finish(&mut self) -> (VnetHdr, &[u8]) {
        let plain = VnetHdr { checksum: self.checksum, ..VnetHdr::default() };
        match self.first {
            Some((headers, size)) if self.packets.len() > 1 => {
                headers.write_lengths(&mut self.bytes, headers.payload + size - headers.transport);
                let gso = Some(Gso { kind: headers.kind, ecn: false, size: size as u16 });
                let header = VnetHdr { gso, hdr_len: headers.payload as u16, ..plain };
                (header, &self.bytes)
            }
            _ => (plain, &self.bytes),
        }
    }

    /// It has been written.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.open = None;
    }
}

impl Open {
    /// What can follow `packet`: nothing, unless it is a part of a stream or a datagram like
    /// others.
    fn after(packet: &Packet) -> Option<Open> {
        let headers = TransportHeaders::find(&packet.bytes, packet.checksum)?;
        let size = packet.bytes.len() - headers.payload;
        let plain = headers.kind == GsoKind::Udp || headers.flags(&packet.bytes) == ACK;
        plain.then(|| Open {
            headers,
            size,
            sequence: match headers.kind {
                GsoKind::Udp => 0,
                _ => headers.sequence(&packet.bytes).wrapping_add(size as u32),
            },
            identification: headers.identification(&packet.bytes, 1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gso::split;
    use crate::gso::tests::{assert_sound, packet};

    const KINDS: [(GsoKind, bool); 4] = [
        (GsoKind::TcpV4, false),
        (GsoKind::TcpV6, true),
        (GsoKind::Udp, false),
        (GsoKind::Udp, true),
    ];

    /// The parts of a super-segment of this kind. Only the last one's flags are not plain.
    fn parts(kind: GsoKind, six: bool, payload: usize) -> Vec<Packet> {
        let (bytes, checksum) = packet(kind, six, payload);
        let gso = Some(Gso { kind, ecn: false, size: 1000 });
        let mut parts = Vec::new();
        let header = VnetHdr { gso, hdr_len: 0, checksum };
        assert!(split(&header, &bytes, |part| parts.push(part)));
        if kind != GsoKind::Udp {
            for part in &mut parts {
                let headers = TransportHeaders::find(&part.bytes, checksum).unwrap();
                let flags = headers.flags(&part.bytes) & (ACK | crate::transport_headers::PSH);
                headers.set_flags(&mut part.bytes, flags);
            }
        }
        parts
    }

    /// As many of `parts` as join, each a microsecond after the one before it.
    fn joined(parts: &[Packet]) -> Joined {
        let mut joined = Joined::default();
        joined.begin(Instant::ZERO, &parts[0]);
        for (number, part) in (1..).zip(&parts[1..]) {
            if !joined.add(Instant::ZERO + Duration::from_micros(number), part) {
                break;
            }
        }
        joined
    }

    #[test]
    fn what_was_cut_is_joined_and_can_be_cut_again() {
        for (kind, six) in KINDS {
            for payload in [1000, 1001, 4000, 4500] {
                let parts = parts(kind, six, payload);
                let mut joined = joined(&parts);
                assert_eq!(joined.packets().len(), parts.len(), "{kind:?} {payload}");
                let (header, bytes) = joined.finish();
                assert_eq!(header.gso.is_some(), parts.len() > 1);
                assert_sound(&Packet::new(bytes.to_vec(), header.checksum));
                let mut again = Vec::new();
                assert!(split(&header, bytes, |part| again.push(part)));
                assert_eq!(again, parts, "{kind:?} {payload}");
            }
        }
    }

    #[test]
    fn only_what_goes_on_is_joined() {
        for (kind, six) in KINDS {
            let whole = parts(kind, six, 3500);
            let start = if six { 40 } else { 20 };
            // A hole, an end, another port, another hop limit, another mark.
            assert_eq!(
                joined(&[whole[0].clone(), whole[0].clone()]).packets().len(),
                1 + usize::from(six && kind == GsoKind::Udp)
            );
            assert_eq!(joined(&[whole[3].clone(), whole[0].clone()]).packets().len(), 1);
            for at in [start, if six { 7 } else { 8 }, 1] {
                let mut other = whole[1].clone();
                other.bytes[at] ^= 0x10;
                assert_eq!(joined(&[whole[0].clone(), other]).packets().len(), 1, "{kind:?} {at}");
            }
            let mut finished = whole[1].clone();
            finished.complete();
            assert_eq!(joined(&[whole[0].clone(), finished.clone()]).packets().len(), 1);
            assert_eq!(joined(&[finished, whole[2].clone()]).packets().len(), 1);
        }
        for flags in [0x11, 0x12, 0x14, 0x90, 0x30] {
            let mut whole = parts(GsoKind::TcpV4, false, 2000);
            whole[1].bytes[33] = flags;
            assert_eq!(joined(&whole).packets().len(), 1, "{flags}");
        }
    }

    #[test]
    fn what_is_due_later_is_not_waited_for() {
        let parts = parts(GsoKind::TcpV4, false, 3000);
        let mut joined = Joined::default();
        joined.begin(Instant::ZERO, &parts[0]);
        assert!(joined.add(Instant::ZERO + SPAN, &parts[1]));
        assert!(!joined.add(Instant::ZERO + SPAN + Duration::from_nanos(1), &parts[2]));
    }

    #[test]
    fn no_more_than_the_kernel_takes_is_joined() {
        let (bytes, checksum) = packet(GsoKind::Udp, false, 64_000);
        let header = |size| VnetHdr {
            gso: Some(Gso { kind: GsoKind::Udp, ecn: false, size }),
            hdr_len: 0,
            checksum,
        };
        let mut small = Vec::new();
        assert!(split(&header(10), &bytes, |part| small.push(part)));
        let mut some = Joined::default();
        some.begin(Instant::ZERO, &small[0]);
        let count = small[1..].iter().take_while(|part| some.add(Instant::ZERO, part)).count();
        assert_eq!(count + 1, MOST);
        let mut long = Vec::new();
        assert!(split(&header(9000), &bytes, |part| long.push(part)));
        let mut some = Joined::default();
        some.begin(Instant::ZERO, &long[0]);
        // Eight would be 72,028 bytes, were there so many.
        assert_eq!(long[1..].iter().take_while(|part| some.add(Instant::ZERO, part)).count(), 7);
        let mut next = long[7].clone();
        next.bytes[4..6].copy_from_slice(&[0, 7]);
        assert!(!some.add(Instant::ZERO, &next));
    }
}

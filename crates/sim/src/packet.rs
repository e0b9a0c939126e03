//! A packet as a struct: headers by meaning, payload as bytes.

use bentpipe_core::link;
use bentpipe_core::wire::{self, Checksum, Flags, IpHeader, TcpHeader, Verify};

/// A TCP packet on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// The IP header.
    pub ip: IpHeader,
    /// The TCP header.
    pub tcp: TcpHeader,
    /// The payload.
    pub payload: Vec<u8>,
}

impl link::Packet for Packet {
    fn wire_len(&self) -> u64 {
        (self.ip.wire_len() + self.tcp.wire_len() + self.payload.len()) as u64
    }
}

impl Packet {
    /// The packet's bytes, checksums included.
    pub fn to_bytes(&self) -> Vec<u8> {
        let payload = [self.payload.as_slice()].into_iter();
        let mut bytes = wire::emit(&self.ip, &self.tcp, payload, Checksum::Full).to_vec();
        bytes.extend_from_slice(&self.payload);
        bytes
    }

    /// The packet that `bytes` are, unless they are damaged.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Packet, wire::WireError> {
        let packet = wire::Packet::parse(bytes, Verify::Full)?;
        Ok(Packet { ip: packet.ip, tcp: packet.tcp, payload: packet.payload.to_vec() })
    }

    /// Cuts a super-segment into packets of at most `mss` bytes of payload, as TSO does: sequence
    /// numbers advance, FIN and PSH stay on the last one, CWR on the first.
    pub fn cut(self, mss: usize) -> Vec<Packet> {
        let parts = self.payload.len().div_ceil(mss).max(1);
        if parts == 1 {
            return vec![self];
        }
        let pieces = self.payload.chunks(mss).enumerate().map(|(i, piece)| {
            let mut tcp = TcpHeader { seq: self.tcp.seq + (i * mss) as u64, ..self.tcp.clone() };
            if i + 1 < parts {
                tcp.flags = tcp.flags.without(Flags::FIN | Flags::PSH);
            }
            if i > 0 {
                tcp.flags = tcp.flags.without(Flags::CWR);
            }
            Packet { ip: self.ip, tcp, payload: piece.to_vec() }
        });
        pieces.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::wire::SeqNum;
    use std::net::IpAddr;

    #[test]
    fn super_segments_are_cut_as_hardware_does() {
        let ip = IpHeader {
            src: IpAddr::from([10, 0, 0, 1]),
            dst: IpAddr::from([10, 0, 0, 2]),
            hop_limit: 64,
            traffic_class: 0,
            flow_label: 0,
        };
        let flags = Flags::ACK | Flags::PSH | Flags::FIN | Flags::CWR;
        let tcp = TcpHeader { seq: SeqNum(u32::MAX - 1), flags, ..TcpHeader::default() };
        let whole = Packet { ip, tcp, payload: (0..250).collect() };
        let parts = whole.clone().cut(100);
        let flags: Vec<Flags> = parts.iter().map(|part| part.tcp.flags).collect();
        assert_eq!(
            flags,
            [Flags::ACK | Flags::CWR, Flags::ACK, Flags::ACK | Flags::PSH | Flags::FIN]
        );
        assert_eq!(parts[2].tcp.seq, SeqNum(198));
        assert_eq!(parts.iter().map(|part| part.payload.len()).sum::<usize>(), 250);
        for part in parts {
            assert_eq!(Packet::from_bytes(&part.to_bytes()), Ok(part));
        }
    }
}

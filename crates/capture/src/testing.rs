//! Captures that tests write, packet by packet.

use crate::connection::Flags;
use crate::{Capture, Connection};

/// A pcap file in the making: raw IP, nanoseconds.
pub(crate) struct File {
    bytes: Vec<u8>,
    /// Milliseconds.
    pub(crate) now: f64,
}

/// A TCP packet that is to be written. The client is 10.0.0.1:1000, the server 10.0.0.2:80.
#[derive(Clone)]
pub(crate) struct Packet {
    pub(crate) from_client: bool,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) len: u16,
    pub(crate) window: u16,
    pub(crate) flags: u16,
    pub(crate) options: Vec<u8>,
}

pub(crate) const SYN: u16 = 2;
pub(crate) const ACK: u16 = 16;
/// MSS 1460, SACK permitted, window scale 0.
const SYN_OPTIONS: [u8; 12] = [2, 4, 5, 0xB4, 4, 2, 3, 3, 0, 1, 1, 1];

/// Data of the client.
pub(crate) fn data(seq: u32, len: u16) -> Packet {
    let options = Vec::new();
    Packet { from_client: true, seq, ack: 501, len, window: 8000, flags: ACK, options }
}

/// An ACK of the server with SACK blocks.
pub(crate) fn ack(ack: u32, sacks: &[(u32, u32)]) -> Packet {
    let mut options = Vec::new();
    if !sacks.is_empty() {
        options.extend([1, 1, 5, 2 + 8 * sacks.len() as u8]);
        for (left, right) in sacks {
            options.extend(left.to_be_bytes());
            options.extend(right.to_be_bytes());
        }
    }
    Packet { from_client: false, seq: 501, ack, len: 0, window: 60_000, flags: ACK, options }
}

impl File {
    pub(crate) fn new() -> File {
        File::with_link(101)
    }

    /// One of another link type than raw IP.
    pub(crate) fn with_link(link: u32) -> File {
        let mut bytes = 0xA1B2_3C4D_u32.to_le_bytes().to_vec();
        bytes.extend([2, 0, 4, 0]);
        bytes.extend([0; 8]);
        bytes.extend(65535_u32.to_le_bytes());
        bytes.extend(link.to_le_bytes());
        File { bytes, now: 0.0 }
    }

    /// A handshake of 20 ms; the client's data begins at 101.
    pub(crate) fn opened() -> File {
        let mut file = File::new();
        let syn =
            Packet { flags: SYN, seq: 100, ack: 0, options: SYN_OPTIONS.to_vec(), ..data(0, 0) };
        let answer =
            Packet { from_client: false, seq: 500, ack: 101, flags: SYN | ACK, ..syn.clone() };
        file.at(0.0, &syn);
        file.at(20.0, &answer);
        file.at(20.1, &data(101, 0));
        file
    }

    pub(crate) fn at(&mut self, ms: f64, packet: &Packet) {
        self.frame(ms, &ip(packet), usize::from(packet.len));
    }

    /// A frame of which so many bytes more were not captured.
    pub(crate) fn frame(&mut self, ms: f64, frame: &[u8], more: usize) {
        self.now = ms;
        let nanos = (ms * 1e6) as u64;
        let [captured, len] = [frame.len(), frame.len() + more].map(|len| len as u32);
        let words = [(nanos / 1_000_000_000) as u32, (nanos % 1_000_000_000) as u32, captured, len];
        self.bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        self.bytes.extend(frame);
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn read(&self) -> Capture {
        crate::read(&self.bytes[..]).unwrap()
    }

    pub(crate) fn connection(&self) -> Connection {
        self.read().connections.remove(0)
    }
}

/// The headers: data is never captured.
pub(crate) fn ip(packet: &Packet) -> Vec<u8> {
    let header = 20 + packet.options.len();
    let total = 20 + header as u16 + packet.len;
    let mut bytes = vec![0x45, 0];
    bytes.extend(total.to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    let (client, server) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let (from, to) = if packet.from_client { (client, server) } else { (server, client) };
    bytes.extend(from);
    bytes.extend(to);
    let ports: [u16; 2] = if packet.from_client { [1000, 80] } else { [80, 1000] };
    bytes.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    bytes.extend(packet.seq.to_be_bytes());
    bytes.extend(packet.ack.to_be_bytes());
    let flags = Flags::from_bits((header as u16 / 4) << 12 | packet.flags).bits();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(packet.window.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(&packet.options);
    bytes
}

//! The TCP header by meaning (RFC 9293, section 3.1).

use super::{SeqNum, TcpOptions, WireError};
use etherparse::TcpHeaderSlice;
use std::ops::BitOr;

/// The control bits, in the order of the header's byte 13 (CWR first).
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// Reset the connection.
    pub const RST: Flags = Flags(0x04);
    /// Push.
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgment field is significant.
    pub const ACK: Flags = Flags(0x10);
    /// The urgent pointer is significant.
    pub const URG: Flags = Flags(0x20);
    /// ECN-Echo (RFC 3168).
    pub const ECE: Flags = Flags(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Flags = Flags(0x80);

    /// Whether all bits of `other` are set here.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether they ask for a connection: no host listens to a SYN with more to it than that (RFC
    /// 9293, 3.10.7.2).
    pub const fn ask_for_a_connection(self) -> bool {
        let others = Flags::ACK.0 | Flags::RST.0 | Flags::FIN.0;
        self.contains(Flags::SYN) && self.0 & others == 0
    }

    /// Whether they accept a connection: those of a SYN-ACK.
    pub const fn accept_a_connection(self) -> bool {
        let others = Flags::RST.0 | Flags::FIN.0;
        self.contains(Flags(Flags::SYN.0 | Flags::ACK.0)) && self.0 & others == 0
    }

    /// These bits less those of `other`.
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl std::fmt::Debug for Flags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const NAMES: [&str; 8] = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
        let set = NAMES.iter().enumerate().filter(|(bit, _)| self.0 & (1 << bit) != 0);
        let names: Vec<&str> = set.map(|(_, name)| *name).collect();
        write!(f, "{}", names.join("|"))
    }
}

/// A TCP header by meaning.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TcpHeader {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number of the first byte (or of the SYN).
    pub seq: SeqNum,
    /// Acknowledgment number; meaningful if [`Flags::ACK`] is set.
    pub ack: SeqNum,
    /// The control bits.
    pub flags: Flags,
    /// The window field as it stands in the header, not scaled.
    pub window: u16,
    /// Urgent pointer; meaningful if [`Flags::URG`] is set.
    pub urgent: u16,
    /// The options.
    pub options: TcpOptions,
}

impl TcpHeader {
    /// Whether all of `flags` are set.
    pub fn has(&self, flags: Flags) -> bool {
        self.flags.contains(flags)
    }

    /// Header length on the wire, options and their padding included.
    pub fn wire_len(&self) -> usize {
        20 + self.options.wire_len()
    }

    /// Malformed options are an error in a SYN, as they would be relayed otherwise than they came.
    pub(super) fn from_slice(slice: &TcpHeaderSlice<'_>) -> Result<TcpHeader, WireError> {
        let options = match slice.syn() {
            true => TcpOptions::parse(slice.options())?,
            false => TcpOptions::parse_as_hosts_do(slice.options()),
        };
        Ok(TcpHeader {
            src_port: slice.source_port(),
            dst_port: slice.destination_port(),
            seq: SeqNum(slice.sequence_number()),
            ack: SeqNum(slice.acknowledgment_number()),
            flags: Flags(slice.slice()[13]),
            window: slice.window_size(),
            urgent: slice.urgent_pointer(),
            options,
        })
    }
}

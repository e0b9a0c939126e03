//! Captures in pcapng (draft-ietf-opsawg-pcapng), written as they come: a section header, one
//! interface, and a block for each packet. Little-endian on any machine, so that files of equal
//! runs are equal.

use bentpipe_core::wire::HEADERS_MAX;
use bentpipe_sim::{Captured, Direction};
use std::io::{self, Write};

/// Block types.
const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

/// By which readers tell the byte order.
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
/// LINKTYPE_RAW: packets begin with their IPv4 or IPv6 header.
const LINK_TYPE: u16 = 101;

/// Options, by the block that they are of.
const END: u16 = 0;
const COMMENT: u16 = 1;
const APPLICATION: u16 = 4;
const NAME: u16 = 2;
const DESCRIPTION: u16 = 3;
const RESOLUTION: u16 = 9;
const FLAGS: u16 = 2;

/// Timestamps are 10^-9 s.
const NANOSECONDS: u8 = 9;
/// What FLAGS says in its two lowest bits.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// A capture at one interface that is being written.
#[derive(Debug)]
pub(crate) struct Pcapng<W> {
    out: W,
    /// The block in the making.
    block: Vec<u8>,
}

impl<W: Write> Pcapng<W> {
    /// Begins the capture of the interface of this name.
    pub(crate) fn new(out: W, name: &str, description: &str) -> io::Result<Pcapng<W>> {
        let mut file = Pcapng { out, block: Vec::new() };
        file.begin(SECTION_HEADER);
        file.block.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        // Version 1.0; the section's length is not known.
        file.block.extend([1, 0, 0, 0]);
        file.block.extend(u64::MAX.to_le_bytes());
        file.option(APPLICATION, concat!("bentpipe ", env!("CARGO_PKG_VERSION")).as_bytes());
        file.end()?;
        file.begin(INTERFACE);
        file.block.extend(LINK_TYPE.to_le_bytes());
        file.block.extend([0, 0]);
        file.block.extend((HEADERS_MAX as u32).to_le_bytes());
        file.option(NAME, name.as_bytes());
        file.option(DESCRIPTION, description.as_bytes());
        file.option(RESOLUTION, &[NANOSECONDS]);
        file.end()?;
        Ok(file)
    }

    /// Adds a packet.
    pub(crate) fn packet(&mut self, packet: &Captured) -> io::Result<()> {
        let nanos = packet.at.as_nanos();
        self.begin(ENHANCED_PACKET);
        let len = u32::try_from(packet.len).unwrap_or(u32::MAX);
        let captured = packet.headers.len() as u32;
        for word in [0, (nanos >> 32) as u32, nanos as u32, captured, len] {
            self.block.extend(word.to_le_bytes());
        }
        self.padded(&packet.headers);
        let flags = match packet.direction {
            Direction::Sent => OUTBOUND,
            Direction::Received => INBOUND,
        };
        self.option(FLAGS, &flags.to_le_bytes());
        if let Some(cause) = packet.cause {
            self.option(COMMENT, format!("cause: {cause}").as_bytes());
        }
        self.end()
    }

    /// What the capture was written to.
    pub(crate) fn into_inner(self) -> W {
        self.out
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.block.extend(kind.to_le_bytes());
        // Its length, which `end` knows.
        self.block.extend([0; 4]);
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.block.extend(bytes);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// An option; of one that is too long, the beginning.
    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        self.block.extend(code.to_le_bytes());
        self.block.extend((value.len() as u16).to_le_bytes());
        self.padded(value);
    }

    /// Ends the options and the block.
    fn end(&mut self) -> io::Result<()> {
        self.option(END, &[]);
        let len = (self.block.len() as u32 + 4).to_le_bytes();
        self.block[4..8].copy_from_slice(&len);
        self.block.extend(len);
        self.out.write_all(&self.block)
    }
}

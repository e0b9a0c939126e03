//! Captures in pcapng (draft-ietf-opsawg-pcapng), written as they come: a section header, the interfaces, and a
//! block for each packet, with its cause as a comment. Little-endian on any machine, so that files of equal runs
//! are equal.

use crate::event::Direction;
use bentpipe_core::tcp::cause::Cause;
use std::io::{self, Write};

/// Block types.
const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const STATISTICS: u32 = 5;
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
const RECEIVED: u16 = 4;
const DROPPED: u16 = 5;

/// Timestamps are 10^-9 s.
const NANOSECONDS: u8 = 9;
/// What FLAGS says in its two lowest bits.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// An interface of which packets are captured.
#[derive(Debug, Clone, Copy)]
pub struct Interface<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is.
    pub description: &'a str,
    /// At most so many bytes of each packet are kept; 0: all.
    pub snap_len: u32,
}

/// A captured packet.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    /// At which interface, by its number in the order in which they were given.
    pub interface: u32,
    /// When, in nanoseconds since the clock's zero.
    pub nanos: u64,
    /// Which way.
    pub direction: Direction,
    /// Its first bytes, from the IP header on.
    pub bytes: &'a [u8],
    /// Its whole length.
    pub len: u64,
    /// Why it was sent, if that is known.
    pub cause: Option<Cause>,
}

/// A capture that is being written.
#[derive(Debug)]
pub struct Pcapng<W> {
    out: W,
    /// The block in the making.
    block: Vec<u8>,
    written: u64,
}

impl<W: Write> Pcapng<W> {
    /// Begins a capture.
    ///
    /// # Errors
    /// `out` does not take it.
    pub fn new(out: W, interfaces: &[Interface<'_>]) -> io::Result<Pcapng<W>> {
        let mut file = Pcapng { out, block: Vec::new(), written: 0 };
        file.begin(SECTION_HEADER);
        file.block.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        // Version 1.0; the section's length is not known.
        file.block.extend([1, 0, 0, 0]);
        file.block.extend(u64::MAX.to_le_bytes());
        file.option(APPLICATION, concat!("bentpipe ", env!("CARGO_PKG_VERSION")).as_bytes());
        file.end()?;
        for interface in interfaces {
            file.begin(INTERFACE);
            file.block.extend(LINK_TYPE.to_le_bytes());
            file.block.extend([0, 0]);
            file.block.extend(interface.snap_len.to_le_bytes());
            file.option(NAME, interface.name.as_bytes());
            file.option(DESCRIPTION, interface.description.as_bytes());
            file.option(RESOLUTION, &[NANOSECONDS]);
            file.end()?;
        }
        Ok(file)
    }

    /// Adds a packet.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let Packet { interface, nanos, bytes, .. } = *packet;
        self.begin(ENHANCED_PACKET);
        let len = u32::try_from(packet.len).unwrap_or(u32::MAX);
        for word in [interface, (nanos >> 32) as u32, nanos as u32, bytes.len() as u32, len] {
            self.block.extend(word.to_le_bytes());
        }
        self.padded(bytes);
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

    /// Adds what was counted of an interface: packets that were seen, and of these, those that could not be
    /// written.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn statistics(
        &mut self,
        interface: u32,
        nanos: u64,
        received: u64,
        dropped: u64,
    ) -> io::Result<()> {
        self.begin(STATISTICS);
        for word in [interface, (nanos >> 32) as u32, nanos as u32] {
            self.block.extend(word.to_le_bytes());
        }
        self.option(RECEIVED, &received.to_le_bytes());
        self.option(DROPPED, &dropped.to_le_bytes());
        self.end()
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// What it is written to.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// What the capture was written to.
    pub fn into_inner(self) -> W {
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
        self.written += self.block.len() as u64;
        self.out.write_all(&self.block)
    }
}

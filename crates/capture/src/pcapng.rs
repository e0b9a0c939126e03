//! Captures in pcapng (draft-ietf-opsawg-pcapng), written as they come: a section header, the
//! interfaces, and a block for each packet. Little-endian on any machine, so that files of equal
//! runs are equal.

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

/// Where packets are captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interface<'a> {
    /// As programs show it.
    pub name: &'a str,
    /// What it is.
    pub description: &'a str,
}

/// Which way a packet passes an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It comes in.
    Inbound,
    /// It goes out.
    Outbound,
}

/// A packet that is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The number of its interface, in the order in which they were given.
    pub interface: u32,
    /// When: nanoseconds since an epoch, which programs take for that of Unix.
    pub at: u64,
    /// Its bytes from the IP header on, as many as are captured.
    pub bytes: &'a [u8],
    /// Its whole length in bytes.
    pub len: u64,
    /// Which way, if that is known.
    pub way: Option<Way>,
    /// What is said of it; nothing if empty.
    pub comment: &'a str,
}

/// A capture that is being written.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    /// The block in the making.
    block: Vec<u8>,
    written: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a capture at these interfaces, of at most `most` bytes of each packet; 0: all.
    ///
    /// # Errors
    /// What `out` says, as of all that writes.
    pub fn new(out: W, interfaces: &[Interface<'_>], most: usize) -> io::Result<Writer<W>> {
        let mut file = Writer { out, block: Vec::new(), written: 0 };
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
            file.block.extend((most as u32).to_le_bytes());
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
    /// What the file says.
    pub fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        self.begin(ENHANCED_PACKET);
        let len = u32::try_from(packet.len).unwrap_or(u32::MAX);
        let (high, low) = ((packet.at >> 32) as u32, packet.at as u32);
        for word in [packet.interface, high, low, packet.bytes.len() as u32, len] {
            self.block.extend(word.to_le_bytes());
        }
        self.padded(packet.bytes);
        if let Some(way) = packet.way {
            let flags = match way {
                Way::Inbound => INBOUND,
                Way::Outbound => OUTBOUND,
            };
            self.option(FLAGS, &flags.to_le_bytes());
        }
        if !packet.comment.is_empty() {
            self.option(COMMENT, packet.comment.as_bytes());
        }
        self.end()
    }

    /// Adds what was counted of an interface: packets that were seen, and of these, those that
    /// could not be written.
    ///
    /// # Errors
    /// What the file says.
    pub fn statistics(
        &mut self,
        interface: u32,
        at: u64,
        received: u64,
        dropped: u64,
    ) -> io::Result<()> {
        self.begin(STATISTICS);
        for word in [interface, (at >> 32) as u32, at as u32] {
            self.block.extend(word.to_le_bytes());
        }
        self.option(RECEIVED, &received.to_le_bytes());
        self.option(DROPPED, &dropped.to_le_bytes());
        self.end()
    }

    /// Hands on what a buffer holds.
    ///
    /// # Errors
    /// What the file says.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Bytes so far.
    pub fn written(&self) -> u64 {
        self.written
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

#[cfg(test)]
mod tests {
    use super::*;
    use pcap_parser::traits::PcapReaderIterator;
    use pcap_parser::{Block, PcapBlockOwned, PcapError, PcapNGReader};

    /// Read by somebody else's reader.
    #[test]
    fn packets_keep_their_interfaces_moments_and_comments() {
        let interfaces = [("a", "one side"), ("b", "the other")]
            .map(|(name, description)| Interface { name, description });
        let mut writer = Writer::new(Vec::new(), &interfaces, 128).unwrap();
        let at = 1_700_000_000_123_456_789_u64;
        let bytes = [0x45, 0, 0, 20, 7];
        let packet = Packet {
            interface: 1,
            at,
            bytes: &bytes,
            len: 1500,
            way: Some(Way::Outbound),
            comment: "queue: 3",
        };
        writer.packet(&packet).unwrap();
        writer.packet(&Packet { interface: 0, way: None, comment: "", ..packet }).unwrap();
        let length = writer.written();
        let file = writer.into_inner();
        assert_eq!(file.len() as u64, length);

        let mut reader = PcapNGReader::new(1 << 16, &file[..]).unwrap();
        let (mut names, mut packets) = (Vec::new(), Vec::new());
        loop {
            match reader.next() {
                Ok((used, PcapBlockOwned::NG(block))) => {
                    match block {
                        Block::InterfaceDescription(interface) => {
                            assert_eq!(interface.snaplen, 128);
                            names.push(interface.options[0].value.to_vec());
                        }
                        Block::EnhancedPacket(packet) => {
                            let at = (u64::from(packet.ts_high) << 32) | u64::from(packet.ts_low);
                            let comment =
                                packet.options.iter().find(|option| option.code.0 == COMMENT);
                            let comment =
                                comment.map(|option| option.value[..option.len as usize].to_vec());
                            let (id, captured) =
                                (packet.if_id, packet.data[..packet.caplen as usize].to_vec());
                            packets.push((id, at, captured, packet.origlen, comment));
                        }
                        _ => {}
                    }
                    reader.consume(used);
                }
                Err(PcapError::Eof) => break,
                Err(PcapError::Incomplete(_)) => reader.refill().expect("the rest"),
                Ok(_) => panic!("no block of pcapng"),
                Err(error) => panic!("{error:?}"),
            }
        }
        assert_eq!(names.iter().map(|name| name[0]).collect::<Vec<_>>(), b"ab");
        let expected = |interface, comment: Option<&str>| {
            (interface, at, bytes.to_vec(), 1500, comment.map(|text| text.as_bytes().to_vec()))
        };
        assert_eq!(packets, [expected(1, Some("queue: 3")), expected(0, None)]);
    }
}

//! The packets of a file, as a stream: pcap (draft-ietf-opsawg-pcap) and pcapng
//! (draft-ietf-opsawg-pcapng), by pcap-parser.

use crate::interface::Interface;
use crate::old_pcap::OldLengths;
use pcap_parser::{Block, OptionCode, PcapBlockOwned, PcapError, PcapNGOption, create_reader};
use std::borrow::Cow;
use std::io::{self, Cursor, ErrorKind, Read};
use std::sync::OnceLock;

/// What is read at a time. A block that is longer makes the buffer grow up to [`BLOCK_MAX`].
const BUFFER: usize = 1 << 20;
/// No program writes longer blocks: who claims one has a damaged file.
const BLOCK_MAX: usize = 64 << 20;
/// Of pcapng: the block that Enhanced Packet Blocks replaced, which pcap-parser does not know.
const PACKET_BLOCK: u32 = 2;
/// Of that block without the packet's bytes.
const PACKET_BLOCK_HEADER: usize = 20;

/// Why a file cannot be read as a capture.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// From the file itself.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Nothing is in it.
    #[error("the file is empty")]
    Empty,
    /// No format's beginning.
    #[error("neither pcap nor pcapng nor qlog (as JSON text sequences)")]
    NoCapture,
    /// JSON, where qlog is read as JSON text sequences.
    #[error("plain JSON: qlog is read as JSON text sequences (RFC 7464)")]
    PlainJson,
    /// A text of a qlog file.
    #[error("JSON text {number} cannot be read: {why}")]
    Text {
        /// Which, from 1.
        number: u64,
        /// What is wrong with it.
        why: String,
    },
    /// Compressed in another way than by gzip and zstd.
    #[error("compressed by {0}, which is not read: decompress it first")]
    Compressed(&'static str),
    /// It ends before its first packet.
    #[error("ends, or is damaged, before its first packet")]
    NoPacket,
    /// Times that no 64 bits hold.
    #[error("an interface has times of a resolution that no file can have (if_tsresol 0x{0:02x})")]
    Resolution(u8),
    /// More than can be numbered.
    #[error("more than 4294967295 packets")]
    TooMany,
}

/// Where the readable part of a file ends too early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// In the middle of a packet: the program that wrote it was stopped, or the file was cut.
    Truncated,
    /// At bytes that are no block.
    Damaged,
}

impl Damage {
    /// Reads a decompressor's error.
    ///
    /// # Errors
    /// The error, if it is of the file and not of what is in it.
    pub(crate) fn of(error: io::Error) -> Result<Damage, ReadError> {
        match error.kind() {
            ErrorKind::UnexpectedEof => Ok(Damage::Truncated),
            ErrorKind::InvalidData | ErrorKind::InvalidInput => Ok(Damage::Damaged),
            _ => Err(error.into()),
        }
    }
}

/// One packet of a file.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    /// As Wireshark numbers them: from 1.
    pub(crate) number: u32,
    /// Nanoseconds since 1970.
    pub(crate) at: i64,
    /// LINKTYPE_…, which says how it begins.
    pub(crate) link: i32,
    /// The number of its interface in the file.
    pub(crate) interface: u32,
    /// What was captured of it.
    pub(crate) bytes: &'a [u8],
    /// How long it was on the wire.
    pub(crate) len: u32,
    /// Its comments (pcapng), one a line.
    pub(crate) comment: Option<Cow<'a, str>>,
}

/// Calls `each` for every packet. Returns where the file is damaged, if it is.
pub(crate) fn frames(
    reader: impl Read + Send,
    each: &mut dyn FnMut(&Frame<'_>),
) -> Result<Option<Damage>, ReadError> {
    let failure = OnceLock::new();
    let mut file = Watched { file: reader, failure: &failure };
    // A pipe returns less than it was asked for, and the format is told by the first bytes.
    let mut head = Vec::new();
    file.by_ref().take(BUFFER as u64 / 2).read_to_end(&mut head)?;
    if head.is_empty() {
        return Err(ReadError::Empty);
    }
    let old = OldLengths::of(&head);
    let file = Cursor::new(head).chain(file);
    let created = match old {
        None => create_reader(BUFFER, file),
        Some(old) => create_reader(BUFFER, old.renewed(file)),
    };
    let mut blocks = created.map_err(|error| match error {
        PcapError::HeaderNotRecognized | PcapError::NomError(..) => ReadError::NoCapture,
        _ => ReadError::NoPacket,
    })?;
    let mut section = Section::default();
    let mut capacity = BUFFER;
    let damage = loop {
        let step = match blocks.next() {
            Ok((len, block)) => {
                section.take(&block, each)?;
                Step::Consume(len)
            }
            Err(PcapError::Eof) => break None,
            Err(PcapError::Incomplete(_)) => Step::Refill,
            Err(PcapError::BufferTooSmall) => Step::Grow,
            Err(PcapError::UnexpectedEof) => break Some(Damage::Truncated),
            Err(_) => break Some(Damage::Damaged),
        };
        match step {
            Step::Consume(len) => blocks.consume_noshift(len),
            Step::Refill => drop(blocks.refill()),
            Step::Grow => {
                capacity *= 4;
                if capacity > BLOCK_MAX || !blocks.grow(capacity) {
                    break Some(Damage::Damaged);
                }
                drop(blocks.refill());
            }
        }
    };
    drop(blocks);
    let damage = match failure.into_inner() {
        None => damage,
        Some(error) => Some(Damage::of(error)?),
    };
    match damage {
        Some(_) if section.number == 0 => Err(ReadError::NoPacket),
        damage => Ok(damage),
    }
}

/// A file that seems to end where it cannot be read any more: pcap-parser does not say why.
struct Watched<'a, R> {
    file: R,
    failure: &'a OnceLock<io::Error>,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.failure.get().is_some() {
            return Ok(0);
        }
        match self.file.read(buffer) {
            Err(error) if error.kind() != ErrorKind::Interrupted => {
                let _ = self.failure.set(error);
                Ok(0)
            }
            result => result,
        }
    }
}

/// What follows a look at the buffer. Blocks borrow it, so that it changes only afterwards.
enum Step {
    Consume(usize),
    Refill,
    Grow,
}

/// What blocks before said of those to come.
#[derive(Default)]
struct Section {
    interfaces: Vec<Interface>,
    /// Interfaces of the sections before.
    before: u32,
    /// Its byte order.
    big_endian: bool,
    number: u32,
}

impl Section {
    fn take(
        &mut self,
        block: &PcapBlockOwned<'_>,
        each: &mut dyn FnMut(&Frame<'_>),
    ) -> Result<(), ReadError> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                let resolution =
                    if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
                // The upper bits say whether a checksum of the frame follows.
                let link = header.network.0 & 0xFFFF;
                let snaplen = header.snaplen;
                self.interfaces = vec![Interface { link, resolution, offset: 0, snaplen }];
            }
            PcapBlockOwned::Legacy(packet) => {
                let number = self.count()?;
                let Some(&interface) = self.interfaces.first() else { return Ok(()) };
                let whole = i64::from(packet.ts_sec) * 1_000_000_000;
                each(&Frame {
                    number,
                    at: whole + interface.nanos(u64::from(packet.ts_usec)),
                    link: interface.link,
                    interface: 0,
                    bytes: packet.data,
                    len: packet.origlen,
                    comment: None,
                });
            }
            PcapBlockOwned::NG(Block::SectionHeader(section)) => {
                self.before = self.interface(self.interfaces.len());
                self.interfaces.clear();
                self.big_endian = section.big_endian();
            }
            PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
                let read = Interface::of(interface, self.big_endian);
                let unit = interface.if_tsresol;
                self.interfaces.push(read.ok_or(ReadError::Resolution(unit))?);
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                let number = self.count()?;
                let at = self.interfaces.get(packet.if_id as usize);
                let Some(&interface) = at else { return Ok(()) };
                let units = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                each(&Frame {
                    number,
                    at: interface.nanos(units),
                    link: interface.link,
                    interface: self.interface(packet.if_id as usize),
                    bytes: captured(packet.data, packet.caplen),
                    len: packet.origlen,
                    comment: comments(&packet.options),
                });
            }
            PcapBlockOwned::NG(Block::SimplePacket(packet)) => {
                let number = self.count()?;
                let Some(&interface) = self.interfaces.first() else { return Ok(()) };
                let snaplen = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
                each(&Frame {
                    number,
                    // These have no time.
                    at: 0,
                    link: interface.link,
                    interface: self.before,
                    bytes: captured(packet.data, packet.origlen.min(snaplen)),
                    len: packet.origlen,
                    comment: None,
                });
            }
            PcapBlockOwned::NG(Block::Unknown(block)) if block.block_type == PACKET_BLOCK => {
                self.old_packet(block.data, each)?;
            }
            // Wireshark numbers these, too.
            PcapBlockOwned::NG(Block::Custom(_) | Block::SystemdJournalExport(_)) => {
                self.count()?;
            }
            PcapBlockOwned::NG(_) => {}
        }
        Ok(())
    }

    /// The obsolete Packet Block: the interface takes two bytes, and two say what was dropped.
    fn old_packet(
        &mut self,
        block: &[u8],
        each: &mut dyn FnMut(&Frame<'_>),
    ) -> Result<(), ReadError> {
        let Some((&header, rest)) = block.split_first_chunk::<PACKET_BLOCK_HEADER>() else {
            return Ok(());
        };
        let number = self.count()?;
        let long = |at: usize| {
            let bytes = [header[at], header[at + 1], header[at + 2], header[at + 3]];
            if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        let index = if self.big_endian { long(0) >> 16 } else { long(0) & 0xFFFF } as usize;
        let Some(&interface) = self.interfaces.get(index) else { return Ok(()) };
        each(&Frame {
            number,
            at: interface.nanos(u64::from(long(4)) << 32 | u64::from(long(8))),
            link: interface.link,
            interface: self.interface(index),
            bytes: captured(rest, long(12)),
            len: long(16),
            comment: None,
        });
        Ok(())
    }

    /// The number in the file of an interface of this section.
    fn interface(&self, index: usize) -> u32 {
        self.before.saturating_add(u32::try_from(index).unwrap_or(u32::MAX))
    }

    fn count(&mut self) -> Result<u32, ReadError> {
        self.number = self.number.checked_add(1).ok_or(ReadError::TooMany)?;
        Ok(self.number)
    }
}

/// All comments of a packet.
fn comments<'a>(options: &'a [PcapNGOption<'a>]) -> Option<Cow<'a, str>> {
    let comments = options.iter().filter(|option| option.code == OptionCode::Comment);
    // Their values are padded.
    let mut texts = comments.filter_map(|option| option.as_str().ok());
    let first = texts.next()?;
    let Some(second) = texts.next() else { return Some(Cow::Borrowed(first)) };
    let mut all = format!("{first}\n{second}");
    for text in texts {
        all.push('\n');
        all.push_str(text);
    }
    Some(Cow::Owned(all))
}

/// Without what fills the block up.
fn captured(data: &[u8], len: u32) -> &[u8] {
    &data[..data.len().min(len as usize)]
}

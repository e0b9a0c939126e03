//! The packets of a file, as a stream: pcap (draft-ietf-opsawg-pcap) and pcapng
//! (draft-ietf-opsawg-pcapng), by pcap-parser.

use pcap_parser::{Block, OptionCode, PcapBlockOwned, PcapError, PcapNGOption, create_reader};
use std::borrow::Cow;
use std::io::{Cursor, Read};

/// What is read at a time. A block that is longer makes the buffer grow up to [`BLOCK_MAX`].
const BUFFER: usize = 1 << 20;
/// No program writes longer blocks: who claims one has a damaged file.
const BLOCK_MAX: usize = 64 << 20;
/// By what gzip's files begin.
const GZIP: [u8; 2] = [0x1F, 0x8B];

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
    /// Compressed.
    #[error("compressed by gzip: decompress it first (gunzip)")]
    Gzip,
    /// It ends before its first packet.
    #[error("ends, or is damaged, before its first packet")]
    NoPacket,
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

/// One packet of a file.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    /// As Wireshark numbers them: from 1.
    pub(crate) number: u32,
    /// Nanoseconds since 1970.
    pub(crate) at: i64,
    /// LINKTYPE_…, which says how it begins.
    pub(crate) link: i32,
    /// What was captured of it.
    pub(crate) bytes: &'a [u8],
    /// How long it was on the wire.
    pub(crate) len: u32,
    /// Its comments (pcapng), one a line.
    pub(crate) comment: Option<Cow<'a, str>>,
}

/// An interface of a pcapng section.
#[derive(Debug, Clone, Copy)]
struct Interface {
    link: i32,
    /// Units of time in a second.
    resolution: u64,
    /// Seconds to add.
    offset: i64,
    snaplen: u32,
}

impl Interface {
    fn nanos(self, units: u64) -> i64 {
        let nanos = u128::from(units) * 1_000_000_000 / u128::from(self.resolution.max(1));
        let offset = i128::from(self.offset) * 1_000_000_000;
        let at = i128::try_from(nanos).unwrap_or(i128::MAX).saturating_add(offset);
        i64::try_from(at).unwrap_or(i64::MAX)
    }
}

/// Calls `each` for every packet. Returns where the file is damaged, if it is.
pub(crate) fn frames(
    mut reader: impl Read + Send,
    each: &mut dyn FnMut(&Frame<'_>),
) -> Result<Option<Damage>, ReadError> {
    // A pipe returns less than it was asked for, and the format is told by the first bytes.
    let mut head = Vec::new();
    reader.by_ref().take(BUFFER as u64 / 2).read_to_end(&mut head)?;
    if head.is_empty() {
        return Err(ReadError::Empty);
    }
    if head.starts_with(&GZIP) {
        return Err(ReadError::Gzip);
    }
    let mut blocks = match create_reader(BUFFER, Cursor::new(head).chain(reader)) {
        Ok(blocks) => blocks,
        Err(PcapError::HeaderNotRecognized | PcapError::NomError(..)) => {
            return Err(ReadError::NoCapture);
        }
        Err(PcapError::ReadError) => return Err(std::io::Error::other("cannot be read").into()),
        Err(_) => return Err(ReadError::NoPacket),
    };
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
            Err(PcapError::ReadError) => {
                return Err(std::io::Error::other("cannot be read").into());
            }
            Err(_) => break Some(Damage::Damaged),
        };
        match step {
            Step::Consume(len) => blocks.consume_noshift(len),
            Step::Refill => blocks.refill().map_err(|_| std::io::Error::other("cannot be read"))?,
            Step::Grow => {
                capacity *= 4;
                if capacity > BLOCK_MAX || !blocks.grow(capacity) {
                    break Some(Damage::Damaged);
                }
                blocks.refill().map_err(|_| std::io::Error::other("cannot be read"))?;
            }
        }
    };
    match damage {
        Some(_) if section.number == 0 => Err(ReadError::NoPacket),
        damage => Ok(damage),
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
                    bytes: packet.data,
                    len: packet.origlen,
                    comment: None,
                });
            }
            PcapBlockOwned::NG(Block::SectionHeader(_)) => {
                self.interfaces.clear();
            }
            PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
                self.interfaces.push(Interface {
                    link: interface.linktype.0,
                    resolution: interface.ts_resolution().unwrap_or(1_000_000),
                    offset: interface.if_tsoffset,
                    snaplen: interface.snaplen,
                });
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
                    bytes: captured(packet.data, packet.origlen.min(snaplen)),
                    len: packet.origlen,
                    comment: None,
                });
            }
            PcapBlockOwned::NG(_) => {}
        }
        Ok(())
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
    let texts = comments.filter_map(|option| option.as_str().ok());
    texts.fold(None, |before, text| match before {
        None => Some(Cow::Borrowed(text)),
        Some(before) => Some(Cow::Owned(format!("{before}\n{text}"))),
    })
}

/// Without what fills the block up.
fn captured(data: &[u8], len: u32) -> &[u8] {
    &data[..data.len().min(len as usize)]
}

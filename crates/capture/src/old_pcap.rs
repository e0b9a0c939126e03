//! pcap files of before 1993. Their packets have the two lengths the other way round: before
//! version 2.3, in 2.3 where it cannot be otherwise, and in DG/UX's 543.0 (libpcap's sf-pcap.c).

use std::io::{self, BufReader, Read};

/// Of the file, with magic number and version.
const FILE_HEADER: usize = 24;
/// Of a packet: time, then the two lengths.
const PACKET_HEADER: usize = 16;

/// The order of the lengths in a file's packets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OldLengths {
    big_endian: bool,
    /// In each packet; else only where more was captured than there was.
    always: bool,
}

impl OldLengths {
    /// Of a file that begins like this, if it is one of these.
    pub(crate) fn of(head: &[u8]) -> Option<OldLengths> {
        let big_endian = match head.first_chunk()? {
            [0xA1, 0xB2, 0xC3, 0xD4] => true,
            [0xD4, 0xC3, 0xB2, 0xA1] => false,
            _ => return None,
        };
        let word = |at: usize| {
            let bytes = head.get(at..)?.first_chunk().copied()?;
            Some(if big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
        };
        match (word(4)?, word(6)?) {
            (2, 0..=2) | (543, 0) => Some(OldLengths { big_endian, always: true }),
            (2, 3) => Some(OldLengths { big_endian, always: false }),
            _ => None,
        }
    }

    /// The same file as one of today.
    pub(crate) fn renewed<R: Read>(self, file: R) -> impl Read {
        Renewed {
            file: BufReader::new(file),
            lengths: self,
            header: [0; PACKET_HEADER],
            pending: PACKET_HEADER..PACKET_HEADER,
            captured: 0,
            copied: FILE_HEADER as u64,
        }
    }

    /// Puts the lengths of a packet's header in today's order, and says how much was captured.
    fn renew(self, header: &mut [u8; PACKET_HEADER]) -> u32 {
        let long = |header: &[u8; PACKET_HEADER], at: usize| {
            let bytes = [header[at], header[at + 1], header[at + 2], header[at + 3]];
            if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        if self.always || long(header, 8) > long(header, 12) {
            header[8..].rotate_left(4);
        }
        long(header, 8)
    }
}

/// A file with its lengths put right as it is read.
struct Renewed<R> {
    file: BufReader<R>,
    lengths: OldLengths,
    header: [u8; PACKET_HEADER],
    /// The part of the header that was not read yet.
    pending: std::ops::Range<usize>,
    /// The captured bytes of its packet.
    captured: u64,
    /// Bytes up to the next header, which stay as they are.
    copied: u64,
}

impl<R: Read> Read for Renewed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.copied > 0 {
            let count = self.file.by_ref().take(self.copied).read(buffer)?;
            self.copied -= count as u64;
            return Ok(count);
        }
        if self.pending.is_empty() {
            let mut header = Vec::new();
            self.file.by_ref().take(PACKET_HEADER as u64).read_to_end(&mut header)?;
            self.header[..header.len()].copy_from_slice(&header);
            self.pending = 0..header.len();
            self.captured = match header.len() {
                PACKET_HEADER => u64::from(self.lengths.renew(&mut self.header)),
                _ => 0,
            };
        }
        let count = (&self.header[self.pending.clone()]).read(buffer)?;
        self.pending.start += count;
        if self.pending.is_empty() {
            self.copied = self.captured;
        }
        Ok(count)
    }
}

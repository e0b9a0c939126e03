//! Compressed files, by their first bytes. Those of gzip and zstd are decompressed as they are
//! read.

use crate::file::ReadError;
use flate2::bufread::GzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};

const GZIP: [u8; 2] = [0x1F, 0x8B];
const ZSTD: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// As many bytes tell one from another.
const MAGIC_MAX: u64 = 6;
/// Bytes read at a time.
const BUFFER: usize = 1 << 16;

/// Formats that are known by their name only.
const OTHERS: [(&[u8], &str); 5] = [
    (&[0xFD, b'7', b'z', b'X', b'Z', 0], "xz"),
    (b"BZh", "bzip2"),
    (&[0x04, 0x22, 0x4D, 0x18], "lz4"),
    (b"PK\x03\x04", "zip"),
    (&[0x1F, 0x9D], "compress"),
];

/// Decompresses a file, if it is compressed.
pub(crate) fn plain<'a>(
    mut reader: impl Read + Send + 'a,
) -> Result<Box<dyn Read + Send + 'a>, ReadError> {
    let mut head = Vec::new();
    reader.by_ref().take(MAGIC_MAX).read_to_end(&mut head)?;
    if let Some((_, name)) = OTHERS.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Err(ReadError::Compressed(name));
    }
    let (gzip, zstd) = (head.starts_with(&GZIP), head.starts_with(&ZSTD));
    let reader = Cursor::new(head).chain(reader);
    Ok(if gzip {
        let source = BufReader::with_capacity(BUFFER, reader);
        Box::new(Gzip { member: Some(GzDecoder::new(source)) })
    } else if zstd {
        let source = BufReader::with_capacity(BUFFER, reader);
        Box::new(Zstd { source, decoder: FrameDecoder::new() })
    } else {
        Box::new(reader)
    })
}

/// The members of a gzip file, one after the other (RFC 1952, 2.2). Other bytes behind one are left
/// out, as gzip does.
struct Gzip<R> {
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let count = member.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let source = self.member.take().map(GzDecoder::into_inner);
            self.member = source.map(Self::next).transpose()?.flatten();
        }
        Ok(0)
    }
}

impl<R: BufRead> Gzip<R> {
    fn next(mut source: R) -> io::Result<Option<GzDecoder<R>>> {
        let more = source.fill_buf()?.first() == Some(&GZIP[0]);
        Ok(more.then(|| GzDecoder::new(source)))
    }
}

/// The frames of a zstd file, one after the other (RFC 8878, 3). Windows of more than 128 MiB are
/// refused by the decoder.
struct Zstd<R> {
    source: R,
    decoder: FrameDecoder,
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.decoder.can_collect() == 0 {
            let step = if self.decoder.is_finished() {
                if !self.checksum_fits() {
                    return Err(ErrorKind::InvalidData.into());
                }
                if self.source.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                self.decoder.reset(&mut self.source)
            } else {
                let block = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, block).map(|_| ())
            };
            self.checked(&step)?;
        }
        self.decoder.read(buffer)
    }
}

impl<R: BufRead> Zstd<R> {
    fn checksum_fits(&self) -> bool {
        let said = self.decoder.get_checksum_from_data();
        said.is_none() || said == self.decoder.get_calculated_checksum()
    }

    /// Skips what is to be skipped, and tells an end that came too early from other damage.
    fn checked(&mut self, step: &Result<(), FrameDecoderError>) -> io::Result<()> {
        use FrameDecoderError::ReadFrameHeaderError as Header;
        match step {
            Ok(()) => Ok(()),
            Err(Header(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                let mut skipped = self.source.by_ref().take(u64::from(*length));
                io::copy(&mut skipped, &mut io::sink()).map(|_| ())
            }
            Err(_) if self.source.fill_buf()?.is_empty() => Err(ErrorKind::UnexpectedEof.into()),
            Err(_) => Err(ErrorKind::InvalidData.into()),
        }
    }
}

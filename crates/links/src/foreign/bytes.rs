//! The text of a named file: as it is, or unpacked from gzip.

use flate2::read::MultiGzDecoder;
use std::io::{self, Cursor, Read};

/// The longest text that is taken: an hour of IRTT, a probe each 10 ms, has some 300 MB.
const MAX: u64 = 1 << 29;
const GZIP: [u8; 2] = [0x1F, 0x8B];

/// Formats that are known by their name only, and their first bytes.
const OTHERS: [(&[u8], &str); 7] = [
    (&[0x28, 0xB5, 0x2F, 0xFD], "is compressed by zstd: unpack it (gzip is read as it is)"),
    (&[0xFD, b'7', b'z', b'X', b'Z', 0], "is compressed by xz: unpack it (gzip is read as it is)"),
    (b"BZh", "is compressed by bzip2: unpack it (gzip is read as it is)"),
    (b"PK\x03\x04", "is a zip archive or a spreadsheet: save it as CSV"),
    (b"PAR1", "is Parquet: write it as CSV"),
    (&[0xFF, 0xFE], "is UTF-16: save it as UTF-8"),
    (&[0xFE, 0xFF], "is UTF-16: save it as UTF-8"),
];

/// Reads the text of a file that a scenario or a setting names.
///
/// A file of gzip is unpacked, by its content (RFC 1952). A UTF-8 mark at the beginning is left
/// out.
///
/// # Errors
/// It cannot be read, is no text, or has more than 512 MiB, unpacked.
pub fn text(file: impl Read) -> Result<String, String> {
    text_of(file, MAX)
}

fn text_of(mut file: impl Read, max: u64) -> Result<String, String> {
    let mut head = Vec::new();
    let longest = OTHERS.iter().map(|(magic, _)| magic.len() as u64).max().unwrap_or(0);
    let why = |error: io::Error| error.to_string();
    file.by_ref().take(longest).read_to_end(&mut head).map_err(why)?;
    if let Some((_, what)) = OTHERS.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Err(format!("it {what}"));
    }
    let packed = head.starts_with(&GZIP);
    let whole = Cursor::new(head).chain(file);
    let mut bytes = Vec::new();
    match packed {
        true => MultiGzDecoder::new(whole).take(max + 1).read_to_end(&mut bytes),
        false => whole.take(max + 1).read_to_end(&mut bytes),
    }
    .map_err(|error| match packed {
        true => format!("it is damaged gzip: {error}"),
        false => error.to_string(),
    })?;
    if bytes.len() as u64 > max {
        let unpacked = if packed { ", unpacked" } else { "" };
        return Err(format!("it has more than {} MiB{unpacked}", max >> 20));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("it is no UTF-8 text (line {line})")
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn gzip_is_unpacked_and_a_mark_left_out() {
        assert_eq!(text(&b"0\n"[..]), Ok("0\n".to_owned()));
        assert_eq!(text("\u{feff}time_s".as_bytes()), Ok("time_s".to_owned()));
        // Two members, as `cat a.gz b.gz` makes them.
        let two = [packed(b"time_s,"), packed(b"delay_ms\n")].concat();
        assert_eq!(text(&two[..]), Ok("time_s,delay_ms\n".to_owned()));
        let cut = text(&two[..two.len() - 4]).unwrap_err();
        assert!(cut.starts_with("it is damaged gzip"), "{cut}");
    }

    #[test]
    fn a_bomb_is_refused_at_the_limit() {
        let bomb = packed(&vec![b'1'; 9 << 20]);
        assert!(bomb.len() < 20_000);
        assert_eq!(text_of(&bomb[..], 8 << 20).unwrap_err(), "it has more than 8 MiB, unpacked");
        assert_eq!(text_of(io::repeat(b'1'), 1 << 20).unwrap_err(), "it has more than 1 MiB");
    }

    #[test]
    fn what_is_no_text_is_named() {
        assert_eq!(text(&b"a\nb\xff"[..]).unwrap_err(), "it is no UTF-8 text (line 2)");
        assert!(text(&b"PK\x03\x04rest"[..]).unwrap_err().contains("save it as CSV"));
        assert!(text(&b"\xff\xfet\0"[..]).unwrap_err().contains("UTF-16"));
        assert!(text(&b"BZh9"[..]).unwrap_err().contains("bzip2"));
    }
}

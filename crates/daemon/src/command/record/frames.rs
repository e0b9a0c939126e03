//! A file in pieces: each with its length before it, and behind the last one a summary.

use std::io::{self, Read, Write};

/// In the summary: why nothing was recorded.
pub(super) const REFUSED: &str = "refused";

/// Announces the summary.
const SUMMARY: u32 = u32::MAX;

/// The longest piece that is taken.
const LONGEST: u32 = 1 << 20;

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// Nothing has come for a while.
    Nothing,
    /// A piece of the file.
    Piece(Vec<u8>),
    /// It is complete.
    Summary(Vec<u8>),
}

/// Writes a piece.
pub(super) fn piece(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    for bytes in bytes.chunks(LONGEST as usize) {
        out.write_all(&(bytes.len() as u32).to_le_bytes())?;
        out.write_all(bytes)?;
    }
    Ok(())
}

/// Writes the summary.
pub(super) fn summary(out: &mut impl Write, text: &str) -> io::Result<()> {
    out.write_all(&SUMMARY.to_le_bytes())?;
    piece(out, text.as_bytes())
}

/// Reads what comes next, or nothing if the first byte of it does not come in time.
pub(super) fn read(from: &mut impl Read) -> io::Result<Frame> {
    let mut head = [0; 4];
    match from.read(&mut head[..1]) {
        Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(_) => {}
        Err(error) if is_late(&error) => return Ok(Frame::Nothing),
        Err(error) => return Err(error),
    }
    all_of(from, &mut head[1..])?;
    let len = u32::from_le_bytes(head);
    if len == SUMMARY {
        all_of(from, &mut head)?;
        return Ok(Frame::Summary(body(from, u32::from_le_bytes(head))?));
    }
    Ok(Frame::Piece(body(from, len)?))
}

fn body(from: &mut impl Read, len: u32) -> io::Result<Vec<u8>> {
    if len > LONGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; len as usize];
    all_of(from, &mut bytes)?;
    Ok(bytes)
}

/// What was begun comes to its end, though it may take a while.
fn all_of(from: &mut impl Read, mut into: &mut [u8]) -> io::Result<()> {
    /// Looks of a tenth of a second each.
    const PATIENCE: usize = 300;
    let mut late = 0;
    while !into.is_empty() {
        match from.read(into) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(len) => into = &mut into[len..],
            Err(error) if is_late(&error) && late < PATIENCE => late += 1,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_late(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_and_the_summary_come_as_they_were_written() {
        let long = vec![7; LONGEST as usize + 5];
        let mut bytes = Vec::new();
        piece(&mut bytes, b"abc").unwrap();
        piece(&mut bytes, &long).unwrap();
        summary(&mut bytes, "{}").unwrap();
        let mut from = bytes.as_slice();
        assert_eq!(read(&mut from).unwrap(), Frame::Piece(b"abc".to_vec()));
        let mut back = Vec::new();
        while let Frame::Piece(piece) = read(&mut from).unwrap() {
            back.extend(piece);
            if back.len() == long.len() {
                break;
            }
        }
        assert_eq!(back, long);
        assert_eq!(read(&mut from).unwrap(), Frame::Summary(b"{}".to_vec()));
        assert!(read(&mut from).is_err(), "nothing is behind it");
    }

    #[test]
    fn what_is_cut_off_or_too_long_is_an_error() {
        assert!(read(&mut &[5, 0, 0, 0, 1][..]).is_err());
        assert!(read(&mut &[0, 0, 0, 0x7F][..]).is_err());
    }
}

//! A segment that is forwarded with another acknowledgment than it came with, by meaning and in its
//! bytes. Whatever else it says stays as it is, unknown options and the payload included.

use super::options::{self, NOP};
use super::{Checksum, SeqNum, TcpHeader};
use std::ops::Range;

/// Where the fields of a TCP header stand (RFC 9293, 3.1).
const ACK: Range<usize> = 8..12;
const OFFSET: usize = 12;
const WINDOW: Range<usize> = 14..16;
const CHECKSUM: Range<usize> = 16..18;

/// What a segment is to say instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckRewrite {
    /// The acknowledgment number.
    pub ack: SeqNum,
    /// The window field.
    pub window: u16,
}

impl AckRewrite {
    /// Rewrites a header. Its SACK blocks go: below a later acknowledgment they would report
    /// duplicates (RFC 2883), of which there were none. The host that sent them repeats them.
    pub fn apply(&self, tcp: &mut TcpHeader) {
        tcp.ack = self.ack;
        tcp.window = self.window;
        tcp.options.sack.clear();
    }

    /// Rewrites the bytes of a segment, of which all but the header may be missing (in its first
    /// fragment), and brings its checksum up to date. False, and nothing is changed, if the header
    /// is not there as a whole.
    pub fn write(&self, segment: &mut [u8], checksum: Checksum) -> bool {
        let len = segment.get(OFFSET).map_or(0, |byte| usize::from(byte >> 4) * 4);
        if len < 20 {
            return false;
        }
        let Some(header) = segment.get_mut(..len) else { return false };
        let before = sum(header);
        header[ACK].copy_from_slice(&self.ack.0.to_be_bytes());
        header[WINDOW].copy_from_slice(&self.window.to_be_bytes());
        if let Some(at) = options::sack_of(&header[20..]) {
            header[20..][at].fill(NOP);
        }
        if checksum == Checksum::Full {
            // RFC 1624, equation 3: HC' = ~(~HC + ~m + m'), for all words of the header at once.
            // Both sums contain HC, which is the same.
            let old = u16::from_be_bytes([header[CHECKSUM.start], header[CHECKSUM.start + 1]]);
            let new = !fold(u64::from(!old) + u64::from(!before) + u64::from(sum(header)));
            header[CHECKSUM].copy_from_slice(&new.to_be_bytes());
        }
        true
    }
}

/// The one's complement sum of a header's words.
fn sum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).map(|word| u16::from_be_bytes([word[0], word[1]]));
    fold(words.map(u64::from).sum())
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

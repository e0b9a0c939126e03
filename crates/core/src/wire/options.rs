//! TCP options by meaning. Those we do not know survive a round trip as bytes.

use super::SeqNum;
use arrayvec::ArrayVec;
use std::ops::Range;

const END: u8 = 0;
pub(super) const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const CC: u8 = 11;
const CC_NEW: u8 = 12;
const CC_ECHO: u8 = 13;
const MD5_SIGNATURE: u8 = 19;
const AUTHENTICATION: u8 = 29;

/// The option kind for experiments (RFC 6994), told apart by a 16-bit identifier.
pub const EXPERIMENT_KIND: u8 = 253;

/// Why options cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// An option's length is missing, below two, or runs over the header's end.
    #[error("option {0} runs over the end")]
    Overrun(u8),
    /// A known option with a length that it cannot have.
    #[error("option {0} has a wrong length")]
    Length(u8),
}

/// The timestamps option (RFC 7323, section 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval: the sender's clock.
    pub value: u32,
    /// TSecr: the peer's TSval, echoed.
    pub echo: u32,
}

/// One block of a SACK option (RFC 2018): bytes from `left` up to, not including, `right`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SackBlock {
    /// The first byte.
    pub left: SeqNum,
    /// One past the last byte.
    pub right: SeqNum,
}

/// A TCP header's options by meaning.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TcpOptions {
    /// Maximum segment size (RFC 9293), in a SYN.
    pub mss: Option<u16>,
    /// Window scale's shift count (RFC 7323), in a SYN.
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018), in a SYN.
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: Option<Timestamps>,
    /// SACK blocks, most recent first (RFC 2018); the first may be a DSACK (RFC 2883).
    pub sack: ArrayVec<SackBlock, 4>,
    /// CC: the connection count of this direction (RFC 1644).
    pub cc: Option<u32>,
    /// CC.NEW, in a SYN: the same, where counts cannot be compared with former ones.
    pub cc_new: Option<u32>,
    /// CC.ECHO, in a SYN-ACK: the count of the SYN that is answered.
    pub cc_echo: Option<u32>,
    /// All other options, kind and length included, in their order. On the heap, as they are
    /// seldom there: headers are moved from hand to hand.
    pub other: Vec<u8>,
    /// Something among them could not be read: there may be more. It is not written again.
    pub malformed: bool,
}

impl TcpOptions {
    /// The most that options may take in a header.
    pub const MAX_LEN: usize = 40;

    /// Reads the options part of a header.
    ///
    /// # Errors
    /// [`OptionsError`] if lengths contradict each other.
    pub fn parse(bytes: &[u8]) -> Result<TcpOptions, OptionsError> {
        let mut options = TcpOptions::default();
        match options.read_all(bytes) {
            None => Ok(options),
            Some(error) => Err(error),
        }
    }

    /// Reads of the options part of a header what hosts read of it in a connection that they have:
    /// an option with a length that it cannot have is skipped, and behind one that runs over the
    /// end nothing is read (Linux's `tcp_parse_options`).
    pub fn parse_as_hosts_do(bytes: &[u8]) -> TcpOptions {
        let mut options = TcpOptions::default();
        let malformed = options.read_all(bytes).is_some();
        TcpOptions { malformed, ..options }
    }

    /// Reads what can be read; the first thing that cannot.
    fn read_all(&mut self, mut bytes: &[u8]) -> Option<OptionsError> {
        let mut first = None;
        while let Some((&kind, rest)) = bytes.split_first() {
            match kind {
                END => break,
                NOP => {
                    bytes = rest;
                    continue;
                }
                _ => {}
            }
            let len = rest.first().map_or(0, |len| usize::from(*len));
            if len < 2 || len > bytes.len() {
                return first.or(Some(OptionsError::Overrun(kind)));
            }
            let (option, rest) = bytes.split_at(len);
            first = first.or(self.read(kind, &option[2..], option).err());
            bytes = rest;
        }
        first
    }

    fn read(&mut self, kind: u8, body: &[u8], whole: &[u8]) -> Result<(), OptionsError> {
        let word =
            |at: usize| u32::from_be_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]);
        match (kind, body.len()) {
            (MSS, 2) => self.mss = Some(u16::from_be_bytes([body[0], body[1]])),
            // RFC 7323, section 2.3: a shift above 14 counts as 14.
            (WINDOW_SCALE, 1) => self.window_scale = Some(body[0].min(14)),
            (SACK_PERMITTED, 0) => self.sack_permitted = true,
            (SACK, 8 | 16 | 24 | 32) => {
                self.sack = (0..body.len() / 8)
                    .map(|i| SackBlock {
                        left: SeqNum(word(i * 8)),
                        right: SeqNum(word(i * 8 + 4)),
                    })
                    .collect();
            }
            (TIMESTAMPS, 8) => {
                self.timestamps = Some(Timestamps { value: word(0), echo: word(4) });
            }
            (CC, 4) => self.cc = Some(word(0)),
            (CC_NEW, 4) => self.cc_new = Some(word(0)),
            (CC_ECHO, 4) => self.cc_echo = Some(word(0)),
            (
                MSS | WINDOW_SCALE | SACK_PERMITTED | SACK | TIMESTAMPS | CC | CC_NEW | CC_ECHO,
                _,
            ) => {
                return Err(OptionsError::Length(kind));
            }
            _ => {
                if self.other.len() + whole.len() > Self::MAX_LEN {
                    return Err(OptionsError::Overrun(kind));
                }
                self.other.extend_from_slice(whole);
            }
        }
        Ok(())
    }

    /// Length on the wire, padded to a multiple of four.
    pub fn wire_len(&self) -> usize {
        let mut len = self.other.len();
        len += if self.mss.is_some() { 4 } else { 0 };
        len += match (self.sack_permitted, self.timestamps.is_some()) {
            (true, true) => 12,
            (true, false) => 4,
            (false, true) => 12,
            (false, false) => 0,
        };
        len += if self.window_scale.is_some() { 4 } else { 0 };
        len += 8 * self.counts().count();
        len += if self.sack.is_empty() { 0 } else { 4 + 8 * self.sack.len() };
        len.next_multiple_of(4)
    }

    /// T/TCP's options that are there, by kind.
    fn counts(&self) -> impl Iterator<Item = (u8, u32)> {
        [(CC, self.cc), (CC_NEW, self.cc_new), (CC_ECHO, self.cc_echo)]
            .into_iter()
            .filter_map(|(kind, count)| Some((kind, count?)))
    }

    /// Whether any of T/TCP's options is there.
    pub fn has_counts(&self) -> bool {
        self.counts().next().is_some()
    }

    /// Whether the options fit into a header.
    pub fn fits(&self) -> bool {
        self.wire_len() <= Self::MAX_LEN
    }

    /// The options' bytes, aligned by NOPs as RFC 7323's appendix A has them. SACK blocks that
    /// do not fit are left out, last first (RFC 2018, section 3); so are bytes of `other` that
    /// do not fit, whole.
    pub(super) fn to_bytes(&self) -> ArrayVec<u8, 40> {
        let mut out = ArrayVec::new();
        let mut put = |bytes: &[u8]| out.try_extend_from_slice(bytes).is_ok();
        if let Some(mss) = self.mss {
            let [a, b] = mss.to_be_bytes();
            put(&[MSS, 4, a, b]);
        }
        if self.sack_permitted {
            // In front of timestamps it takes the place of the two NOPs.
            put(if self.timestamps.is_some() {
                &[SACK_PERMITTED, 2]
            } else {
                &[NOP, NOP, SACK_PERMITTED, 2]
            });
        }
        if let Some(Timestamps { value, echo }) = self.timestamps {
            if !self.sack_permitted {
                put(&[NOP, NOP]);
            }
            put(&[TIMESTAMPS, 10]);
            put(&value.to_be_bytes());
            put(&echo.to_be_bytes());
        }
        if let Some(shift) = self.window_scale {
            put(&[NOP, WINDOW_SCALE, 3, shift]);
        }
        for (kind, count) in self.counts() {
            let [a, b, c, d] = count.to_be_bytes();
            put(&[NOP, NOP, kind, 6, a, b, c, d]);
        }
        put(&self.other);
        let blocks = self.sack.len().min(out.remaining_capacity().saturating_sub(4) / 8);
        if blocks > 0 {
            let _ = out.try_extend_from_slice(&[NOP, NOP, SACK, (2 + 8 * blocks) as u8]);
            for block in &self.sack[..blocks] {
                let _ = out.try_extend_from_slice(&block.left.0.to_be_bytes());
                let _ = out.try_extend_from_slice(&block.right.0.to_be_bytes());
            }
        }
        while out.len() % 4 != 0 {
            out.push(END);
        }
        out
    }

    /// The body of the experimental option (RFC 6994) with this identifier, if there is one.
    pub fn experiment(&self, identifier: u16) -> Option<&[u8]> {
        self.others().find_map(|option| match option {
            [EXPERIMENT_KIND, _, a, b, body @ ..] if u16::from_be_bytes([*a, *b]) == identifier => {
                Some(body)
            }
            _ => None,
        })
    }

    /// Adds the experimental option with this identifier; false if there is no room.
    pub fn add_experiment(&mut self, identifier: u16, body: &[u8]) -> bool {
        let [a, b] = identifier.to_be_bytes();
        let len = 4 + body.len();
        if (self.wire_len() + len).next_multiple_of(4) > Self::MAX_LEN {
            return false;
        }
        self.other.extend_from_slice(&[EXPERIMENT_KIND, len as u8, a, b]);
        self.other.extend_from_slice(body);
        true
    }

    /// Removes every experimental option with this identifier.
    pub fn remove_experiment(&mut self, identifier: u16) {
        let [a, b] = identifier.to_be_bytes();
        let mut kept = Vec::new();
        for option in self.others() {
            if option.len() < 4 || option[0] != EXPERIMENT_KIND || option[2..4] != [a, b] {
                kept.extend_from_slice(option);
            }
        }
        self.other = kept;
    }

    /// Whether a signature is there: TCP MD5's (RFC 2385) or TCP-AO's (RFC 5925).
    pub fn is_signed(&self) -> bool {
        self.others().any(|option| matches!(option[0], MD5_SIGNATURE | AUTHENTICATION))
    }

    /// The unknown options one by one, kind and length included.
    pub fn others(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest: &[u8] = &self.other;
        std::iter::from_fn(move || {
            let len = usize::from(*rest.get(1)?);
            let (option, tail) = rest.split_at_checked(len.max(2))?;
            rest = tail;
            Some(option)
        })
    }
}

/// Where in the options part of a header SACK blocks stand, as far as it can be read.
pub(super) fn sack_of(bytes: &[u8]) -> Option<Range<usize>> {
    let mut at = 0;
    loop {
        at += match bytes.get(at..)? {
            [] | [END, ..] => return None,
            [NOP, ..] => 1,
            &[SACK, len, ..] => return Some(at..bytes.len().min(at + usize::from(len))),
            &[_, len, ..] => usize::from(len.max(2)),
            [_] => return None,
        };
    }
}

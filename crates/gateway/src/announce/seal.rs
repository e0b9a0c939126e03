//! The key that a pair of gateways shares, and what it seals.
//!
//! Hosts without a gateway can speak the option, too. A pair that has a key believes only sealed
//! ones. The seal is by SipHash-2-4, a hash with a key for short texts (Aumasson, Bernstein:
//! "SipHash: a fast short-input PRF", 2012). It is bound to its place by initial sequence numbers,
//! which NAT leaves alone, unlike addresses and ports. That of a report has both ends' numbers: one
//! that was overheard is of no use in another connection.

use bentpipe_core::wire::{Flags, SeqNum, TcpHeader};
use siphasher::sip::SipHasher24;
use std::fmt;
use std::hash::Hasher;
use std::str::FromStr;

/// Hexadecimal digits of a key.
const DIGITS: usize = 32;

/// A key of 128 bits. Its text is 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PairKey([u8; DIGITS / 2]);

/// A text is no [`PairKey`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key has 32 hexadecimal digits")]
pub struct PairKeyError;

impl PairKey {
    /// Its text, which is a secret.
    pub fn reveal(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Seals announcements in this SYN or SYN-ACK.
    pub(crate) fn in_handshake(self, tcp: &TcpHeader) -> Seal {
        let answers = tcp.has(Flags::ACK);
        let acknowledged = if answers { tcp.ack } else { SeqNum(0) };
        Seal { key: self, place: place(u8::from(answers), tcp.seq, acknowledged) }
    }

    /// Seals reports of the end with the initial sequence number `from` to the one with `to`.
    pub(crate) fn in_connection(self, from: SeqNum, to: SeqNum) -> Seal {
        Seal { key: self, place: place(2, from, to) }
    }
}

impl FromStr for PairKey {
    type Err = PairKeyError;

    fn from_str(text: &str) -> Result<PairKey, PairKeyError> {
        let are_digits = text.len() == DIGITS && text.bytes().all(|it| it.is_ascii_hexdigit());
        let bits = u128::from_str_radix(text, 16).ok().filter(|_| are_digits);
        bits.map(|bits| PairKey(bits.to_be_bytes())).ok_or(PairKeyError)
    }
}

/// It is a secret.
impl fmt::Debug for PairKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PairKey(..)")
    }
}

/// What stands before the text that is sealed.
type Place = [u8; 9];

fn place(kind: u8, from: SeqNum, to: SeqNum) -> Place {
    let mut place = [kind; 9];
    place[1..5].copy_from_slice(&from.0.to_be_bytes());
    place[5..].copy_from_slice(&to.0.to_be_bytes());
    place
}

/// Seals texts at one place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seal {
    key: PairKey,
    place: Place,
}

impl Seal {
    /// The seal of `text`.
    pub(super) fn of<const BYTES: usize>(&self, text: &[u8]) -> [u8; BYTES] {
        let mut hasher = SipHasher24::new_with_key(&self.key.0);
        hasher.write(&self.place);
        hasher.write(text);
        let hash = hasher.finish().to_be_bytes();
        std::array::from_fn(|at| hash[at])
    }

    /// What `bytes` say, if the seal at their end is right.
    pub(super) fn open<'a, const BYTES: usize>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (text, seal) = bytes.split_last_chunk::<BYTES>()?;
        // A forger learns nothing from how long this takes: each trial is another connection's.
        (self.of::<BYTES>(text) == *seal).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "000102030405060708090a0b0c0d0e0f";

    #[test]
    fn a_key_is_read_as_it_is_written_and_is_not_shown() {
        let key: PairKey = KEY.parse().unwrap();
        assert_eq!(key.reveal(), KEY);
        assert_eq!(KEY.to_uppercase().parse(), Ok(key));
        assert_eq!(format!("{key:?}"), "PairKey(..)");
        let long = format!("{KEY}0");
        let signed = format!("+{}", &KEY[1..]);
        for text in ["", "secret", &KEY[1..], &long, &signed] {
            assert_eq!(text.parse::<PairKey>(), Err(PairKeyError), "{text}");
        }
    }

    #[test]
    fn a_seal_is_of_its_text_place_and_key_alone() {
        let key: PairKey = KEY.parse().unwrap();
        let seal = key.in_connection(SeqNum(1), SeqNum(2));
        let sealed = [&b"text"[..], &seal.of::<8>(b"text")].concat();
        assert_eq!(seal.open::<8>(&sealed), Some(&b"text"[..]));
        let other: PairKey = KEY.replace('f', "e").parse().unwrap();
        for other in [
            key.in_connection(SeqNum(2), SeqNum(1)),
            key.in_connection(SeqNum(1), SeqNum(3)),
            other.in_connection(SeqNum(1), SeqNum(2)),
        ] {
            assert_eq!(other.open::<8>(&sealed), None);
        }
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(seal.open::<8>(&changed), None, "{at}");
        }
        assert_eq!(seal.open::<8>(b"short"), None);
    }

    #[test]
    fn what_a_syn_acknowledges_is_no_part_of_its_place() {
        let key: PairKey = KEY.parse().unwrap();
        let header = |flags, ack| TcpHeader { flags, ack, ..TcpHeader::default() };
        let of = |flags, ack| key.in_handshake(&header(flags, SeqNum(ack))).of::<4>(b"text");
        assert_eq!(of(Flags::SYN, 0), of(Flags::SYN, 7));
        let answer = Flags::SYN | Flags::ACK;
        assert_ne!(of(answer, 0), of(answer, 7));
        assert_ne!(of(Flags::SYN, 0), of(answer, 0));
    }

    /// The reference's example: key and text of counting bytes (appendix A of the paper).
    #[test]
    fn it_is_siphash_2_4() {
        let key: PairKey = KEY.parse().unwrap();
        let seal = Seal { key, place: [0, 1, 2, 3, 4, 5, 6, 7, 8] };
        let seal = seal.of::<8>(&[9, 10, 11, 12, 13, 14]);
        assert_eq!(u64::from_be_bytes(seal), 0xa129_ca61_49be_45e5);
    }
}

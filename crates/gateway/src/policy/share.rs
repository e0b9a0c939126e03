//! A share of all connections, chosen by their SYNs.

use crate::key::FlowKey;
use bentpipe_core::wire::SeqNum;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// Parts of a whole.
const WHOLE: u32 = 1_000_000;

/// A share of connections.
///
/// The choice follows from addresses, ports and the initial sequence number. All of these stay as
/// they are from gateway to gateway, so both ends of a link choose the same. Clients draw these
/// numbers at random (RFC 6056, RFC 6528). One that chooses them has its way with its own
/// connections alone, so there is no secret in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Share {
    millionths: u32,
}

/// A text that is no share.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("a share from \"0%\" to \"100%\"")]
pub struct ShareError;

impl Share {
    /// True for a share of nothing.
    pub fn is_zero(self) -> bool {
        self.millionths == 0
    }

    /// Whether the connection whose SYN has this number is among them.
    pub(crate) fn takes(self, key: &FlowKey, isn: SeqNum) -> bool {
        if self.is_zero() {
            return false;
        }
        let mut hash = u64::from(isn.0);
        for (address, port) in [key.end(true), key.end(false)] {
            let bits = u128::from(mapped(address));
            for word in [(bits >> 64) as u64, bits as u64, u64::from(port)] {
                hash = mix(hash ^ word);
            }
        }
        hash % u64::from(WHOLE) < u64::from(self.millionths)
    }
}

fn mapped(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// SplitMix64's step.
fn mix(word: u64) -> u64 {
    let mut word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

impl FromStr for Share {
    type Err = ShareError;

    fn from_str(text: &str) -> Result<Share, ShareError> {
        let number = text.strip_suffix('%').ok_or(ShareError)?.trim_end();
        let percent: f64 = number.parse().map_err(|_| ShareError)?;
        if !(0.0..=100.0).contains(&percent) {
            return Err(ShareError);
        }
        Ok(Share { millionths: (percent * f64::from(WHOLE) / 100.0).round() as u32 })
    }
}

impl fmt::Display for Share {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}%", f64::from(self.millionths) * 100.0 / f64::from(WHOLE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_as_they_are_written() {
        for text in ["0%", "5%", "0.1%", "12.5%", "100%"] {
            assert_eq!(text.parse::<Share>().unwrap().to_string(), text);
        }
        for wrong in ["", "5", "-1%", "101%", "x%", "NaN%"] {
            assert_eq!(wrong.parse::<Share>(), Err(ShareError), "{wrong}");
        }
    }

    #[test]
    fn as_many_are_chosen_as_the_share_says() {
        let share: Share = "5%".parse().unwrap();
        let key = |port| FlowKey::between(([10, 0, 0, 1].into(), port), ([10, 0, 0, 2].into(), 80));
        let chosen = |isn| (0..60_000).filter(|port| share.takes(&key(*port), SeqNum(isn))).count();
        for isn in [0, 1, u32::MAX] {
            assert!((2800..3200).contains(&chosen(isn)), "{isn}: {}", chosen(isn));
        }
        let all: Share = "100%".parse().unwrap();
        assert!(all.takes(&key(1), SeqNum(1)) && !Share::default().takes(&key(1), SeqNum(1)));
    }
}

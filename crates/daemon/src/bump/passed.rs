//! The traffic that passes the satellite's devices untaken, by class, direction and prefix.
//!
//! The kernel's programs count it (`counting`). A prefix is that of an address
//! as it stands on the wire. At a hub those of the satellite's side are the remotes. At a remote
//! site those of the LAN's side are its networks, unless the site is behind masquerade. A program
//! cannot know which of the two an operator has, so both are counted.

use bentpipe_gateway::{Side, SitePrefix, Traffic};
use bentpipe_linux::bpf::BpfError;
use bentpipe_linux::bpf::map::{Counters, Map, Plain};
use nix::errno::Errno;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Prefixes with a class that are counted at once, about; those without a packet for the longest
/// time give way.
const PREFIXES: u32 = 16_384;

/// A class of traffic that passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// TCP.
    Tcp = 0,
    /// UDP from or to port 443.
    Quic = 1,
    /// All other UDP, and its fragments.
    Udp = 2,
    /// All other IP: ICMP, ESP, tunnels.
    OtherIp = 3,
    /// Frames without an IP header: ARP.
    NotIp = 4,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 5] = [Class::Tcp, Class::Quic, Class::Udp, Class::OtherIp, Class::NotIp];

    /// A word for metrics and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Class::Tcp => "tcp",
            Class::Quic => "quic",
            Class::Udp => "udp",
            Class::OtherIp => "other-ip",
            Class::NotIp => "not-ip",
        }
    }
}

/// The number that stands for what is taken, behind those of the classes.
pub(super) const TAKEN: i32 = Class::ALL.len() as i32;

/// Words for both directions: towards the satellite, and from there.
pub const DIRECTIONS: [&str; 2] = ["out", "in"];

/// The traffic over the satellite's devices, in both [directions](DIRECTIONS).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Crossed {
    /// Passed, by class.
    pub passed: [[Traffic; 2]; Class::ALL.len()],
    /// Came from there and was taken, or was put there by the gateway.
    pub taken: [Traffic; 2],
}

/// A prefix, and the traffic that passed from it and to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassedPrefix {
    /// The side on which it is.
    pub side: Side,
    /// The addresses.
    pub prefix: SitePrefix,
    /// Bytes by class (all but [`Class::NotIp`]) and direction.
    pub bytes: [[u64; 2]; 4],
}

impl PassedPrefix {
    /// Bytes of all classes in both directions.
    pub fn total(&self) -> u64 {
        self.bytes.as_flattened().iter().sum()
    }
}

/// The counters, which the kernel's programs and we share.
#[derive(Debug)]
pub(super) struct PassedCounters {
    /// Packets and bytes, by class and direction.
    pub(super) by_class: Counters<2>,
    /// Bytes by direction.
    pub(super) by_prefix: Map<PrefixKey, [u64; 2]>,
}

impl PassedCounters {
    pub(super) fn new() -> Result<PassedCounters, BpfError> {
        let sets = 2 * (TAKEN as u32 + 1);
        Ok(PassedCounters {
            by_class: Counters::new("bentpipe_passed", sets)?,
            by_prefix: Map::recent("bentpipe_prefix", PREFIXES)?,
        })
    }

    /// The counts so far.
    pub(super) fn crossed(&self) -> Result<Crossed, Errno> {
        let traffic = |class: u32, direction: u32| -> Result<Traffic, Errno> {
            let [packets, bytes] = self.by_class.sum(2 * class + direction)?;
            Ok(Traffic { packets, bytes })
        };
        let both = |class| Ok([traffic(class, 0)?, traffic(class, 1)?]);
        let mut crossed = Crossed { taken: both(TAKEN as u32)?, ..Crossed::default() };
        for class in Class::ALL {
            crossed.passed[class as usize] = both(class as u32)?;
        }
        Ok(crossed)
    }

    /// The prefixes that are counted.
    pub(super) fn prefixes(&self) -> Result<Vec<PassedPrefix>, Errno> {
        let mut prefixes: BTreeMap<(Side, SitePrefix), PassedPrefix> = BTreeMap::new();
        for (PrefixKey { side, prefix, class }, bytes) in self.by_prefix.entries()? {
            let new = || PassedPrefix { side, prefix, bytes: [[0; 2]; 4] };
            let counted = prefixes.entry((side, prefix)).or_insert_with(new);
            if let Some(of_class) = counted.bytes.get_mut(usize::from(class)) {
                *of_class = bytes;
            }
        }
        Ok(prefixes.into_values().collect())
    }
}

/// A prefix and a class, by which the kernel's programs count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PrefixKey {
    side: Side,
    prefix: SitePrefix,
    class: u8,
}

impl PrefixKey {
    // Where the parts are among the bytes. The address begins them, in eight.
    pub(super) const SIDE: i16 = 8;
    pub(super) const CLASS: i16 = 10;
    /// The first byte of an address that is not in the prefix, by version.
    pub(super) const ENDS: [i16; 2] =
        [SitePrefix::LENGTHS[0] as i16 / 8, SitePrefix::LENGTHS[1] as i16 / 8];

    /// The bytes from [`PrefixKey::SIDE`] on that say the side and the version.
    pub(super) const fn tag(side: Side, version: u8) -> [u8; 2] {
        [side as u8, version]
    }
}

impl Plain for PrefixKey {
    const LEN: usize = 12;

    fn write(&self, bytes: &mut [u8]) {
        let version = match self.prefix.first() {
            IpAddr::V4(address) => {
                bytes[..4].copy_from_slice(&address.octets());
                4
            }
            IpAddr::V6(address) => {
                bytes[..8].copy_from_slice(&address.octets()[..8]);
                6
            }
        };
        bytes[8..10].copy_from_slice(&PrefixKey::tag(self.side, version));
        bytes[10] = self.class;
    }

    fn read(bytes: &[u8]) -> PrefixKey {
        let address: IpAddr = if bytes[9] == 6 {
            let mut octets = [0; 16];
            octets[..8].copy_from_slice(&bytes[..8]);
            octets.into()
        } else {
            [bytes[0], bytes[1], bytes[2], bytes[3]].into()
        };
        let prefix = SitePrefix::of(address);
        PrefixKey { side: Side::BOTH[usize::from(bytes[8] != 0)], prefix, class: bytes[10] }
    }
}

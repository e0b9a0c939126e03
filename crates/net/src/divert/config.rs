//! What is diverted, and the names and numbers that this takes.

use super::rules::TUN_MTU;
use crate::tun::Offload;

/// What to divert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selector {
    /// All IPv4 and IPv6 packets that are forwarded between the sides.
    All,
    /// Of those, TCP, over IPv6 without extension headers but the fragment header; and ICMP
    /// errors that quote TCP, this host's own ones too, as they may be about what we have sent.
    Tcp,
}

/// One side: where its packets come in, and the device that stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// The interfaces towards this side.
    pub interfaces: Vec<String>,
    /// The TUN device to create.
    pub tun: String,
}

/// What to divert, and the names and numbers that it takes.
///
/// [`link`](DivertConfig::link) and [`tcp`](DivertConfig::tcp) choose different ones, so
/// that both can run in one network namespace, on different interfaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DivertConfig {
    /// Who we are, in messages and as the name of the lock: at most one per network namespace.
    pub service: String,
    /// Name of our table in nft's family `inet`.
    pub nft_table: String,
    /// The two sides.
    pub sides: [Side; 2],
    /// Which packets.
    pub selector: Selector,
    /// How the TUN devices are opened.
    pub offload: Offload,
    /// The longest packet that the devices take: longer ones get a router's answer from the kernel.
    pub mtu: u32,
    /// The bits of the mark that are ours.
    pub mark_mask: u32,
    /// The marks of the two sides' packets, within the mask.
    pub marks: [u32; 2],
    /// The routing tables of the two sides' packets.
    pub route_tables: [u32; 2],
    /// Priority of our rules: behind `local` (0), before `main` (32766).
    pub rule_priority: u32,
    /// Connection tracking zone for side 0's leg.
    pub conntrack_zone: u16,
}

impl DivertConfig {
    /// TCP alone, with offload.
    pub fn tcp(sides: [Side; 2]) -> DivertConfig {
        DivertConfig {
            service: "bentpipe gateway".into(),
            nft_table: "bentpipe-gateway".into(),
            selector: Selector::Tcp,
            offload: Offload::Tcp,
            mark_mask: 0x3000_0000,
            marks: [0x1000_0000, 0x2000_0000],
            route_tables: [25_200, 25_201],
            rule_priority: 252,
            conntrack_zone: 25_200,
            ..DivertConfig::link(sides)
        }
    }

    /// Everything for the link emulator, with offload.
    pub fn link(sides: [Side; 2]) -> DivertConfig {
        DivertConfig {
            service: "bentpipe link".into(),
            nft_table: "bentpipe-link".into(),
            sides,
            selector: Selector::All,
            offload: Offload::TcpAndUdp,
            mtu: TUN_MTU,
            mark_mask: 0x0c00_0000,
            marks: [0x0400_0000, 0x0800_0000],
            route_tables: [25_202, 25_203],
            rule_priority: 253,
            conntrack_zone: 25_202,
        }
    }
}

//! What the kernel tells of changes: netlink's multicast groups for links, addresses, routes, rules
//! (rtnetlink(7)) and nftables.
//!
//! A message is only read for whether it may concern us: what has really become of our rules is
//! looked up afterwards, so a message that is lost or not understood costs a look and no more.
//!
//! `nix`, which this crate has anyway: a netlink crate would bring a model of every message, of
//! which only the name or number of the thing that changed is wanted here.

use super::DivertConfig;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Of `NETLINK_ROUTE`, from linux/rtnetlink.h: links, IPv4 addresses, IPv4 routes and rules, IPv6
/// routes and rules, IPv4 settings.
const ROUTE_GROUPS: [u32; 7] = [1, 5, 7, 8, 11, 19, 24];
/// Of `NETLINK_NETFILTER`, from linux/netfilter/nfnetlink.h: nftables.
const NFTABLES_GROUPS: [u32; 1] = [7];

/// Messages read in a row, so that a flood does not keep us for ever.
const MAX: usize = 10_000;

/// What the messages so far concern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Heard {
    /// Our table, rules, routes or devices, or the configured interfaces.
    pub(super) ours: bool,
    /// Somebody's chains or rules in nftables, or what else an inspection looks at.
    pub(super) firewall: bool,
}

impl Heard {
    const ANYTHING: Heard = Heard { ours: true, firewall: true };

    pub(super) fn merge(&mut self, other: Heard) {
        self.ours |= other.ours;
        self.firewall |= other.firewall;
    }

    pub(super) fn is_something(self) -> bool {
        self.ours || self.firewall
    }
}

/// Two sockets that hear of changes in the network namespace in which they were opened.
#[derive(Debug)]
pub(super) struct Notices {
    route: OwnedFd,
    nftables: OwnedFd,
    names: Names,
}

/// What is ours.
#[derive(Debug, Clone)]
struct Names {
    nft_table: String,
    interfaces: Vec<String>,
    route_tables: [u32; 2],
}

impl Notices {
    /// Hears of what concerns `config` from now on.
    pub(super) fn open(config: &DivertConfig) -> io::Result<Notices> {
        let open = |protocol, groups: &[u32]| -> io::Result<OwnedFd> {
            let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
            let fd = socket(AddressFamily::Netlink, SockType::Raw, flags, protocol)?;
            let mask = groups.iter().fold(0, |mask, group| mask | 1 << (group - 1));
            bind(fd.as_raw_fd(), &NetlinkAddr::new(0, mask))?;
            Ok(fd)
        };
        Ok(Notices {
            route: open(SockProtocol::NetlinkRoute, &ROUTE_GROUPS)?,
            nftables: open(SockProtocol::NetlinkNetFilter, &NFTABLES_GROUPS)?,
            names: Names::of(config),
        })
    }

    /// Readable when there may be something to hear.
    pub(super) fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.route.as_fd(), self.nftables.as_fd()]
    }

    /// What has been told since the last call.
    pub(super) fn heard(&self) -> Heard {
        let mut heard = Heard::default();
        let mut buffer = vec![0; 1 << 16];
        for (socket, concern) in [
            (&self.route, Names::of_route as fn(&Names, Message<'_>) -> Heard),
            (&self.nftables, Names::of_nftables),
        ] {
            for _ in 0..MAX {
                match recv(socket.as_raw_fd(), &mut buffer, MsgFlags::MSG_TRUNC) {
                    Ok(length) if length <= buffer.len() => {
                        for message in messages(&buffer[..length]) {
                            heard.merge(concern(&self.names, message));
                        }
                    }
                    Err(Errno::EAGAIN) => break,
                    Err(Errno::EINTR) => {}
                    // ENOBUFS: more was told than we have heard.
                    Ok(_) | Err(_) => heard = Heard::ANYTHING,
                }
            }
        }
        heard
    }
}

/// A netlink message (struct nlmsghdr).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Message<'a> {
    kind: u16,
    body: &'a [u8],
}

/// The messages of a datagram, as far as they are whole.
fn messages(datagram: &[u8]) -> impl Iterator<Item = Message<'_>> {
    const HEADER: usize = 16;
    parts(datagram, HEADER, |header| {
        let length = u32::from_ne_bytes(header.get(..4)?.try_into().ok()?);
        Some((usize::try_from(length).ok()?, u16_at(header, 4)?))
    })
    .map(|(kind, body)| Message { kind, body })
}

/// The attributes (struct nlattr) behind a message's own header of so many bytes.
fn attributes(body: &[u8], header: usize) -> impl Iterator<Item = (u16, &[u8])> {
    // The upper two bits are flags.
    parts(body.get(header..).unwrap_or_default(), 4, |header| {
        Some((usize::from(u16_at(header, 0)?), u16_at(header, 2)? & 0x3fff))
    })
}

/// Kinds and contents of what stands in a row, each with its length in front, at multiples of four.
fn parts(
    mut bytes: &[u8],
    header: usize,
    read: impl Fn(&[u8]) -> Option<(usize, u16)>,
) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (length, kind) = read(bytes)?;
        let content = bytes.get(header..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, content))
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

impl Names {
    fn of(config: &DivertConfig) -> Names {
        let interfaces =
            config.sides.iter().flat_map(|side| side.interfaces.iter().chain([&side.tun]));
        Names {
            nft_table: config.nft_table.clone(),
            interfaces: interfaces.cloned().collect(),
            route_tables: config.route_tables,
        }
    }

    /// Whether any of the attributes has one of the interfaces' names.
    fn has_interface(&self, body: &[u8], header: usize, kind: u16) -> bool {
        attributes(body, header).any(|(of, value)| {
            of == kind && self.interfaces.iter().any(|name| is_text(value, name))
        })
    }

    /// A message of rtnetlink.
    fn of_route(&self, message: Message<'_>) -> Heard {
        const LINKS: [u16; 2] = [16, 17];
        const DELADDR: u16 = 21;
        const DELROUTE: u16 = 25;
        const NEWRULE: u16 = 32;
        const DELRULE: u16 = 33;
        const NEWNETCONF: u16 = 80;
        const IFLA_IFNAME: u16 = 3;
        const IFA_LABEL: u16 = 3;
        const RTA_TABLE: u16 = 15;
        let body = message.body;
        let ours = match message.kind {
            kind if LINKS.contains(&kind) => self.has_interface(body, 16, IFLA_IFNAME),
            DELADDR => self.has_interface(body, 8, IFA_LABEL),
            // A router may change its own routes all day long.
            DELROUTE => attributes(body, 12).any(|(kind, value)| {
                kind == RTA_TABLE
                    && self.route_tables.iter().any(|table| value == table.to_ne_bytes())
            }),
            DELRULE | NEWNETCONF => true,
            _ => false,
        };
        // A link may have become another one's port, and a rule may lead past us.
        let elsewhere =
            message.kind == LINKS[0] && ours || [NEWRULE, DELRULE].contains(&message.kind);
        Heard { ours, firewall: elsewhere }
    }

    /// A message of nfnetlink.
    fn of_nftables(&self, message: Message<'_>) -> Heard {
        const NFTABLES: u16 = 10;
        // NFT_MSG_NEWTABLE to NFT_MSG_DELRULE, and flow tables. Elements of sets come and go.
        const RULES: [std::ops::RangeInclusive<u16>; 2] = [0..=8, 22..=24];
        // The same number in each kind of message.
        const TABLE: u16 = 1;
        if message.kind >> 8 != NFTABLES {
            return Heard::default();
        }
        let mut named = attributes(message.body, 4).filter(|(kind, _)| *kind == TABLE);
        let ours = named.any(|(_, value)| is_text(value, &self.nft_table));
        let changes = RULES.iter().any(|kinds| kinds.contains(&(message.kind & 0xff)));
        Heard { ours, firewall: changes && !ours }
    }
}

/// Whether `value` is `text` with the zero that ends it.
fn is_text(value: &[u8], text: &str) -> bool {
    value.strip_suffix(&[0]) == Some(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::Side;
    use super::*;

    fn names() -> Names {
        let side = |interface: &str, tun: &str| Side {
            interfaces: vec![interface.into()],
            tun: tun.into(),
        };
        Names::of(&DivertConfig::gateway([side("lan0", "bp-lan"), side("sat0", "bp-sat")]))
    }

    /// One whole message with one attribute behind `header` bytes.
    fn message(kind: u16, header: usize, attribute: u16, value: &[u8]) -> Vec<u8> {
        let mut body = vec![0; header];
        body.extend((value.len() as u16 + 4).to_ne_bytes());
        body.extend(attribute.to_ne_bytes());
        body.extend(value);
        let mut bytes = (body.len() as u32 + 16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 10]);
        bytes.extend(body);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn route(kind: u16, header: usize, attribute: u16, value: &[u8]) -> Heard {
        let bytes = message(kind, header, attribute, value);
        names().of_route(messages(&bytes).next().expect("a whole message"))
    }

    fn nftables(kind: u16, table: &str) -> Heard {
        let bytes = message(10 << 8 | kind, 4, 1, format!("{table}\0").as_bytes());
        names().of_nftables(messages(&bytes).next().expect("a whole message"))
    }

    #[test]
    fn only_what_concerns_us_is_heard() {
        const OURS: Heard = Heard { ours: true, firewall: false };
        for name in ["bp-lan\0", "sat0\0"] {
            assert_eq!(route(17, 16, 3, name.as_bytes()), OURS, "{name}");
        }
        assert_eq!(route(17, 16, 3, b"sat00\0"), Heard::default());
        assert_eq!(route(25, 12, 15, &25_201_u32.to_ne_bytes()), OURS);
        assert_eq!(route(25, 12, 15, &254_u32.to_ne_bytes()), Heard::default());
        assert_eq!(route(33, 12, 6, &[0; 4]), Heard { ours: true, firewall: true });
        assert_eq!(route(32, 12, 6, &[0; 4]), Heard { ours: false, firewall: true });
        assert_eq!(nftables(2, "bentpipe-gateway"), OURS);
        assert_eq!(nftables(6, "filter"), Heard { ours: false, firewall: true });
        assert_eq!(nftables(12, "filter"), Heard::default(), "elements of a set");
    }

    #[test]
    fn what_is_cut_short_or_no_message_is_passed_over() {
        let two = [message(17, 16, 3, b"lan0\0"), message(33, 12, 6, &[0; 4])].concat();
        assert_eq!(messages(&two).map(|it| it.kind).collect::<Vec<_>>(), [17, 33]);
        for length in 0..two.len() {
            for message in messages(&two[..length]) {
                let _ = names().of_route(message);
                let _ = names().of_nftables(message);
            }
        }
        // Lengths of nothing and beyond everything.
        for length in [0_u32, 3, 15, u32::MAX] {
            assert_eq!(messages(&[&length.to_ne_bytes()[..], &[0; 28]].concat()).count(), 0);
        }
        assert_eq!(attributes(&[0; 64], 4).count(), 0);
    }
}

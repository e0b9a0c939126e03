//! Who opens a connection whose address NAT on this host has translated on its way out: asked of
//! connection tracking, by ctnetlink (linux/netfilter/nfnetlink_conntrack.h).
//!
//! `nix`, which this crate has anyway: of all that a netlink crate brings, one question and one
//! attribute of its answer are wanted.

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

/// `NFNL_SUBSYS_CTNETLINK` and `IPCTNL_MSG_CT_GET`.
const GET: u16 = 1 << 8 | 1;

// Attributes, by where they are nested.
const NESTED: u16 = 1 << 15;
const TUPLE_ORIG: u16 = 1;
const TUPLE_REPLY: u16 = 2;
const TUPLE_IP: u16 = 1;
const TUPLE_PROTO: u16 = 2;
const V4_SRC: u16 = 1;
const V4_DST: u16 = 2;
const V6_SRC: u16 = 3;
const V6_DST: u16 = 4;
const PROTO_NUM: u16 = 1;
const PROTO_SRC_PORT: u16 = 2;
const PROTO_DST_PORT: u16 = 3;

const TCP: u8 = 6;

/// `struct nlmsghdr` and `struct nfgenmsg`, in bytes.
const HEADER: usize = 16;
const GENERIC: usize = 4;

/// Where connections of the network namespace are tracked, once they are.
const TRACKING: &str = "/proc/sys/net/netfilter/nf_conntrack_count";

/// Asks. It does so for each SYN.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    socket: Option<OwnedFd>,
    /// The kernel does not know how to answer, and would look for a module each time.
    mute: bool,
}

impl Origins {
    /// Who opens the connection whose SYN leaves from `client` to `server`. None if it leaves as it
    /// came, or nobody knows.
    pub(crate) fn of(&mut self, client: SocketAddr, server: SocketAddr) -> Option<IpAddr> {
        // To ask would begin to track.
        if self.mute || self.socket.is_none() && !Path::new(TRACKING).exists() {
            return None;
        }
        match self.ask(client, server) {
            Ok(origin) => origin.filter(|origin| *origin != client.ip()),
            Err(Errno::ENOENT | Errno::EAGAIN | Errno::ENOBUFS) => None,
            Err(error) => {
                tracing::warn!(
                    %error,
                    "connection tracking does not say who is behind masquerade (load nf_conntrack_netlink, and restart): \
                     rules and limits for clients go by the router's address"
                );
                self.mute = true;
                None
            }
        }
    }

    fn ask(&mut self, client: SocketAddr, server: SocketAddr) -> Result<Option<IpAddr>, Errno> {
        let socket = match &self.socket {
            Some(socket) => socket,
            None => self.socket.insert(socket(
                AddressFamily::Netlink,
                SockType::Raw,
                SockFlag::SOCK_CLOEXEC,
                SockProtocol::NetlinkNetFilter,
            )?),
        };
        let message = question(client, server);
        sendto(socket.as_raw_fd(), &message, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        // The kernel has answered by now.
        let mut buffer = [0; 4096];
        let length = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT)?;
        read(&buffer[..length])
    }
}

/// The question for the connection whose answers go from `server` to `client`.
fn question(client: SocketAddr, server: SocketAddr) -> Vec<u8> {
    let octets = |address: IpAddr| match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let (family, [src, dst]) = match client.is_ipv4() {
        true => (libc::AF_INET, [V4_SRC, V4_DST]),
        false => (libc::AF_INET6, [V6_SRC, V6_DST]),
    };
    let addresses =
        [attribute(src, &octets(server.ip())), attribute(dst, &octets(client.ip()))].concat();
    let protocol = [
        attribute(PROTO_NUM, &[TCP]),
        attribute(PROTO_SRC_PORT, &server.port().to_be_bytes()),
        attribute(PROTO_DST_PORT, &client.port().to_be_bytes()),
    ]
    .concat();
    let tuple =
        [attribute(NESTED | TUPLE_IP, &addresses), attribute(NESTED | TUPLE_PROTO, &protocol)]
            .concat();
    let tuple = attribute(NESTED | TUPLE_REPLY, &tuple);
    let mut message = Vec::new();
    message.extend(((HEADER + GENERIC + tuple.len()) as u32).to_ne_bytes());
    message.extend(GET.to_ne_bytes());
    message.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
    message.extend([0; 8]);
    message.extend([family as u8, 0, 0, 0]);
    message.extend(tuple);
    message
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::from(((4 + value.len()) as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The source of the connection that an answer tells of, as it was at first.
fn read(answer: &[u8]) -> Result<Option<IpAddr>, Errno> {
    let kind = answer.get(4..6).map(|kind| u16::from_ne_bytes([kind[0], kind[1]]));
    if kind == Some(libc::NLMSG_ERROR as u16) {
        let errno = answer.get(HEADER..HEADER + 4).and_then(|it| it.try_into().ok());
        return Err(Errno::from_raw(-errno.map_or(-libc::EIO, i32::from_ne_bytes)));
    }
    let source = || {
        let original = find(answer.get(HEADER + GENERIC..)?, &[TUPLE_ORIG])?;
        let addresses = find(original, &[TUPLE_IP])?;
        let source = find(addresses, &[V4_SRC, V6_SRC])?;
        match source.len() {
            4 => Some(<[u8; 4]>::try_from(source).ok()?.into()),
            16 => Some(<[u8; 16]>::try_from(source).ok()?.into()),
            _ => None,
        }
    };
    Ok(source())
}

/// The first attribute of one of these kinds.
fn find<'a>(mut attributes: &'a [u8], kinds: &[u16]) -> Option<&'a [u8]> {
    while let [a, b, c, d, ..] = *attributes {
        let length = usize::from(u16::from_ne_bytes([a, b]));
        let value = attributes.get(4..length)?;
        if kinds.contains(&(u16::from_ne_bytes([c, d]) & !NESTED)) {
            return Some(value);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection as the kernel describes it, of which the source was translated.
    fn answer(source: &[u8], kind: u16) -> Vec<u8> {
        let addresses = [attribute(kind, source), attribute(kind + 1, &[9; 16])].concat();
        let original = attribute(NESTED | TUPLE_IP, &addresses);
        let mut message = vec![0; HEADER + GENERIC];
        message[4..6].copy_from_slice(&(1_u16 << 8).to_ne_bytes());
        message.extend(attribute(7, &[1, 2, 3]));
        message.extend(attribute(NESTED | TUPLE_ORIG, &original));
        message
    }

    #[test]
    fn the_source_is_found_among_the_rest() {
        let four = answer(&[10, 1, 2, 3], V4_SRC);
        assert_eq!(read(&four), Ok(Some("10.1.2.3".parse().expect("an address"))));
        let mut six = [0; 16];
        (six[0], six[15]) = (0xfd, 1);
        assert_eq!(read(&answer(&six, V6_SRC)), Ok(Some("fd00::1".parse().expect("an address"))));
        for length in 0..four.len() {
            // What is cut says nothing, and does no harm.
            assert!(matches!(read(&four[..length]), Ok(None | Some(_))), "{length}");
        }
    }

    #[test]
    fn an_error_is_one() {
        let mut message = vec![0; HEADER + 20];
        message[4..6].copy_from_slice(&(libc::NLMSG_ERROR as u16).to_ne_bytes());
        message[HEADER..HEADER + 4].copy_from_slice(&(-libc::ENOENT).to_ne_bytes());
        assert_eq!(read(&message), Err(Errno::ENOENT));
    }

    #[test]
    fn the_question_is_for_the_way_back() {
        let message = question(
            "192.0.2.1:4000".parse().expect("a client"),
            "198.51.100.1:443".parse().expect("a server"),
        );
        assert_eq!(
            message.len(),
            u32::from_ne_bytes(message[..4].try_into().expect("four")) as usize
        );
        let tuple = find(&message[HEADER + GENERIC..], &[TUPLE_REPLY]).expect("a tuple");
        let addresses = find(tuple, &[TUPLE_IP]).expect("addresses");
        assert_eq!(find(addresses, &[V4_SRC]), Some(&[198, 51, 100, 1][..]));
        assert_eq!(find(addresses, &[V4_DST]), Some(&[192, 0, 2, 1][..]));
        let ports = find(tuple, &[TUPLE_PROTO]).expect("ports");
        assert_eq!(find(ports, &[PROTO_SRC_PORT]), Some(&443_u16.to_be_bytes()[..]));
    }
}

//! The number of a network namespace that no other one has until the machine is started again. The
//! inode's, by which namespaces are otherwise told apart, is given to another one as soon as it is
//! free.

use std::net::{Ipv4Addr, UdpSocket};

use nix::sys::socket::getsockopt;
use nix::{getsockopt_impl, libc, sockopt_impl};

sockopt_impl!(
    /// `SO_NETNS_COOKIE`, socket(7).
    NetnsCookie,
    GetOnly,
    libc::SOL_SOCKET,
    libc::SO_NETNS_COOKIE,
    u64
);

/// That of the namespace in which this thread is; none before Linux 5.14.
pub fn of_this_thread() -> Option<u64> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    getsockopt(&socket, NetnsCookie).ok()
}

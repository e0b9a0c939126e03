//! Sockets with a scenario's settings.

use crate::network::SocketTcp;
use bentpipe_core::time::Duration;
use bentpipe_linux::netns::{Namespace, NetnsError};
use bentpipe_linux::socket_option;
use nix::libc;
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::mem::size_of;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::BorrowedFd;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;

/// One end of a flow: its namespace, its address and its TCP settings.
#[derive(Debug)]
pub(super) struct LocalEndpoint {
    pub(super) namespace: Namespace,
    pub(super) address: Ipv4Addr,
    pub(super) tcp: SocketTcp,
}

impl LocalEndpoint {
    /// A socket in its namespace, bound to its address.
    pub(super) fn socket(&self) -> io::Result<Socket> {
        let socket = self.make(|| Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)))?;
        set(&socket, &self.tcp)?;
        socket.bind(&address(self.address, 0))?;
        Ok(socket)
    }

    /// One that listens, and at which port.
    pub(super) fn listener(&self) -> io::Result<(Socket, SocketAddr)> {
        let socket = self.socket()?;
        socket.listen(BACKLOG)?;
        let local = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok((socket, local))
    }

    /// A raw socket for ICMP.
    pub(super) fn icmp(&self) -> io::Result<Socket> {
        let socket = self.make(|| Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4)))?;
        socket.bind(&address(self.address, 0))?;
        Ok(socket)
    }

    /// The longest window that its connections advertise.
    pub(super) fn window(&self) -> WindowLimit {
        WindowLimit(self.tcp.receive_buffer.map(clamp))
    }

    fn make(&self, make: impl FnOnce() -> io::Result<Socket> + Send) -> io::Result<Socket> {
        self.namespace.run(make).map_err(|error: NetnsError| io::Error::other(error.to_string()))?
    }
}

pub(super) fn address(address: Ipv4Addr, port: u16) -> SockAddr {
    SockAddr::from(SocketAddrV4::new(address, port))
}

fn set(socket: &Socket, tcp: &SocketTcp) -> io::Result<()> {
    let refused = |what: &str, error: io::Error| io::Error::other(format!("{what}: {error}"));
    socket
        .set_tcp_congestion(tcp.congestion.as_bytes())
        .map_err(|error| refused(&format!("congestion control {}", tcp.congestion), error))?;
    socket.set_tcp_nodelay(!tcp.nagle)?;
    socket_option::set(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, i32::from(tcp.mss))
        .map_err(|error| refused("mss", error))?;
    let fits = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX >> 1);
    if let Some(bytes) = tcp.send_buffer {
        // The kernel doubles it, for its own descriptions of segments.
        setsockopt(socket, sockopt::SndBufForce, &fits(bytes))?;
    }
    if let Some(bytes) = tcp.receive_buffer {
        // Room for twice the window, so that the window is what limits, and not what segments
        // weigh.
        setsockopt(socket, sockopt::RcvBufForce, &fits(bytes.saturating_mul(2)))?;
        socket_option::set(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, clamp(bytes))
            .map_err(|error| refused("receive-buffer", error))?;
    }
    if let Some(rate) = tcp.pacing {
        socket_option::set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, rate)
            .map_err(|error| refused("pacing", error))?;
    }
    Ok(())
}

/// A window as `TCP_WINDOW_CLAMP` takes it.
fn clamp(bytes: u64) -> i32 {
    i32::try_from(bytes).unwrap_or(i32::MAX)
}

/// The longest window that a connection advertises, if that is not the kernel's to choose.
///
/// Neither `TCP_WINDOW_CLAMP`, set before the connection opens, nor a route's `window` holds it:
/// with the first data, and with longer segments than before, Linux sets the clamp anew, to what
/// the receive buffer has room for (`tcp_measure_rcv_mss` in net/ipv4/tcp_input.c, since commit
/// a2cbb1603943, "tcp: Update window clamping condition"). So it is looked at after each read, and
/// set again.
///
/// Without window scaling Linux advertises whole segments of its peer's, but keeps a window that is
/// within one of what it may be (`__tcp_select_window`): one of 15 times 536 bytes, from the time
/// when it had seen nothing longer, would stay where five segments of 1460 are meant. So once the
/// peer's segments are known the clamp is as many whole ones as the limit has room for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WindowLimit(Option<i32>);

impl WindowLimit {
    /// After data were read.
    pub(super) fn hold(self, socket: &Socket) -> io::Result<()> {
        let Some(limit) = self.0 else { return Ok(()) };
        let limit = whole(limit, peers_segments(socket));
        let mut now = [0; size_of::<i32>()];
        let read = socket_option::read_tcp(socket, libc::TCP_WINDOW_CLAMP, &mut now);
        if read == now.len() && i32::from_ne_bytes(now) == limit {
            return Ok(());
        }
        socket_option::set(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, limit)
    }
}

/// What Linux takes a peer's segments for as long as it has seen none that is longer
/// (`TCP_MSS_DEFAULT`).
const UNKNOWN: i32 = 536;

/// As many whole segments as the limit has room for, once their length is known.
fn whole(limit: i32, segment: i32) -> i32 {
    if segment > UNKNOWN && segment <= limit { limit - limit % segment } else { limit }
}

/// How long the peer's segments seem to be (`tcpi_rcv_mss`).
fn peers_segments(socket: &Socket) -> i32 {
    let mut buffer = [0; 24];
    let read = socket_option::read_tcp(socket, libc::TCP_INFO, &mut buffer);
    let word = buffer[..read].get(20..24).and_then(|word| word.try_into().ok());
    word.map_or(0, i32::from_ne_bytes)
}

/// Ends a connection at once, whoever waits for it: its peer is told by a reset.
pub(super) fn abort(socket: &Socket) {
    let _ = socket.set_linger(Some(Duration::ZERO));
    let _ = socket.shutdown(std::net::Shutdown::Both);
}

/// The descriptor, to wait for.
pub(super) fn fd(socket: &Socket) -> BorrowedFd<'_> {
    std::os::fd::AsFd::as_fd(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_linux::tcp_info::tcp_info;
    use caps::{CapSet, Capability, has_cap};
    use std::io::{Read, Write};

    /// What the window was that the kernel has advertised last (`tcpi_rcv_wnd`, since Linux 6.2).
    fn advertised(socket: &Socket) -> Option<u32> {
        let mut buffer = [0; 512];
        let length = socket_option::read_tcp(socket, libc::TCP_INFO, &mut buffer);
        let word = buffer[..length].get(232..236)?;
        Some(u32::from_ne_bytes(word.try_into().ok()?))
    }

    #[test]
    fn a_window_stays_within_its_limit() {
        const LIMIT: u32 = 8192;
        let mut read = [0; 1000];
        let windows = [None, Some(LIMIT.cast_signed())].map(|limit| {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).unwrap();
            socket.set_recv_buffer_size(2 * LIMIT as usize).unwrap();
            let clamp = LIMIT.cast_signed();
            socket_option::set(&socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, 1000).unwrap();
            socket_option::set(&socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, clamp).unwrap();
            socket.connect(&listener.local_addr().unwrap().into()).unwrap();
            let (mut peer, _) = listener.accept().unwrap();
            let mut windows = Vec::new();
            for _ in 0..100 {
                peer.write_all(&[7; 1000]).unwrap();
                (&socket).read_exact(&mut read).unwrap();
                WindowLimit(limit).hold(&socket).unwrap();
                windows.extend(advertised(&socket));
            }
            windows.last().copied()
        });
        let [Some(free), Some(held)] = windows else { return };
        assert!((LIMIT / 2..=LIMIT).contains(&held), "{held}");
        // If Linux holds it by itself, all of this is not needed any more.
        assert!(free > LIMIT, "{free}");
    }

    #[test]
    fn a_window_is_of_whole_segments_once_their_length_is_known() {
        assert_eq!(
            [536, 1460, 9000, 0].map(|segment| whole(8192, segment)),
            [8192, 7300, 8192, 8192]
        );
        assert_eq!(whole(46_720, 1460), 46_720);
    }

    fn place() -> SocketTcp {
        SocketTcp {
            congestion: "reno".to_owned(),
            nagle: false,
            mss: 1000,
            send_buffer: Some(100_000),
            receive_buffer: Some(50_000),
            pacing: Some(1 << 50),
        }
    }

    #[test]
    fn a_sender_is_counted() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).unwrap();
        // Buffers by force are for who administers the network: root, if no container keeps it from
        // that.
        let plain = SocketTcp { send_buffer: None, receive_buffer: None, ..place() };
        let may = has_cap(None, CapSet::Effective, Capability::CAP_NET_ADMIN).unwrap();
        set(&socket, &if may { place() } else { plain }).unwrap();
        socket.connect(&listener.local_addr().unwrap().into()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        (&socket).write_all(&[7; 10_000]).unwrap();
        let mut received = [0; 10_000];
        peer.read_exact(&mut received).unwrap();
        let info = tcp_info(&socket);
        assert!(info.segments >= 10, "segments of at most 1000 bytes: {info:?}");
        // A busy machine may have sent some twice.
        assert_eq!(info.retransmissions == 0, info.retransmitted_bytes == 0, "{info:?}");
        assert!(info.srtt.is_some() && info.min_rtt.is_some(), "{info:?}");
    }
}

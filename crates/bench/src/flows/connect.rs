//! Connections from the client to the server, through the router's program.

use super::error::FlowsError;
use super::hosts::{Hosts, SERVER};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::time::{Duration, Instant};

/// How long one may take to open, on a machine that is busy.
const OPEN_WITHIN: Duration = Duration::from_secs(20);
/// Connections that may wait to be accepted.
const BACKLOG: i32 = 16_384;
/// Descriptors for a connection: a proxy that splices has its two, and pipes.
const EACH: u64 = 8;
/// Descriptors for everything that is no connection.
const OTHERS: u64 = 4096;

/// Both ends of connections, in pairs as they were opened.
#[derive(Debug, Default)]
pub(super) struct Connections {
    pub(super) client: Vec<Socket>,
    pub(super) server: Vec<Socket>,
}

/// A listener on the server, and its address.
///
/// # Errors
/// [`FlowsError::Connect`].
pub(super) fn listen(hosts: &Hosts) -> Result<(Socket, SockAddr), FlowsError> {
    let made = hosts.server.run(|| {
        let socket = tcp()?;
        socket.bind(&SocketAddr::from(SocketAddrV4::new(SERVER, 0)).into())?;
        socket.listen(BACKLOG)?;
        let address = socket.local_addr()?;
        Ok((socket, address))
    })?;
    made.map_err(FlowsError::Connect)
}

/// Opens `count` connections, one after the other.
///
/// # Errors
/// [`FlowsError::Connect`].
pub(super) fn open(hosts: &Hosts, count: usize) -> Result<Connections, FlowsError> {
    if count == 0 {
        return Ok(Connections::default());
    }
    let (listener, address) = listen(hosts)?;
    listener.set_nonblocking(true).map_err(FlowsError::Connect)?;
    let opened = hosts.client.run(|| {
        let mut connections = Connections::default();
        for _ in 0..count {
            let socket = tcp()?;
            socket.connect_timeout(&address, OPEN_WITHIN)?;
            connections.server.push(accept(&listener)?);
            connections.client.push(socket);
        }
        for socket in connections.client.iter().chain(&connections.server) {
            socket.set_nonblocking(true)?;
            socket.set_tcp_nodelay(true)?;
            // They end by a reset: the next measurement begins with nothing left of them.
            socket.set_linger(Some(Duration::ZERO))?;
        }
        Ok(connections)
    })?;
    opened.map_err(FlowsError::Connect)
}

/// Accepts a connection: a proxy may open its own later than the client's.
fn accept(listener: &Socket) -> io::Result<Socket> {
    let deadline = Instant::now() + OPEN_WITHIN;
    loop {
        match listener.accept() {
            Ok((socket, _)) => return Ok(socket),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            Err(_) if Instant::now() > deadline => return Err(io::ErrorKind::TimedOut.into()),
            Err(_) => std::thread::sleep(Duration::from_micros(50)),
        }
    }
}

/// A socket for TCP.
pub(super) fn tcp() -> io::Result<Socket> {
    Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))
}

/// Allows this process, and those that it starts, descriptors for so many connections.
///
/// # Errors
/// [`FlowsError::Descriptors`] if the system allows fewer.
pub(super) fn allow(connections: usize) -> Result<(), FlowsError> {
    let wanted = EACH * connections as u64 + OTHERS;
    let limit = Resource::RLIMIT_NOFILE;
    let allowed = getrlimit(limit).and_then(|(soft, hard)| {
        if soft >= wanted { Ok(()) } else { setrlimit(limit, wanted, hard.max(wanted)) }
    });
    allowed.map_err(|errno| FlowsError::Descriptors { wanted, source: errno.into() })
}

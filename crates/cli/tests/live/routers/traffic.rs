//! The transfers that cross a router, all at once: each is a row with a name, in IPv4 and in IPv6.
//! A server says from which address it was asked, so that a row shows its path, too.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope};
use std::time::Duration;

use bentpipe_linux::netns::Namespace;
use socket2::{Protocol, Socket, Type};

use super::network::{Host, Network, Target};
use crate::stage::{FAMILIES, Family};
use crate::toolbox::{PATIENCE, abort, content, limited, uninterrupted};

/// Where servers are asked: the router has an ssh server, all others this one.
const SERVICE: u16 = 7100;
const SSH: u16 = 22;
/// The router's own port that leads to a server inside.
const PUBLISHED: u16 = 8080;
/// A packet of a narrow path.
const DATAGRAM: usize = 1200;
/// How long what is to be refused is tried. One that passes later is not seen.
const REFUSED: Duration = Duration::from_secs(3);
/// From one try of a datagram to the next.
const TRY: Duration = Duration::from_secs(1);
/// How often a server looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(200);

/// What a connection carries.
#[derive(Debug, Clone, Copy)]
struct Exchange {
    /// So often: bytes there, and bytes back.
    rounds: u8,
    up: u32,
    down: u32,
    /// The client closes its direction before the last answer.
    half_closed: bool,
    pause: Duration,
}

const UP: Exchange =
    Exchange { rounds: 1, up: 500_000, down: 0, half_closed: false, pause: Duration::ZERO };
const DOWN: Exchange = Exchange { up: 0, down: 500_000, ..UP };
const SHORT: Exchange = Exchange { up: 300, down: 2000, ..UP };
const HALF_CLOSED: Exchange = Exchange { up: 100_000, down: 300_000, half_closed: true, ..UP };
const IDLE: Exchange =
    Exchange { rounds: 3, up: 100, down: 100, pause: Duration::from_secs(3), ..UP };
const BOTH: Exchange = Exchange { up: 200_000, down: 200_000, ..UP };

#[derive(Debug, Clone, Copy)]
enum Carrier {
    /// So many connections at once.
    Tcp(u64, Exchange),
    /// So many datagrams, one after the other.
    Udp(u64),
}

/// One row of the matrix, in one family of addresses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) family: Family,
    from: Host,
    to: Target,
    carrier: Carrier,
}

type Line = (&'static str, Host, Target, Carrier);
const LINES: [Line; 14] = [
    ("up", Host::Lan, Target::Far, Carrier::Tcp(1, UP)),
    ("down", Host::Lan, Target::Far, Carrier::Tcp(1, DOWN)),
    ("short", Host::Lan, Target::Far, Carrier::Tcp(10, SHORT)),
    ("half-closed", Host::Lan, Target::Far, Carrier::Tcp(1, HALF_CLOSED)),
    ("idle", Host::Lan, Target::Far, Carrier::Tcp(1, IDLE)),
    ("inwards", Host::Far, Target::Lan, Carrier::Tcp(1, BOTH)),
    ("published", Host::Far, Target::Published, Carrier::Tcp(1, BOTH)),
    ("guest", Host::Third, Target::Far, Carrier::Tcp(1, BOTH)),
    ("third", Host::Lan, Target::Third, Carrier::Tcp(1, BOTH)),
    ("router", Host::Lan, Target::Router, Carrier::Tcp(1, BOTH)),
    ("router-lan", Host::Router, Target::Lan, Carrier::Tcp(1, BOTH)),
    ("router-far", Host::Router, Target::Far, Carrier::Tcp(1, BOTH)),
    ("udp", Host::Lan, Target::Far, Carrier::Udp(20)),
    ("udp-third", Host::Lan, Target::Third, Carrier::Udp(20)),
];

impl Row {
    /// All that this network can have.
    pub(super) fn all(network: &Network) -> Vec<Row> {
        let lines = FAMILIES.into_iter().flat_map(|family| {
            LINES.map(|(name, from, to, carrier)| Row { name, family, from, to, carrier })
        });
        lines.filter(|row| row.is_possible(network)).collect()
    }

    /// A guest goes by the router to the far host, and has IPv4 alone; a third host has another
    /// path.
    fn is_possible(&self, network: &Network) -> bool {
        let guest = network.has_guest();
        let third = self.from == Host::Third || self.to == Target::Third;
        (self.name != "guest" || guest) && !(guest && third && self.family == Family::V6)
    }

    /// Whether it is one of these: `up` is both families', `up ipv6` is one's.
    pub(super) fn is_among(&self, names: &[&str]) -> bool {
        names.iter().any(|name| *name == self.name || *name == self.to_string())
    }

    /// Its connections over the satellite, which are to be split.
    pub(super) fn connections(&self) -> u64 {
        let local = [self.from, self.to.host()].contains(&Host::Router)
            || (self.from == Host::Lan && self.to == Target::Third);
        match self.carrier {
            Carrier::Tcp(count, _) if !local => count,
            _ => 0,
        }
    }

    /// Makes all its transfers: the address that the servers saw, or why one of them failed.
    fn run(&self, network: &Network, patience: Duration) -> Result<IpAddr, String> {
        let host = network.namespace(self.from);
        let port = match self.to {
            Target::Router => SSH,
            Target::Published => PUBLISHED,
            _ => SERVICE,
        };
        let to = SocketAddr::new(network.address(self.to, self.family), port);
        let result = match self.carrier {
            Carrier::Tcp(count, exchange) => connections(host, to, count, exchange, patience),
            Carrier::Udp(count) => datagrams(host, to, count, patience),
        };
        result.map_err(|error| error.to_string())
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.name, self.family)
    }
}

/// Runs all rows side by side. Those that are `refused` are tried for a moment.
pub(super) fn run(
    network: &Network,
    rows: &[Row],
    refused: &[&str],
) -> Vec<Result<IpAddr, String>> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for host in [Host::Lan, Host::Router, Host::Third, Host::Far] {
            for family in FAMILIES {
                serve(scope, network, host, family, &stop);
            }
        }
        let transfers: Vec<_> = rows
            .iter()
            .map(|row| {
                let patience = if row.is_among(refused) { REFUSED } else { PATIENCE };
                scope.spawn(move || row.run(network, patience))
            })
            .collect();
        let failed = |_| Err("its thread panicked".to_owned());
        let results =
            transfers.into_iter().map(|transfer| transfer.join().unwrap_or_else(failed)).collect();
        stop.store(true, Ordering::Relaxed);
        results
    })
}

fn connections(
    host: &Namespace,
    to: SocketAddr,
    count: u64,
    exchange: Exchange,
    patience: Duration,
) -> io::Result<IpAddr> {
    let one = |seed| {
        let connected = host.run(|| TcpStream::connect_timeout(&to, patience));
        ask(&limited(connected.expect("its namespace")?), exchange, seed)
    };
    let seen: io::Result<Vec<IpAddr>> = thread::scope(|scope| {
        let all: Vec<_> = (0..count).map(|seed| scope.spawn(move || one(seed))).collect();
        all.into_iter().map(|each| each.join().expect("a client")).collect()
    });
    let mut seen = seen?;
    seen.dedup();
    assert_eq!(seen.len(), 1, "connections to {to} came from several addresses: {seen:?}");
    Ok(seen[0])
}

/// The client's part of a connection: the address that the server saw.
fn ask(mut stream: &TcpStream, exchange: Exchange, seed: u64) -> io::Result<IpAddr> {
    let Exchange { rounds, up, down, half_closed, pause } = exchange;
    let mut head = vec![rounds, u8::from(half_closed)];
    [up, down].into_iter().for_each(|size| head.extend(size.to_be_bytes()));
    head.extend(seed.to_be_bytes());
    stream.write_all(&head)?;
    let mut seen = [0; 16];
    stream.read_exact(&mut seen)?;
    for round in 0..rounds {
        if round > 0 {
            thread::sleep(pause);
        }
        stream.write_all(&content(seed, up as usize))?;
        if half_closed && round + 1 == rounds {
            stream.shutdown(std::net::Shutdown::Write)?;
        }
        expect(stream, &content(!seed, down as usize))?;
    }
    if !half_closed {
        stream.shutdown(std::net::Shutdown::Write)?;
    }
    expect_end(stream)?;
    Ok(Ipv6Addr::from(seen).to_canonical())
}

/// The server's part. What is wrong ends in a reset, which the client sees.
fn answer(mut stream: &TcpStream) -> io::Result<()> {
    let seen = mapped(stream.peer_addr()?.ip());
    let mut head = [0; 18];
    stream.read_exact(&mut head)?;
    let number = |at| u32::from_be_bytes(head[at..at + 4].try_into().expect("four bytes"));
    let (rounds, half_closed, up, down) = (head[0], head[1] == 1, number(2), number(6));
    let seed = u64::from_be_bytes(head[10..].try_into().expect("eight bytes"));
    stream.write_all(&seen.octets())?;
    for round in 0..rounds {
        expect(stream, &content(seed, up as usize))?;
        if half_closed && round + 1 == rounds {
            expect_end(stream)?;
        }
        stream.write_all(&content(!seed, down as usize))?;
    }
    if half_closed { Ok(()) } else { expect_end(stream) }
}

/// An address of either family in one form.
fn mapped(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

fn expect(mut stream: &TcpStream, wanted: &[u8]) -> io::Result<()> {
    let mut bytes = vec![0; wanted.len()];
    stream.read_exact(&mut bytes)?;
    if bytes == wanted { Ok(()) } else { Err(io::Error::other("wrong bytes")) }
}

fn expect_end(mut stream: &TcpStream) -> io::Result<()> {
    match uninterrupted(|| stream.read(&mut [0])) {
        Ok(0) => Ok(()),
        Ok(_) => Err(io::Error::other("bytes behind the end")),
        Err(error) => Err(error),
    }
}

fn datagrams(
    host: &Namespace,
    to: SocketAddr,
    count: u64,
    patience: Duration,
) -> io::Result<IpAddr> {
    let unspecified = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = host.run(|| UdpSocket::bind(unspecified)).expect("its namespace")?;
    socket.connect(to)?;
    socket.set_read_timeout(Some(TRY))?;
    let tries = patience.as_secs() / TRY.as_secs();
    let mut seen = Err(io::Error::from(ErrorKind::TimedOut));
    for number in 0..count {
        let sent = content(number, DATAGRAM);
        seen = (0..tries).find_map(|_| echo(&socket, &sent)).ok_or(ErrorKind::TimedOut.into());
        if seen.is_err() {
            break;
        }
    }
    seen
}

/// Sends a datagram: the address that the server saw, if it comes back.
fn echo(socket: &UdpSocket, sent: &[u8]) -> Option<IpAddr> {
    let mut buffer = [0; 2000];
    match socket.send(sent).and_then(|_| socket.recv(&mut buffer)) {
        Ok(length) if length > 16 && buffer[16..length] == *sent => {
            let seen: [u8; 16] = buffer[..16].try_into().expect("an address");
            Some(Ipv6Addr::from(seen).to_canonical())
        }
        // An answer that comes late.
        Ok(_) => None,
        Err(error) => {
            // ICMP in answer to the last datagram comes at once.
            if error.kind() != ErrorKind::WouldBlock {
                thread::sleep(TRY);
            }
            None
        }
    }
}

/// Both servers of a host, until `stop` is set. A guest has no IPv6.
fn serve<'scope>(
    scope: &'scope Scope<'scope, '_>,
    network: &'scope Network,
    host: Host,
    family: Family,
    stop: &'scope AtomicBool,
) {
    if host == Host::Third && network.has_guest() && family == Family::V6 {
        return;
    }
    let port = if host == Host::Router { SSH } else { SERVICE };
    let at = SocketAddr::new(network.address(host.into(), family), port);
    let open = |kind, protocol| {
        let socket = Socket::new(family.domain(), kind, Some(protocol)).expect("a socket");
        socket.set_reuse_address(true).expect("an option");
        socket.bind(&at.into()).unwrap_or_else(|error| panic!("{at}: {error}"));
        // That it accepts or receives in vain has an end, too.
        socket.set_read_timeout(Some(LOOK)).expect("a time-out");
        socket
    };
    let namespace = network.namespace(host);
    let tcp = namespace.run(|| open(Type::STREAM, Protocol::TCP)).expect("its namespace");
    tcp.listen(128).expect("listen");
    let udp: UdpSocket =
        namespace.run(|| open(Type::DGRAM, Protocol::UDP)).expect("its namespace").into();
    scope.spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            let Ok((stream, _)) = tcp.accept() else { continue };
            scope.spawn(move || {
                let stream = limited(stream.into());
                if answer(&stream).is_err() {
                    abort(stream);
                }
            });
        }
    });
    scope.spawn(move || {
        let mut buffer = [0; 2000];
        while !stop.load(Ordering::Relaxed) {
            let Ok((length, from)) = udp.recv_from(&mut buffer) else { continue };
            let seen = mapped(from.ip()).octets();
            // A route back that is not there yet is as good as a loss.
            let _ = udp.send_to(&[&seen[..], &buffer[..length]].concat(), from);
        }
    });
}

//! The delay and loss between two hosts, measured by UDP probes: what an emulated link replays as a
//! trace.
//!
//! One host listens and sends each probe back; the other sends probes and writes the trace. A reply
//! is as long as its probe and nothing else is answered, not even a reply, so that a forged sender
//! gains nothing and two listeners do not talk to each other. The session's token is random: who
//! does not see the probes cannot forge replies to them.

use bentpipe_core::time::Duration;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Bytes of a probe, and of its reply.
pub const LENGTH: usize = 64;
const MAGIC: [u8; 4] = *b"BpTr";
const PROBE: u8 = 1;
const REPLY: u8 = 2;
/// Probes that a listener answers in a second, of all senders together.
const ANSWERS: u32 = 5_000;
/// The most probes of a session, and how long replies to the last are waited for.
const PROBES: u64 = 10_000_000;
const PATIENCE: Duration = Duration::from_secs(2);
/// Probes by which one of several addresses is tried.
const TRIALS: u64 = 3;
/// So long a reply to each is waited for.
const TRIAL: Duration = Duration::from_secs(1);
/// A wait for a reply ends so often.
const LOOK: Duration = Duration::from_millis(50);

/// How a path is probed.
#[derive(Debug, Clone, Copy)]
pub struct Probing {
    /// How long.
    pub lasting: Duration,
    /// How often a probe is sent.
    pub every: Duration,
    /// How long a line of the trace holds.
    pub step: Duration,
    /// Whether the delay is that from here to there by both hosts' clocks, and not half of the
    /// round trip.
    pub one_way: bool,
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum ProbingError {
    /// A socket, or the token.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The host has no address.
    #[error("no address")]
    NoAddress,
    /// No reply came.
    #[error("nobody answers")]
    NobodyAnswers,
    /// The host says that no program listens there.
    #[error("nobody answers: nothing listens at that port")]
    Refused,
    /// A delay one way is less than none.
    #[error("a probe came there before it was sent: the clocks do not agree")]
    Clocks,
}

/// Sends back each probe that comes to `socket`, for ever.
pub fn answer(socket: &UdpSocket) -> ! {
    let (mut second, mut answers) = (Instant::now(), 0);
    // A byte more: what is longer is no probe.
    let mut packet = [0; LENGTH + 1];
    loop {
        let (length, from) = match socket.recv_from(&mut packet) {
            Ok(received) => received,
            // An ICMP error about an earlier answer, or a signal.
            Err(_) => continue,
        };
        if second.elapsed().as_secs() > 0 {
            (second, answers) = (Instant::now(), 0);
        }
        let Some(reply) = reply_to(&packet[..length], wall_clock()) else { continue };
        if answers < ANSWERS {
            answers += 1;
            let _ = socket.send_to(&reply, from);
        }
    }
}

/// The reply to a packet, if it is a probe.
fn reply_to(packet: &[u8], now: u64) -> Option<[u8; LENGTH]> {
    let mut reply: [u8; LENGTH] = packet.try_into().ok()?;
    if reply[..4] != MAGIC || reply[4] != PROBE {
        return None;
    }
    reply[4] = REPLY;
    reply[40..48].copy_from_slice(&now.to_be_bytes());
    Some(reply)
}

fn packet(token: &[u8; 16], number: u64) -> [u8; LENGTH] {
    let mut probe = [0; LENGTH];
    probe[..4].copy_from_slice(&MAGIC);
    probe[4] = PROBE;
    probe[8..24].copy_from_slice(token);
    probe[24..32].copy_from_slice(&number.to_be_bytes());
    probe
}

/// The number of the probe to which this is the reply, and when it came there.
fn read_reply(packet: &[u8], token: &[u8; 16]) -> Option<(u64, u64)> {
    let sound = packet.len() == LENGTH && packet[..4] == MAGIC && packet[4] == REPLY;
    if !sound || packet[8..24] != *token {
        return None;
    }
    let number = |at: usize| packet[at..at + 8].try_into().ok().map(u64::from_be_bytes);
    Some((number(24)?, number(40)?))
}

fn wall_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// When a probe was sent, by both of this host's clocks, and the delay that was found.
#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Instant,
    wall: u64,
    /// In nanoseconds; less than none if the clocks do not agree.
    delay: Option<i64>,
}

/// What was measured.
#[derive(Debug)]
pub struct Probed {
    sent: Vec<Sent>,
    every: Duration,
    per_line: usize,
}

/// A line of the trace that was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbedLine {
    /// When it begins, in milliseconds.
    pub at_ms: f64,
    /// The median delay, in nanoseconds; `None`: no reply came, and what was before holds.
    pub delay: Option<i64>,
    /// Each way's share of loss.
    pub loss: f64,
}

/// Probes the path to `host` (`HOST:PORT`), where [`answer`] runs.
///
/// # Errors
/// [`ProbingError`]
pub fn probe(host: &str, probing: &Probing) -> Result<Probed, ProbingError> {
    let Probing { lasting, every, step, one_way } = *probing;
    let count = ratio(lasting, every).min(PROBES);
    let mut token = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut token)?;
    let socket = answering(&host.to_socket_addrs()?.collect::<Vec<_>>(), &token)?;

    let sent: Mutex<Vec<Sent>> = Mutex::default();
    // Whether a probe was refused, and whether nothing else comes back.
    let (refused, given_up) = (AtomicBool::new(false), AtomicBool::new(false));
    let begin = Instant::now();
    let last = begin + every.mul_f64(count as f64) + PATIENCE;
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..count {
                let due = begin + every.mul_f64(number as f64);
                thread::sleep(due.saturating_duration_since(Instant::now()));
                if given_up.load(Ordering::Relaxed) {
                    break;
                }
                let packet = packet(&token, number);
                lock(&sent).push(Sent { at: Instant::now(), wall: wall_clock(), delay: None });
                // What the kernel does not take is lost.
                if socket.send(&packet).is_err_and(|error| is_refusal(&error)) {
                    refused.store(true, Ordering::Relaxed);
                }
            }
        });
        let (mut packet, mut missing) = ([0; LENGTH + 1], count);
        while missing > 0 && Instant::now() < last {
            let received = socket.recv(&mut packet);
            let now = Instant::now();
            let Ok(length) = received else {
                if received.is_err_and(|error| is_refusal(&error)) {
                    refused.store(true, Ordering::Relaxed);
                }
                // A program that was to listen there is late.
                let late = missing == count && now - begin >= PATIENCE;
                if late && refused.load(Ordering::Relaxed) {
                    given_up.store(true, Ordering::Relaxed);
                    break;
                }
                continue;
            };
            let Some((number, there)) = read_reply(&packet[..length], &token) else { continue };
            let mut sent = lock(&sent);
            let sent = usize::try_from(number).ok().and_then(|number| sent.get_mut(number));
            if let Some(sent) = sent.filter(|sent| sent.delay.is_none()) {
                let nanos = |span: Duration| i64::try_from(span.as_nanos()).ok();
                sent.delay = match one_way {
                    true => Some(there.wrapping_sub(sent.wall).cast_signed()),
                    false => nanos((now - sent.at) / 2),
                };
                missing -= 1;
            }
        }
    });
    if given_up.into_inner() {
        return Err(ProbingError::Refused);
    }
    let sent = sent.into_inner().unwrap_or_else(PoisonError::into_inner);
    let found = sent.iter().filter_map(|sent| sent.delay);
    let Some(least) = found.min() else { return Err(ProbingError::NobodyAnswers) };
    if least < 0 {
        return Err(ProbingError::Clocks);
    }
    Ok(Probed { sent, every, per_line: ratio(step, every) as usize })
}

/// A socket to the first of these addresses that answers. If none does, to the first that has a
/// way. One alone is not tried.
fn answering(addresses: &[SocketAddr], token: &[u8; 16]) -> Result<UdpSocket, ProbingError> {
    let mut connected = Vec::new();
    let mut error = ProbingError::NoAddress;
    for &address in addresses {
        match connect(address) {
            Ok(socket) if addresses.len() == 1 || answers(&socket, token) => return Ok(socket),
            Ok(socket) => connected.push(socket),
            // Without a way to IPv6, an address of that is none.
            Err(why) => error = why.into(),
        }
    }
    connected.into_iter().next().ok_or(error)
}

fn connect(address: SocketAddr) -> io::Result<UdpSocket> {
    let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any)?;
    // What is not from there is not received.
    socket.connect(address)?;
    socket.set_read_timeout(Some(LOOK))?;
    Ok(socket)
}

/// Tries a few probes. Their numbers are none of the measurement's.
fn answers(socket: &UdpSocket, token: &[u8; 16]) -> bool {
    let mut reply = [0; LENGTH + 1];
    (0..TRIALS).any(|trial| {
        // An earlier refusal is told here, in its place.
        let _ = socket.send(&packet(token, u64::MAX - trial));
        let end = Instant::now() + TRIAL;
        while Instant::now() < end {
            match socket.recv(&mut reply) {
                Ok(length) if read_reply(&reply[..length], token).is_some() => return true,
                Err(error) if is_refusal(&error) => return false,
                _ => {}
            }
        }
        false
    })
}

fn is_refusal(error: &io::Error) -> bool {
    error.kind() == ErrorKind::ConnectionRefused
}

/// How often `part` fits into `whole`, once at least.
fn ratio(whole: Duration, part: Duration) -> u64 {
    u64::try_from(whole.as_nanos() / part.as_nanos().max(1)).unwrap_or(u64::MAX).max(1)
}

fn lock(sent: &Mutex<Vec<Sent>>) -> MutexGuard<'_, Vec<Sent>> {
    sent.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Probed {
    /// How many probes were sent.
    #[must_use]
    pub fn probes(&self) -> usize {
        self.sent.len()
    }

    /// The lines of the trace, of which the first has a delay.
    pub fn lines(&self) -> impl Iterator<Item = ProbedLine> + '_ {
        let first = self.sent.iter().find_map(|sent| sent.delay);
        self.sent.chunks(self.per_line).enumerate().map(move |(line, probes)| {
            let (delay, loss) = summary(probes);
            let delay = delay.or(first.filter(|_| line == 0));
            let at_ms = self.every.as_secs_f64() * 1e3 * (line * self.per_line) as f64;
            ProbedLine { at_ms, delay, loss }
        })
    }
}

/// The median delay of these probes, if any came back, and the loss of each way by which as many
/// did not.
fn summary(probes: &[Sent]) -> (Option<i64>, f64) {
    let mut delays: Vec<i64> = probes.iter().filter_map(|probe| probe.delay).collect();
    delays.sort_unstable();
    let arrived = delays.len() as f64 / probes.len().max(1) as f64;
    (delays.get(delays.len() / 2).copied(), 1.0 - arrived.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_probes_are_answered_and_with_no_byte_more() {
        let token = [7; 16];
        let sent = packet(&token, 3);
        let reply = reply_to(&sent, 99).unwrap();
        assert_eq!((reply.len(), read_reply(&reply, &token)), (sent.len(), Some((3, 99))));
        assert_eq!(read_reply(&reply, &[8; 16]), None, "another session's");
        assert_eq!(reply_to(&reply, 100), None, "a reply");
        assert_eq!(read_reply(&sent, &token), None);
        let (long, mut other) = ([&sent[..], &[0]].concat(), sent);
        other[0] = b'x';
        for packet in [&long[..], &sent[..63], &other, &[]] {
            assert_eq!(reply_to(packet, 1), None);
            assert_eq!(read_reply(packet, &token), None);
        }
    }

    /// An address at which nothing listens.
    fn closed() -> SocketAddr {
        UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
    }

    #[test]
    fn of_several_addresses_the_first_that_answers_is_probed() {
        let listening = UdpSocket::bind("127.0.0.1:0").unwrap();
        let open = listening.local_addr().unwrap();
        thread::spawn(move || answer(&listening));
        let chosen =
            |addresses: &[SocketAddr]| answering(addresses, &[7; 16]).unwrap().peer_addr().unwrap();
        assert_eq!(chosen(&[closed(), open]), open);
        assert_eq!(chosen(&[open, closed()]), open);
        let none = closed();
        assert_eq!(chosen(&[none, closed()]), none);
        assert!(matches!(answering(&[], &[7; 16]), Err(ProbingError::NoAddress)));
    }

    #[test]
    fn refusals_alone_end_it_early() {
        let second = Duration::from_secs(1);
        let (lasting, every) = (second * 3600, Duration::from_millis(20));
        let probing = Probing { lasting, every, step: second, one_way: false };
        let refused = probe(&closed().to_string(), &probing);
        assert!(matches!(refused, Err(ProbingError::Refused)), "{refused:?}");
    }

    #[test]
    fn each_way_has_the_loss_that_makes_the_round_trips() {
        let (at, wall) = (Instant::now(), 0);
        let probes = [Some(5), None, Some(3), None, Some(9), None, None, Some(4)];
        let probes = probes.map(|delay| Sent { at, wall, delay });
        let (delay, loss) = summary(&probes);
        assert_eq!(delay, Some(5));
        assert!(((1.0 - loss) * (1.0 - loss) - 0.5).abs() < 1e-9);
        assert_eq!(summary(&[Sent { at, wall, delay: None }]), (None, 1.0));
    }
}

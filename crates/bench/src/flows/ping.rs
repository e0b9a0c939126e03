//! Pings from the client to the server while the load runs: ICMP passes every forwarder.
//!
//! Their thread has real-time priority, so that a busy host does not count as a slow router.

use super::error::FlowsError;
use super::hosts::{Hosts, SERVER};
use bentpipe_linux::netns::NetnsError;
use bentpipe_linux::real_time;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// From one ping to the next.
const INTERVAL: Duration = Duration::from_millis(5);
/// How long the last answers are waited for.
const LINGER: Duration = Duration::from_millis(500);
/// An ICMP header and as many bytes as `ping` sends.
const LENGTH: usize = 64;
const IDENTIFIER: u16 = 0xbe57;
const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;

/// Pings that go on until they are ended.
#[derive(Debug)]
pub(super) struct Pings {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<io::Result<Answers>, NetnsError>>>,
}

/// The round trips of pings.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Answers {
    /// In seconds, the shortest first.
    pub(super) round_trips: Vec<f64>,
    /// Pings without an answer.
    pub(super) lost: u64,
}

impl Answers {
    /// The round trip that this share of them do not exceed.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let last = self.round_trips.len().checked_sub(1)?;
        let place = (share * self.round_trips.len() as f64).ceil() as usize;
        self.round_trips.get(place.saturating_sub(1).min(last)).copied()
    }
}

impl Pings {
    /// Begins to ping.
    pub(super) fn begin(hosts: &Hosts) -> Pings {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        Pings { stop, thread: Some(hosts.client.spawn(move || ping(&stopped))) }
    }

    /// Waits for the last answers.
    ///
    /// # Errors
    /// [`FlowsError`].
    pub(super) fn end(mut self) -> Result<Answers, FlowsError> {
        self.stop.store(true, Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        match ended {
            Some(Ok(answers)) => answers?.map_err(FlowsError::Ping),
            _ => Ok(Answers::default()),
        }
    }
}

impl Drop for Pings {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
    }
}

fn ping(stop: &AtomicBool) -> io::Result<Answers> {
    // Without it they are less precise.
    let _ = real_time::begin();
    let mut socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4))?;
    socket.connect(&SocketAddr::from(SocketAddrV4::new(SERVER, 0)).into())?;
    socket.set_nonblocking(true)?;
    let mut answers = Answers::default();
    let mut unanswered = BTreeMap::new();
    let mut buffer = [0; 256];
    let mut next = Instant::now();
    let mut sequence = 0_u16;
    let mut deadline = None;
    loop {
        let now = Instant::now();
        if deadline.is_none() && stop.load(Relaxed) {
            deadline = Some(now + LINGER);
        }
        if deadline.is_some_and(|deadline| now > deadline || unanswered.is_empty()) {
            break;
        }
        if deadline.is_none() && now >= next {
            sequence = sequence.wrapping_add(1);
            // One that the kernel does not take is lost, as in a queue.
            let _ = socket.write(&request(sequence));
            unanswered.insert(sequence, now);
            next = (next + INTERVAL).max(now);
        }
        let until = deadline.unwrap_or(next).saturating_duration_since(now).min(INTERVAL);
        let mut fds = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
        match ppoll(&mut fds, Some(TimeSpec::from(until)), None) {
            Ok(0) | Err(nix::errno::Errno::EINTR) => continue,
            other => other?,
        };
        let arrived = Instant::now();
        while let Ok(length) = socket.read(&mut buffer) {
            let sent = answered(&buffer[..length]).and_then(|number| unanswered.remove(&number));
            answers.round_trips.extend(sent.map(|sent| (arrived - sent).as_secs_f64()));
        }
    }
    answers.lost = unanswered.len() as u64;
    answers.round_trips.sort_by(f64::total_cmp);
    Ok(answers)
}

fn request(sequence: u16) -> [u8; LENGTH] {
    let mut packet = [0; LENGTH];
    packet[0] = ECHO_REQUEST;
    packet[4..6].copy_from_slice(&IDENTIFIER.to_be_bytes());
    packet[6..8].copy_from_slice(&sequence.to_be_bytes());
    // RFC 1071: all else is zero.
    let sum = (u32::from(ECHO_REQUEST) << 8) + u32::from(IDENTIFIER) + u32::from(sequence);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    packet[2..4].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    packet
}

/// The sequence number of an answer to one of ours, in a packet with its IPv4 header.
fn answered(packet: &[u8]) -> Option<u16> {
    let header = usize::from(packet.first()? & 0xf) * 4;
    let icmp = packet.get(header..header + 8)?;
    let ours = icmp[0] == ECHO_REPLY && icmp[4..6] == IDENTIFIER.to_be_bytes();
    ours.then(|| u16::from_be_bytes([icmp[6], icmp[7]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_one_of_the_round_trips() {
        let round_trips = (1..=200).map(f64::from).collect();
        let answers = Answers { round_trips, lost: 0 };
        assert_eq!(answers.quantile(0.5), Some(100.0));
        assert_eq!(answers.quantile(0.99), Some(198.0));
        assert_eq!(answers.quantile(1.0), Some(200.0));
        assert_eq!(answers.quantile(0.0), Some(1.0));
        assert_eq!(Answers::default().quantile(0.5), None);
    }

    #[test]
    fn an_answer_is_told_from_a_request() {
        let mut packet = [&[0x45; 20][..], &request(258)].concat();
        let words = packet[20..].chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
        let sum: u32 = words.sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "its own checksum is in it");
        assert_eq!(answered(&packet), None);
        packet[20] = ECHO_REPLY;
        assert_eq!(answered(&packet), Some(258));
        assert_eq!(answered(&packet[..27]), None);
    }
}

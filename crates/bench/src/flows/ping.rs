//! Pings from the client to the server while the load runs: ICMP passes every forwarder.
//!
//! Their thread has real-time priority, so that a busy host does not count as a slow router.

use super::error::FlowsError;
use super::hosts::{Hosts, SERVER};
use bentpipe_linux::netns::NetnsError;
use bentpipe_linux::real_time;
use bentpipe_testbed::icmp_echo::{read_reply, write_request};
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
    let (mut packet, mut buffer) = ([0; LENGTH], [0; 256]);
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
            write_request(&mut packet, IDENTIFIER, sequence);
            // One that the kernel does not take is lost, as in a queue.
            let _ = socket.write(&packet);
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
            let reply = read_reply(&buffer[..length], IDENTIFIER);
            let sent = reply.and_then(|number| unanswered.remove(&number));
            answers.round_trips.extend(sent.map(|sent| (arrived - sent).as_secs_f64()));
        }
    }
    answers.lost = unanswered.len() as u64;
    answers.round_trips.sort_by(f64::total_cmp);
    Ok(answers)
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
}

//! Bulk transfers over many connections by few threads.
//!
//! Senders write large pieces, and receivers let the kernel discard what they have counted. Hosts
//! are to cost little, as the forwarder is measured. epoll serves ready sockets in turn, so flows
//! are treated alike.

use super::connect::Connections;
use super::plan::Direction;
use super::ready::{LOOK, wait};
use bentpipe_core::units::Rate;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::socket::{MsgFlags, recv};
use socket2::Socket;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The bytes of a write at full speed.
const WRITE: usize = 256 << 10;
/// The bytes that a read takes at most.
const READ: usize = 1 << 20;
/// The interval of an application-limited flow's writes, within the bounds of their length.
const INTERVAL: Duration = Duration::from_millis(10);
/// The length of its writes: two segments at least, as a sender that is paced by Linux has, and a
/// super-segment at most.
const LENGTHS: [f64; 2] = [2.0 * 1448.0, 65_160.0];

/// The writes of an application-limited flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pace {
    length: f64,
    interval: Duration,
}

impl Pace {
    /// Those of one of so many flows that have `rate` together, with a length that is given or not.
    pub(super) fn of(rate: Rate, flows: usize, length: Option<usize>) -> Pace {
        let rate = rate.bits_per_sec() as f64 / 8.0 / flows as f64;
        let [shortest, longest] = LENGTHS;
        let usual = (rate * INTERVAL.as_secs_f64()).clamp(shortest, longest);
        let length = length.map_or(usual, |length| length as f64);
        Pace { length, interval: Duration::from_secs_f64(length / rate) }
    }
}

/// Transfers that run until this is dropped.
#[derive(Debug)]
pub(super) struct Transfers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    /// Of each flow, or of each flow's two directions.
    received: Vec<AtomicU64>,
    broken: AtomicU64,
}

/// Some of the sockets, with their places among the counters.
type Share = Vec<(usize, Arc<Socket>)>;

impl Transfers {
    /// Begins to send over all connections, as fast as possible or at a pace. Each end has so many
    /// threads for a direction.
    pub(super) fn begin(
        connections: Connections,
        direction: Direction,
        pace: Option<Pace>,
        threads: usize,
    ) -> Transfers {
        let count = connections.client.len();
        let all = |sockets: Vec<Socket>| sockets.into_iter().map(Arc::new).collect::<Vec<_>>();
        let (client, server) = (all(connections.client), all(connections.server));
        let directions: &[_] = match direction {
            Direction::Down => &[(&server, &client)],
            Direction::Up => &[(&client, &server)],
            Direction::Both => &[(&server, &client), (&client, &server)],
        };
        let received = (0..count * directions.len()).map(|_| AtomicU64::new(0)).collect();
        let shared = Arc::new(Shared { received, ..Shared::default() });
        let mut running = Vec::new();
        for (number, (from, to)) in directions.iter().enumerate() {
            for thread in 0..threads.min(count) {
                let share = |sockets: &[Arc<Socket>]| -> Share {
                    let own = sockets.iter().enumerate().skip(thread).step_by(threads);
                    own.map(|(flow, socket)| (number * count + flow, Arc::clone(socket))).collect()
                };
                let (from, to) = (share(from), share(to));
                let [sending, receiving] = [(); 2].map(|()| Arc::clone(&shared));
                running.push(thread::spawn(move || match pace {
                    None => send(&from, &sending),
                    Some(pace) => send_at(pace, &from, &sending),
                }));
                running.push(thread::spawn(move || receive(&to, &receiving)));
            }
        }
        Transfers { shared, threads: running }
    }

    /// The bytes that each flow has delivered so far.
    pub(super) fn received(&self) -> Vec<u64> {
        self.shared.received.iter().map(|bytes| bytes.load(Relaxed)).collect()
    }

    /// The connections that broke.
    pub(super) fn broken(&self) -> u64 {
        self.shared.broken.load(Relaxed)
    }
}

impl Drop for Transfers {
    fn drop(&mut self) {
        self.shared.stop.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            if let Ok(Err(error)) = thread.join() {
                tracing::warn!("bench flows: {error}");
            }
        }
    }
}

impl Shared {
    fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }
}

/// Waits for `kind` on all sockets, and does `work` for each that is ready, until all is over.
///
/// A socket for which `work` fails is not waited for any more.
fn serve(
    share: &Share,
    shared: &Shared,
    kind: EpollFlags,
    mut work: impl FnMut(usize, &Socket) -> io::Result<()>,
) -> io::Result<()> {
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    for (number, (_, socket)) in share.iter().enumerate() {
        epoll.add(socket, EpollEvent::new(kind, number as u64))?;
    }
    let mut events = [EpollEvent::empty(); 64];
    while !shared.is_stopped() {
        let ready = wait(&epoll, &mut events)?;
        for event in &events[..ready] {
            let (flow, socket) = &share[event.data() as usize];
            match work(*flow, socket) {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                    epoll.delete(socket)?;
                    shared.broken.fetch_add(1, Relaxed);
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Sends as fast as possible.
fn send(share: &Share, shared: &Shared) -> io::Result<()> {
    let bytes = vec![0; WRITE];
    serve(share, shared, EpollFlags::EPOLLOUT, |_, mut socket| socket.write(&bytes).map(drop))
}

/// Counts what comes, and discards it.
fn receive(share: &Share, shared: &Shared) -> io::Result<()> {
    let mut buffer = vec![0; READ];
    serve(share, shared, EpollFlags::EPOLLIN, |flow, socket| {
        // tcp(7): with MSG_TRUNC the bytes are counted and not copied.
        let count = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::MSG_TRUNC)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        shared.received[flow].fetch_add(count as u64, Relaxed);
        Ok(())
    })
}

/// Sends at the pace of an application.
fn send_at(pace: Pace, share: &Share, shared: &Shared) -> io::Result<()> {
    let Pace { length, interval } = pace;
    let bytes = vec![0; WRITE];
    let begin = Instant::now();
    // Flows take turns within an interval.
    let mut due: BinaryHeap<_> = (0..share.len())
        .map(|number| Reverse((begin + interval * number as u32 / share.len() as u32, number)))
        .collect();
    let mut owed = vec![0.0; share.len()];
    while !shared.is_stopped() {
        let Some(&Reverse((at, number))) = due.peek() else { break };
        let left = at.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            thread::sleep(left.min(LOOK));
            continue;
        }
        due.pop();
        // What the path did not take is made up for, but no more than a write.
        owed[number] = f64::min(owed[number] + length, WRITE as f64);
        let mut socket: &Socket = &share[number].1;
        match socket.write(&bytes[..owed[number] as usize]) {
            Ok(written) => owed[number] -= written as f64,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => {
                shared.broken.fetch_add(1, Relaxed);
                continue;
            }
        }
        due.push(Reverse((at + interval, number)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_two_segments_to_a_super_segment_long() {
        let pace = |rate: &str, flows, length| Pace::of(rate.parse().unwrap(), flows, length);
        let ten = pace("8Mbit/s", 1, None);
        assert_eq!((ten.length, ten.interval), (10_000.0, Duration::from_millis(10)));
        assert_eq!(pace("8Mbit/s", 256, None).length, LENGTHS[0]);
        assert_eq!(pace("1Gbit/s", 1, None).length, LENGTHS[1]);
        let given = pace("8Mbit/s", 2, Some(1000));
        assert_eq!((given.length, given.interval), (1000.0, Duration::from_millis(2)));
    }
}

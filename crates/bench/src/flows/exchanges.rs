//! New connections as fast as they come: connect, request, answer, close.
//!
//! A closed loop: so many exchanges are under way at any time. The server closes first, as
//! HTTP/1.0's does, so that the client's ports are free at once (TIME-WAIT is the server's).

use super::connect::{listen, tcp};
use super::error::FlowsError;
use super::hosts::Hosts;
use super::ready::wait;
use bentpipe_linux::netns::NetnsError;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::socket::{MsgFlags, recv};
use socket2::{SockAddr, Socket};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

/// The bytes of a request.
const REQUEST: usize = 64;
/// Ports of the server: four-tuples in TIME-WAIT are not used again within a measurement.
const PORTS: usize = 8;
/// The token of listeners, above all connections'.
const LISTENERS: u64 = 1 << 32;

/// Exchanges that go on until this is dropped.
#[derive(Debug)]
pub(super) struct Exchanges {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Result<io::Result<()>, NetnsError>>>,
}

#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    complete: AtomicU64,
    failed: AtomicU64,
    answer: usize,
}

impl Exchanges {
    /// Begins `parallel` exchanges at a time, with answers of so many bytes.
    ///
    /// # Errors
    /// [`FlowsError::Connect`].
    pub(super) fn begin(
        hosts: &Hosts,
        parallel: usize,
        answer: usize,
    ) -> Result<Exchanges, FlowsError> {
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            complete: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            answer,
        });
        let mut listeners = Vec::new();
        let mut addresses = Vec::new();
        for _ in 0..PORTS {
            let (listener, address) = listen(hosts)?;
            listener.set_nonblocking(true).map_err(FlowsError::Connect)?;
            listeners.push(listener);
            addresses.push(address);
        }
        let [asking, serving] = [(); 2].map(|()| Arc::clone(&shared));
        // Sockets that a thread opens are its namespace's.
        let client = hosts.client.spawn(move || ask(&addresses, parallel, &asking));
        let server = hosts.server.spawn(move || serve(&listeners, &serving));
        Ok(Exchanges { shared, threads: vec![client, server] })
    }

    /// Exchanges that are complete, and those that failed.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.shared.complete.load(Relaxed), self.shared.failed.load(Relaxed))
    }
}

impl Drop for Exchanges {
    fn drop(&mut self) {
        self.shared.stop.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            match thread.join() {
                Ok(Ok(Err(error))) => tracing::warn!("bench flows: {error}"),
                Ok(Err(error)) => tracing::warn!("bench flows: {error}"),
                _ => {}
            }
        }
    }
}

/// Both ends are edge-triggered: no exchange takes a further system call to change what is awaited.
fn awaited() -> EpollFlags {
    EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLET
}

/// A step of an exchange at one end.
enum Step {
    /// It waits.
    Pending,
    Complete,
    Failed,
}

impl Step {
    fn of(result: io::Result<bool>) -> Step {
        match result {
            Ok(true) => Step::Complete,
            Ok(false) => Step::Pending,
            Err(error) if error.kind() == ErrorKind::WouldBlock => Step::Pending,
            Err(_) => Step::Failed,
        }
    }
}

/// The client's end of an exchange.
struct Asked {
    socket: Socket,
    sent: bool,
    received: usize,
}

impl Asked {
    fn begin(address: &SockAddr) -> io::Result<Asked> {
        let socket = tcp()?;
        socket.set_nonblocking(true)?;
        match socket.connect(address) {
            Err(error) if error.raw_os_error() != Some(Errno::EINPROGRESS as i32) => Err(error),
            _ => Ok(Asked { socket, sent: false, received: 0 }),
        }
    }

    fn go_on(&mut self, answer: usize, buffer: &mut [u8]) -> io::Result<bool> {
        if !self.sent {
            match (&self.socket).write(&[0; REQUEST]) {
                // The event came before the SYN-ACK.
                Err(error) if error.kind() == ErrorKind::NotConnected => return Ok(false),
                other => other?,
            };
            self.sent = true;
        }
        loop {
            let count = recv(self.socket.as_raw_fd(), buffer, MsgFlags::MSG_TRUNC)?;
            self.received += count;
            if count == 0 {
                let whole = self.received == answer;
                return if whole { Ok(true) } else { Err(ErrorKind::UnexpectedEof.into()) };
            }
        }
    }
}

fn ask(addresses: &[SockAddr], parallel: usize, shared: &Shared) -> io::Result<()> {
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    let mut buffer = vec![0; 1 << 20];
    let mut turn = addresses.iter().cycle();
    let mut begin = |slot: usize| -> io::Result<Asked> {
        let asked = Asked::begin(turn.next().unwrap_or(&addresses[0]))?;
        epoll.add(&asked.socket, EpollEvent::new(awaited(), slot as u64))?;
        Ok(asked)
    };
    let mut slots = Vec::new();
    for slot in 0..parallel {
        slots.push(begin(slot)?);
    }
    let mut events = vec![EpollEvent::empty(); 256];
    while !shared.stop.load(Relaxed) {
        let ready = wait(&epoll, &mut events)?;
        for event in &events[..ready] {
            let slot = event.data() as usize;
            let count = match Step::of(slots[slot].go_on(shared.answer, &mut buffer)) {
                Step::Pending => continue,
                Step::Complete => &shared.complete,
                Step::Failed => &shared.failed,
            };
            count.fetch_add(1, Relaxed);
            slots[slot] = begin(slot)?;
        }
    }
    // What is under way ends at once.
    for asked in &slots {
        let _ = asked.socket.set_linger(Some(Duration::ZERO));
    }
    Ok(())
}

/// The server's end of an exchange.
struct Served {
    socket: Socket,
    read: usize,
    written: usize,
}

impl Served {
    fn go_on(&mut self, answer: &[u8]) -> io::Result<bool> {
        while self.read < REQUEST {
            let mut request = [0; REQUEST];
            match (&self.socket).read(&mut request)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                count => self.read += count,
            }
        }
        while self.written < answer.len() {
            self.written += (&self.socket).write(&answer[self.written..])?;
        }
        Ok(true)
    }
}

fn serve(listeners: &[Socket], shared: &Shared) -> io::Result<()> {
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    for (number, listener) in listeners.iter().enumerate() {
        epoll.add(listener, EpollEvent::new(EpollFlags::EPOLLIN, LISTENERS + number as u64))?;
    }
    let answer = vec![0; shared.answer];
    let mut slots: Vec<Option<Served>> = Vec::new();
    let mut free = Vec::new();
    let mut events = vec![EpollEvent::empty(); 256];
    while !shared.stop.load(Relaxed) {
        let ready = wait(&epoll, &mut events)?;
        for event in &events[..ready] {
            if let Some(listener) = event.data().checked_sub(LISTENERS) {
                while let Ok((socket, _)) = listeners[listener as usize].accept() {
                    socket.set_nonblocking(true)?;
                    let slot = free.pop().unwrap_or_else(|| {
                        slots.push(None);
                        slots.len() - 1
                    });
                    epoll.add(&socket, EpollEvent::new(awaited(), slot as u64))?;
                    slots[slot] = Some(Served { socket, read: 0, written: 0 });
                }
                continue;
            }
            let slot = event.data() as usize;
            let Some(served) = &mut slots[slot] else { continue };
            if !matches!(Step::of(served.go_on(&answer)), Step::Pending) {
                slots[slot] = None;
                free.push(slot);
            }
        }
    }
    Ok(())
}

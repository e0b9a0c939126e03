//! What a flow does, counted while it runs.

use super::socket::abort;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_linux::clock::Clock;
use bentpipe_linux::tcp_info::{TcpInfo, tcp_info};
use socket2::Socket;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Counts of a flow, over all its connections.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Counts {
    /// Bytes read by the applications at the sinks.
    pub delivered: u64,
    /// Pings sent.
    pub datagrams: u64,
    /// How many of them were answered.
    pub arrived: u64,
    /// Segments with data that the sources have sent.
    pub segments: u64,
    /// Those of them that were retransmitted.
    pub retransmissions: u64,
    /// The payload of those.
    pub retransmitted_bytes: u64,
    /// Expiries of their retransmission timers, if the kernel counts them.
    pub timeouts: Option<u64>,
    /// Episodes of fast recovery that were seen in the socket's state.
    pub recoveries: u64,
    /// The minimum round-trip time that a source measured.
    pub min_rtt: Option<Duration>,
    /// The smoothed round-trip time of the source that was counted last.
    pub srtt: Option<Duration>,
}

impl Counts {
    fn add(&mut self, info: &TcpInfo) {
        self.segments += info.segments;
        self.retransmissions += info.retransmissions;
        self.retransmitted_bytes += info.retransmitted_bytes;
        self.timeouts = match (self.timeouts, info.timeouts) {
            (Some(some), Some(more)) => Some(some + more),
            (one, other) => one.or(other),
        };
        self.min_rtt = [self.min_rtt, info.min_rtt].into_iter().flatten().min();
        self.srtt = info.srtt.or(self.srtt);
    }

    /// What has been counted since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Counts) -> Counts {
        Counts {
            delivered: self.delivered - earlier.delivered,
            datagrams: self.datagrams - earlier.datagrams,
            arrived: self.arrived - earlier.arrived,
            segments: self.segments.saturating_sub(earlier.segments),
            retransmissions: self.retransmissions.saturating_sub(earlier.retransmissions),
            retransmitted_bytes: self
                .retransmitted_bytes
                .saturating_sub(earlier.retransmitted_bytes),
            recoveries: self.recoveries - earlier.recoveries,
            timeouts: self.timeouts.map(|all| all.saturating_sub(earlier.timeouts.unwrap_or(0))),
            ..*self
        }
    }
}

/// Work with a beginning and an end: a file, a reply, a page, a ping.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transfer {
    /// When it was asked for: the SYN, or the request on a connection that stands.
    pub started: Instant,
    /// When its first byte was read.
    pub first_byte: Option<Instant>,
    /// When its last byte was read.
    pub completed: Option<Instant>,
    /// Its bytes, once it is complete.
    pub bytes: u64,
}

/// What has become of a flow.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowResult {
    /// Its name: one of its `count`.
    pub name: String,
    /// It is there for the others.
    pub background: bool,
    /// When its first transfer began.
    pub started: Option<Instant>,
    /// When nothing more was to come.
    pub finished: Option<Instant>,
    /// Transfers begun.
    pub begun: u64,
    /// Transfers completed.
    pub completed: u64,
    /// How long those took, together.
    pub took: Duration,
    /// Connections opened.
    pub connections: u64,
    /// Its transfers; none of background.
    pub transfers: Vec<Transfer>,
}

/// The meter of a flow that runs: many threads look at it.
#[derive(Debug)]
pub(super) struct FlowMeter {
    clock: Mutex<Clock>,
    delivered: AtomicU64,
    inner: Mutex<Inner>,
    /// Something has ended, or everything is to.
    changed: Condvar,
}

#[derive(Debug)]
struct Inner {
    result: FlowResult,
    past: Counts,
    /// Sockets that are open.
    open: BTreeMap<u64, Watched>,
    opened: u64,
    stopped: bool,
    /// Why this flow cannot be what it should.
    failed: Option<String>,
}

#[derive(Debug)]
struct Watched {
    socket: Arc<Socket>,
    /// Data come from it.
    source: bool,
    /// It was in fast recovery when it was last looked at.
    recovers: bool,
}

impl FlowMeter {
    pub(super) fn new(name: String, background: bool) -> FlowMeter {
        let result = FlowResult {
            name,
            background,
            started: None,
            finished: None,
            begun: 0,
            completed: 0,
            took: Duration::ZERO,
            connections: 0,
            transfers: Vec::new(),
        };
        let inner = Inner {
            result,
            past: Counts::default(),
            open: BTreeMap::new(),
            opened: 0,
            stopped: false,
            failed: None,
        };
        FlowMeter {
            clock: Mutex::new(Clock::start()),
            delivered: AtomicU64::new(0),
            inner: Mutex::new(inner),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run begins at this clock's zero.
    pub(super) fn begin(&self, clock: Clock) {
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner) = clock;
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner).now()
    }

    /// Whether all is over.
    pub(super) fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Waits until `at`. False if all is over before.
    pub(super) fn wait_until(&self, at: Instant) -> bool {
        let mut inner = self.lock();
        while !inner.stopped {
            let left = at.saturating_since(self.now());
            if left.is_zero() {
                return true;
            }
            let waited = self.changed.wait_timeout(inner, left);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }

    /// A socket of this flow: it is counted and ended with it. `source`: data come from it.
    ///
    /// # Errors
    /// All is over.
    pub(super) fn open(self: &Arc<Self>, socket: Socket, source: bool) -> io::Result<Open> {
        let mut inner = self.lock();
        if inner.stopped {
            return Err(io::ErrorKind::Interrupted.into());
        }
        inner.opened += 1;
        let (number, socket) = (inner.opened, Arc::new(socket));
        let watched = Watched { socket: Arc::clone(&socket), source, recovers: false };
        inner.open.insert(number, watched);
        Ok(Open { meter: Arc::clone(self), number, socket })
    }

    /// One more connection stands.
    pub(super) fn connected(&self) {
        self.lock().result.connections += 1;
    }

    /// A transfer begins. Returns its number.
    pub(super) fn transfer(&self) -> usize {
        let started = self.now();
        let mut inner = self.lock();
        inner.result.started.get_or_insert(started);
        inner.result.begun += 1;
        let transfer = Transfer { started, first_byte: None, completed: None, bytes: 0 };
        inner.result.transfers.push(transfer);
        inner.result.transfers.len() - 1
    }

    pub(super) fn first_byte(&self, transfer: usize) {
        let now = self.now();
        self.lock().result.transfers[transfer].first_byte.get_or_insert(now);
    }

    pub(super) fn complete(&self, transfer: usize, bytes: u64) {
        let now = self.now();
        let mut inner = self.lock();
        let one = &mut inner.result.transfers[transfer];
        one.first_byte.get_or_insert(now);
        (one.completed, one.bytes) = (Some(now), bytes);
        let took = now.saturating_since(one.started);
        inner.result.completed += 1;
        inner.result.took += took;
    }

    /// One is complete that has begun so long ago, as its program says.
    pub(super) fn complete_after(&self, transfer: usize, bytes: u64, took: Duration) {
        let now = self.now();
        self.lock().result.transfers[transfer].started =
            Instant::ZERO + now.saturating_since(Instant::ZERO + took);
        self.complete(transfer, bytes);
    }

    /// The application at the sink has read so much.
    pub(super) fn delivered(&self, bytes: u64) {
        self.delivered.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn pinged(&self) {
        self.lock().past.datagrams += 1;
    }

    pub(super) fn answered(&self) {
        self.lock().past.arrived += 1;
    }

    /// Nothing more is to come.
    pub(super) fn finish(&self) {
        let now = self.now();
        self.lock().result.finished.get_or_insert(now);
    }

    pub(super) fn is_finished(&self) -> bool {
        self.lock().result.finished.is_some()
    }

    /// An end of a connection failed: a wrong byte or a socket that could not be had spoils the
    /// run, a connection that broke is a result. Not if all is over: then it was us.
    pub(super) fn failed(&self, error: &io::Error) {
        let mut inner = self.lock();
        let broke = matches!(
            error.kind(),
            io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionRefused
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::TimedOut
                | io::ErrorKind::HostUnreachable
                | io::ErrorKind::NetworkUnreachable
                | io::ErrorKind::NotConnected
                | io::ErrorKind::UnexpectedEof
        );
        if !inner.stopped && !broke {
            let name = inner.result.name.clone();
            inner.failed.get_or_insert(format!("flow {name}: {error}"));
        }
    }

    /// Why the run is spoilt, if it is.
    pub(super) fn failure(&self) -> Option<String> {
        self.lock().failed.clone()
    }

    /// Its counts at this moment.
    pub(super) fn counts(&self) -> Counts {
        let inner = self.lock();
        let mut counts = inner.past;
        let sources = inner.open.values().filter(|watched| watched.source);
        sources.for_each(|watched| counts.add(&tcp_info(&watched.socket)));
        counts.delivered = self.delivered_bytes();
        counts
    }

    /// What applications have read.
    pub(super) fn delivered_bytes(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// Looks whether its sources are in fast recovery, of which Linux keeps no count for a
    /// connection. An episode that begins and ends between two looks is not seen; two are one if
    /// the first ends and the second begins there.
    pub(super) fn look(&self) {
        let mut inner = self.lock();
        let Inner { open, past, .. } = &mut *inner;
        for watched in open.values_mut().filter(|watched| watched.source) {
            let recovers = tcp_info(&watched.socket).recovers;
            past.recoveries += u64::from(recovers && !watched.recovers);
            watched.recovers = recovers;
        }
    }

    /// All is over: its connections are reset, and who waits wakes.
    pub(super) fn stop(&self) {
        let mut inner = self.lock();
        inner.stopped = true;
        inner.open.values().for_each(|watched| abort(&watched.socket));
        self.changed.notify_all();
    }

    /// What has become of it.
    pub(super) fn result(&self) -> FlowResult {
        let mut result = self.lock().result.clone();
        if result.background {
            result.transfers.clear();
        }
        result
    }
}

/// An open socket of a flow, until dropped.
#[derive(Debug)]
pub(super) struct Open {
    meter: Arc<FlowMeter>,
    number: u64,
    socket: Arc<Socket>,
}

impl Open {
    pub(super) fn socket(&self) -> &Socket {
        &self.socket
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut inner = self.meter.lock();
        if let Some(watched) = inner.open.remove(&self.number).filter(|watched| watched.source) {
            let info = tcp_info(&watched.socket);
            inner.past.add(&info);
        }
    }
}

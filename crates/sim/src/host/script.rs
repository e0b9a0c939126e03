//! An application that writes, reads and closes by a script, with real bytes of which it checks
//! each one that it reads: for fault tests.

use super::{Application, Host, SessionConfig, SessionKey};
use bentpipe_core::tcp::buffer::{Chunks, Pattern, Payload};
use bentpipe_core::tcp::connection::{Connection, ConnectionConfig, Event};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Bytes;
use bentpipe_core::wire::SeqNum;
use std::convert::Infallible;

/// When an application begins to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// As soon as it can.
    #[default]
    AtOnce,
    /// When it has read so many bytes: a server that answers a request.
    AfterReading(u64),
}

/// When an application closes its direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Close {
    /// After its last byte.
    #[default]
    AtOnce,
    /// After its last byte, but not before the peer's direction has ended.
    AfterPeer,
    /// Never: it leaves the connection open.
    Never,
}

/// How fast an application reads or writes: `chunk` bytes at a time, one `every` so often (zero:
/// as soon as it can).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Bytes at a time.
    pub chunk: u64,
    /// Time between two.
    pub every: Duration,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { chunk: u64::MAX, every: Duration::ZERO }
    }
}

/// What an application writes, how it reads, how it ends.
#[derive(Debug, Clone, Copy, Default)]
pub struct Script {
    /// How many bytes it writes.
    pub bytes: u64,
    /// Which bytes: two applications with different keys write different ones.
    pub key: u64,
    /// Which bytes it expects to read.
    pub peer_key: u64,
    /// When it begins to write.
    pub start: Start,
    /// How fast it writes.
    pub write: Pace,
    /// How fast it reads.
    pub read: Pace,
    /// When it closes.
    pub close: Close,
    /// After how long it resets the connection, if it does.
    pub abort_after: Option<Duration>,
}

/// What an application has done and seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// Bytes handed to its connection.
    pub written: u64,
    /// Bytes read, each of them the right one.
    pub read: u64,
    /// When the handshake was complete.
    pub connected: Option<Instant>,
    /// When the last byte so far was read.
    pub last_read: Option<Instant>,
    /// The peer's direction ended in order, and all before its end was read.
    pub clean_end: bool,
    /// It has closed its direction.
    pub closed: bool,
    /// It has reset the connection itself.
    pub aborted: bool,
    /// The peer has reset the connection.
    pub reset: bool,
    /// The peer did not answer any more.
    pub timed_out: bool,
}

/// A script being run.
#[derive(Debug, Clone)]
pub struct Run {
    script: Script,
    began: Instant,
    next_write: Instant,
    next_read: Instant,
    report: Report,
}

/// The bytes of the stream with this key, from `offset` on.
fn stream(key: u64, offset: u64) -> impl Iterator<Item = u8> {
    Pattern::bytes(key.wrapping_shl(32).wrapping_add(offset))
}

impl From<Script> for Run {
    fn from(script: Script) -> Run {
        let (began, report) = (Instant::ZERO, Report::default());
        Run { script, began, next_write: began, next_read: began, report }
    }
}

impl Host<Run> {
    /// Listens on `port` and runs `script` on every connection that comes.
    pub fn listen(&mut self, port: u16, config: ConnectionConfig, isn: SeqNum, script: Script) {
        self.serve(port, config, Some(isn), script.into());
    }

    /// Opens a connection at `at` and runs `script` on it.
    pub fn call(
        &mut self,
        at: Instant,
        key: SessionKey,
        config: ConnectionConfig,
        isn: SeqNum,
        script: Script,
    ) {
        let plan = SessionConfig { config, isn: Some(isn), application: script.into() };
        self.calls.insert((at, key), plan);
    }

    /// What the application of one connection has done and seen, if it exists yet.
    pub fn report(&self, key: &SessionKey) -> Option<&Report> {
        self.application(key).map(|run| &run.report)
    }
}

impl Application for Run {
    type Buffer = Chunks;
    type Notice = Infallible;

    fn begin(&mut self, now: Instant) {
        (self.began, self.next_write, self.next_read) = (now, now, now);
    }

    fn act(
        &mut self,
        now: Instant,
        connection: &mut Connection<Chunks>,
        _tell: &mut impl FnMut(Infallible),
    ) {
        while let Some(event) = connection.poll_event() {
            match event {
                Event::Connected => self.report.connected = Some(now),
                Event::Reset => self.report.reset = true,
                Event::TimedOut => self.report.timed_out = true,
                Event::PeerClosed | Event::Closed | Event::Unreachable => {}
            }
        }
        if self.abort_at().is_some_and(|at| at <= now) {
            connection.abort();
            self.report.aborted = true;
            return;
        }
        if self.over() {
            return;
        }
        self.read(now, connection);
        self.write(now, connection);
        let ready = match self.script.close {
            // CLOSE in SYN-SENT would delete the connection.
            Close::AtOnce => self.report.connected.is_some() || connection.opens_with_data(),
            Close::AfterPeer => self.report.clean_end,
            Close::Never => false,
        };
        if ready && self.report.written == self.script.bytes && !self.report.closed {
            connection.close();
            self.report.closed = true;
        }
    }

    fn next(&self, now: Instant) -> Option<Instant> {
        if self.over() {
            return None;
        }
        let writing = self.report.written < self.script.bytes && self.may_write();
        let write = Some(self.next_write).filter(|at| writing && *at > now);
        let read = Some(self.next_read).filter(|at| !self.report.clean_end && *at > now);
        [write, read, self.abort_at()].into_iter().flatten().min()
    }

    /// Its report is wanted after the end.
    fn done(&self) -> bool {
        false
    }

    fn check(&self, connection: &Connection<Chunks>, config: &ConnectionConfig) {
        let Some(tcb) = connection.tcb() else { return };
        assert!(tcb.sender.cwnd() >= tcb.sender.smss(), "{self:?}: cwnd below one segment");
        let held = connection.readable() + tcb.receiver.out_of_order().covered();
        let unit = 1 << config.window_scale.unwrap_or(0);
        assert!(held < connection.receive_buffer() + Bytes::new(unit), "{self:?} holds {held}");
        assert!(self.report.written <= self.script.bytes);
    }
}

impl Run {
    fn over(&self) -> bool {
        self.report.aborted || self.report.reset || self.report.timed_out
    }

    fn abort_at(&self) -> Option<Instant> {
        let after = self.script.abort_after.filter(|_| !self.over())?;
        Some(self.began + after)
    }

    fn may_write(&self) -> bool {
        match self.script.start {
            Start::AtOnce => true,
            Start::AfterReading(bytes) => self.report.read >= bytes,
        }
    }

    fn read(&mut self, now: Instant, connection: &mut Connection<Chunks>) {
        let Script { read: pace, peer_key, .. } = self.script;
        if self.next_read <= now && connection.readable() > Bytes::ZERO {
            let mut at = self.report.read;
            let len = connection.read(Bytes::new(pace.chunk), |piece| {
                let Payload::Bytes(bytes) = piece else { unreachable!("chunks hold bytes") };
                // All at once: one by one they would be a tenth of a fault test.
                let right: Vec<u8> = stream(peer_key, at).take(bytes.len()).collect();
                if *bytes != right[..] {
                    let wrong = bytes.iter().zip(&right).take_while(|(got, right)| got == right);
                    panic!("byte {} of {peer_key} is wrong", at + wrong.count() as u64);
                }
                at += bytes.len() as u64;
            });
            self.report.read += len.count();
            assert_eq!(at, self.report.read, "what is readable is there");
            self.report.last_read = Some(now);
            self.next_read = now + pace.every;
        }
        self.report.clean_end = connection.at_end();
    }

    fn write(&mut self, now: Instant, connection: &mut Connection<Chunks>) {
        let Script { write: pace, key, bytes, .. } = self.script;
        while self.next_write <= now && self.may_write() && self.report.written < bytes {
            let at = self.report.written;
            // Most that is offered is not taken, and need not be made.
            let room = connection.writable().count().min(64 * 1024);
            let end = bytes.min(at.saturating_add(pace.chunk)).min(at + room);
            let piece: Vec<u8> = stream(key, at).take((end - at) as usize).collect();
            let taken = connection.write(Payload::Bytes(&piece)) as u64;
            if taken == 0 {
                break;
            }
            self.report.written += taken;
            self.next_write = now + pace.every;
        }
    }
}

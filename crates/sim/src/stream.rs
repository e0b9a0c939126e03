//! What uses a scenario's connections: it sends so many bytes as it is told to, reads whatever
//! comes at once, and tells its workload of what matters. No bytes are moved: streams are
//! [`Pattern`]s, which check that each piece arrives at its own offset.

use crate::host::{Application, SessionKey};
use crate::world::NodeId;
use bentpipe_core::tcp::buffer::{Pattern, Payload};
use bentpipe_core::tcp::connection::{Connection, ConnectionConfig, Event, State};
use bentpipe_core::time::Instant;
use bentpipe_core::units::{Bytes, Offset};
use bentpipe_results::LossCauses;

/// What a workload is told about one end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The connection exists: it was opened here, or a SYN has come.
    Begun,
    /// The handshake is complete.
    Connected,
    /// As many bytes as were expected have been read; so many in all.
    Received(u64),
    /// All that was to be sent has been acknowledged.
    Delivered,
    /// Fewer bytes than said wait to be sent for the first time.
    Room,
    /// The peer has closed its direction, and all before that has been read.
    PeerClosed,
    /// Both directions have ended in order.
    Closed,
    /// The peer has reset or refused the connection.
    Reset,
    /// The peer does not answer any more.
    TimedOut,
    /// The connection is gone; its end means nothing any more.
    Gone,
}

/// One end of a scenario's connection.
#[derive(Debug, Clone)]
pub struct Stream {
    /// Whose it is: the workload's number.
    pub(crate) owner: usize,
    /// The workload's own mark.
    pub(crate) tag: u64,
    /// Bytes still to be handed to the connection.
    pending: u64,
    /// Bytes handed to it.
    written: u64,
    /// Close after the last byte.
    closing: bool,
    /// Bytes read.
    read: u64,
    /// Tell when so many have been read.
    expected: Option<u64>,
    /// Tell when fewer bytes than this wait to be sent for the first time.
    room: Option<u64>,
    /// Tell when all has been acknowledged.
    watched: bool,
    begun: bool,
    connected: bool,
    ended: bool,
    gone: bool,
    last_read: Option<Instant>,
    /// What its sender has made of losses.
    pub(crate) causes: LossCauses,
    /// Whom this end has called: the node, and the connection's name there.
    pub(crate) callee: Option<(NodeId, SessionKey)>,
}

impl Stream {
    /// An end with nothing to do yet.
    pub fn new(owner: usize, tag: u64) -> Stream {
        Stream {
            owner,
            tag,
            pending: 0,
            written: 0,
            closing: false,
            read: 0,
            expected: None,
            room: None,
            watched: false,
            begun: false,
            connected: false,
            ended: false,
            gone: false,
            last_read: None,
            causes: LossCauses::default(),
            callee: None,
        }
    }

    /// Sends `bytes` more.
    pub fn send(&mut self, bytes: u64) {
        self.pending = self.pending.saturating_add(bytes);
        self.watched = true;
    }

    /// Tells when `bytes` in all have been read.
    pub fn expect(&mut self, bytes: u64) {
        self.expected = Some(bytes);
    }

    /// Tells when fewer than `bytes` wait to be sent for the first time.
    pub fn watch_room(&mut self, bytes: u64) {
        self.room = Some(bytes);
    }

    /// How many bytes wait to be sent for the first time.
    pub fn unsent(&self, connection: &Connection<Pattern>) -> u64 {
        // The SYN has the first number.
        let sent = connection.tcb().map_or(0, |tcb| tcb.sender.snd_nxt().get().saturating_sub(1));
        (self.written + self.pending).saturating_sub(sent)
    }

    /// Closes after what is still to be sent.
    pub fn close(&mut self) {
        self.closing = true;
    }

    /// Bytes read so far.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// When the last byte so far was read.
    pub fn last_read(&self) -> Option<Instant> {
        self.last_read
    }

    /// Bytes that the connection has taken so far.
    pub fn written(&self) -> u64 {
        self.written
    }
}

impl Application for Stream {
    type Buffer = Pattern;
    /// The workload's number, its mark, and what has happened.
    type Notice = (usize, u64, Notice);

    fn begin(&mut self, _now: Instant) {}

    fn act(
        &mut self,
        now: Instant,
        connection: &mut Connection<Pattern>,
        tell: &mut impl FnMut((usize, u64, Notice)),
    ) {
        let (owner, tag) = (self.owner, self.tag);
        let mut tell = |notice| tell((owner, tag, notice));
        if !self.begun {
            self.begun = true;
            tell(Notice::Begun);
        }
        let readable = connection.readable();
        if readable > Bytes::ZERO {
            self.read += connection.read(readable, |_| {}).count();
            self.last_read = Some(now);
        }
        if self.expected.is_some_and(|expected| self.read >= expected) {
            self.expected = None;
            tell(Notice::Received(self.read));
        }
        while let Some(event) = connection.poll_event() {
            tell(match event {
                Event::Connected => {
                    self.connected = true;
                    Notice::Connected
                }
                Event::PeerClosed => Notice::PeerClosed,
                Event::Reset => Notice::Reset,
                Event::TimedOut => Notice::TimedOut,
                Event::Closed => Notice::Closed,
                // A soft error: TCP goes on trying (RFC 9293, 3.9.2.2).
                Event::Unreachable => continue,
            });
        }
        if self.pending > 0 {
            let len = usize::try_from(self.pending).unwrap_or(usize::MAX);
            let start = 1 + self.written;
            let taken = connection.write(Payload::Pattern { start, len }) as u64;
            self.pending -= taken;
            self.written += taken;
        } else if self.watched
            && connection.tcb().is_some_and(|tcb| tcb.sender.snd_una() > Offset::new(self.written))
        {
            self.watched = false;
            tell(Notice::Delivered);
        }
        if self.room.is_some_and(|room| self.unsent(connection) < room) {
            self.room = None;
            tell(Notice::Room);
        }
        // CLOSE in SYN-SENT would delete the connection, unless its FIN goes with the SYN.
        let may_close = self.connected || connection.opens_with_data();
        if self.closing && may_close && self.pending == 0 && !self.ended {
            self.ended = true;
            connection.close();
        }
        if connection.state() == State::Closed && !self.gone {
            self.gone = true;
            tell(Notice::Gone);
        }
    }

    fn next(&self, _now: Instant) -> Option<Instant> {
        None
    }

    fn done(&self) -> bool {
        self.gone
    }

    fn on_causes(&mut self, causes: LossCauses) {
        self.causes = causes;
    }

    fn check(&self, connection: &Connection<Pattern>, _config: &ConnectionConfig) {
        if let Some(tcb) = connection.tcb() {
            debug_assert!(tcb.sender.cwnd() >= tcb.sender.smss(), "cwnd below one segment");
        }
    }
}

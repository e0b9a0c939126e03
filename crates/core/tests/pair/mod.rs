//! Two connections, a faulty channel, virtual time: one run, watched at every event.

mod channel;

pub(crate) use channel::Faults;

use bentpipe_core::snapshot::{Reader, Writer};
use bentpipe_core::tcp::buffer::{Buffer, Pattern, Payload};
use bentpipe_core::tcp::connection::{Connection, ConnectionConfig, Event, State};
use bentpipe_core::tcp::ecn::Ecn;
use bentpipe_core::tcp::sender::SenderConfig;
use bentpipe_core::tcp::tcb::Tcb;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Offset};
use bentpipe_core::wire::{Packet, SeqNum, Verify};
use channel::Channel;
use std::collections::BTreeMap;

/// When an application closes its direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Close {
    /// After its last byte.
    AtOnce,
    /// When the peer's direction has ended, too (the peer is half-closed until then).
    AfterPeer,
    /// Never: the connection stays open, idle.
    Never,
}

/// How an application reads or writes: at most `chunk` bytes at a time, one `every` so often
/// (zero: as soon as it can).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) chunk: u64,
    pub(crate) every: Duration,
}

impl Pace {
    pub(crate) const EAGER: Pace = Pace { chunk: u64::MAX, every: Duration::ZERO };
}

/// One end: a connection and its application.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    pub(crate) config: ConnectionConfig,
    pub(crate) isn: u32,
    /// How many bytes it writes.
    pub(crate) bytes: u64,
    pub(crate) write: Pace,
    pub(crate) read: Pace,
    pub(crate) close: Close,
}

/// A whole run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) seed: u64,
    pub(crate) faults: Faults,
    pub(crate) ends: [End; 2],
    /// All must be over by then.
    pub(crate) limit: Duration,
}

/// What came out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    /// When the last event happened.
    pub(crate) ended: Instant,
    /// Segments that each end sent, super-segments counted once.
    pub(crate) segments: [u64; 2],
}

#[derive(Debug)]
enum Happening {
    Arrival(usize, Vec<u8>),
    Write(usize),
    Read(usize),
}

struct Run<B> {
    setup: Setup,
    now: Instant,
    /// Keyed by moment and order of scheduling.
    event_queue: BTreeMap<(Instant, u64), Happening>,
    scheduled: u64,
    channel: Channel,
    connections: [Option<Connection<B>>; 2],
    written: [u64; 2],
    read: [u64; 2],
    closed: [bool; 2],
    segments: [u64; 2],
}

/// Runs `setup` to its end and panics when a property is violated.
pub(crate) fn run<B: Buffer>(setup: &Setup) -> Outcome {
    let mut run = Run::<B>::new(setup);
    while run.step() {}
    run.check_end();
    Outcome { ended: run.now, segments: run.segments }
}

impl<B: Buffer> Run<B> {
    fn new(setup: &Setup) -> Run<B> {
        let [active, _] = setup.ends;
        let now = Instant::ZERO;
        let mut run = Run {
            setup: *setup,
            now,
            event_queue: BTreeMap::new(),
            scheduled: 0,
            channel: Channel::new(setup.faults, setup.seed),
            connections: [Some(Connection::connect(now, active.config, SeqNum(active.isn))), None],
            written: [0; 2],
            read: [0; 2],
            closed: [false; 2],
            segments: [0; 2],
        };
        for side in 0..2 {
            run.schedule(now, Happening::Write(side));
            run.schedule(now, Happening::Read(side));
        }
        run
    }

    fn schedule(&mut self, at: Instant, happening: Happening) {
        self.event_queue.insert((at, self.scheduled), happening);
        self.scheduled += 1;
    }

    /// One event. False when nothing will ever happen again.
    fn step(&mut self) -> bool {
        let timer = self.connections.iter().flatten().filter_map(Connection::poll_timeout).min();
        let event = self.event_queue.first_key_value().map(|(&(at, _), _)| at);
        let Some(next) = timer.into_iter().chain(event).min() else { return false };
        assert!(next >= self.now, "time goes back");
        self.now = next;
        assert!(
            next <= Instant::ZERO + self.setup.limit,
            "not over at {next:?}: {:?}, written {:?}, read {:?}",
            self.states(),
            self.written,
            self.read
        );
        if event == Some(next) {
            let (_, happening) = self.event_queue.pop_first().expect("just seen");
            self.happen(happening);
        }
        for connection in self.connections.iter_mut().flatten() {
            if connection.poll_timeout().is_some_and(|at| at <= next) {
                connection.handle_timeout(next);
            }
        }
        self.settle();
        true
    }

    fn states(&self) -> [Option<State>; 2] {
        [0, 1].map(|side| self.connections[side].as_ref().map(Connection::state))
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Arrival(side, bytes) => self.arrive(side, &bytes),
            Happening::Write(side) => {
                let end = self.setup.ends[side];
                self.write(side, end.write.chunk);
                if self.written[side] < end.bytes && !end.write.every.is_zero() {
                    self.schedule(self.now + end.write.every, Happening::Write(side));
                }
            }
            Happening::Read(side) => {
                let (end, peer) = (self.setup.ends[side], self.setup.ends[1 - side]);
                self.read(side, end.read.chunk);
                if self.read[side] < peer.bytes && !end.read.every.is_zero() {
                    self.schedule(self.now + end.read.every, Happening::Read(side));
                }
            }
        }
    }

    fn arrive(&mut self, side: usize, bytes: &[u8]) {
        let packet = Packet::parse(bytes, Verify::Full).expect("the channel delivers whole ones");
        let end = &self.setup.ends[side];
        if self.connections[side].is_none() {
            self.connections[side] =
                Connection::accept(self.now, end.config, SeqNum(end.isn), &packet.tcp);
            return;
        }
        let connection = self.connections[side].as_mut().expect("just seen");
        if Ecn::of(packet.ip.traffic_class) == Ecn::Experienced {
            connection.mark_congestion_experienced();
        }
        connection.handle_segment(self.now, &packet.tcp, Payload::Bytes(packet.payload));
    }

    fn write(&mut self, side: usize, chunk: u64) {
        let end = &self.setup.ends[side];
        let Some(connection) = &mut self.connections[side] else { return };
        let offset = 1 + self.written[side];
        let len = chunk.min(end.bytes - self.written[side]).min(end.config.send_buffer.count());
        let bytes: Vec<u8> = (offset..offset + len).map(Pattern::byte).collect();
        self.written[side] += connection.write(Payload::Bytes(&bytes)) as u64;
    }

    fn read(&mut self, side: usize, chunk: u64) {
        let Some(connection) = &mut self.connections[side] else { return };
        let mut at = 1 + self.read[side];
        let len = connection.read(Bytes::new(chunk), |piece| match piece {
            Payload::Bytes(bytes) => {
                for byte in bytes {
                    assert_eq!(*byte, Pattern::byte(at), "byte {at} of end {side}");
                    at += 1;
                }
            }
            Payload::Pattern { start, len } => {
                assert_eq!(start, at, "read in order");
                at += len as u64;
            }
        });
        self.read[side] += len.count();
        assert_eq!(at, 1 + self.read[side], "what is readable is there");
    }

    /// Lets eager applications and both senders do all that they can do now, then checks.
    fn settle(&mut self) {
        for side in 0..2 {
            let end = self.setup.ends[side];
            if end.write.every.is_zero() {
                self.write(side, end.write.chunk);
            }
            if end.read.every.is_zero() {
                self.read(side, end.read.chunk);
            }
            self.close(side);
            self.transmit(side);
            self.watch(side);
        }
    }

    fn close(&mut self, side: usize) {
        let end = &self.setup.ends[side];
        let Some(connection) = &mut self.connections[side] else { return };
        let wants = match end.close {
            // CLOSE in SYN-SENT would delete the connection.
            Close::AtOnce => connection.tcb().is_some(),
            Close::AfterPeer => connection.at_end(),
            Close::Never => false,
        };
        if wants && !self.closed[side] && self.written[side] == end.bytes {
            connection.close();
            self.closed[side] = true;
        }
    }

    fn transmit(&mut self, side: usize) {
        let Some(mut connection) = self.connections[side].take() else { return };
        let mut burst = 0;
        while let Ok(out) = connection.poll_transmit(self.now) {
            let mut payload = Vec::new();
            connection.payload(out.data.clone(), |piece| match piece {
                Payload::Bytes(bytes) => payload.extend_from_slice(bytes),
                Payload::Pattern { start, len } => {
                    payload.extend((start..start + len as u64).map(Pattern::byte));
                }
            });
            assert_eq!(
                payload.len() as u64,
                (out.data.end - out.data.start).count(),
                "bytes are there"
            );
            let smss = connection.tcb().map_or(536, |tcb| tcb.sender.smss().count()) as usize;
            let mut arrivals = Vec::new();
            self.channel.send(self.now, (&out.tcp, out.ecn), &payload, smss, |at, bytes| {
                arrivals.push((at, bytes));
            });
            for (at, bytes) in arrivals {
                self.schedule(at, Happening::Arrival(1 - side, bytes));
            }
            burst += 1;
            assert!(burst < 20_000, "sends without end at {:?}", self.now);
        }
        self.segments[side] += burst;
        self.connections[side] = Some(connection);
    }

    /// The properties that hold after every event.
    fn watch(&mut self, side: usize) {
        let (now, end) = (self.now, &self.setup.ends[side]);
        let peer = self.connections[1 - side].as_ref();
        let Some(connection) = &self.connections[side] else { return };
        if let Some(at) = connection.poll_timeout() {
            assert!(at > now, "a deadline in the past: {at:?} at {now:?}");
        }
        let Some(tcb) = connection.tcb() else { return };
        let (sender, receiver) = (&tcb.sender, &tcb.receiver);
        assert!(sender.cwnd() >= sender.smss(), "cwnd {} below one segment", sender.cwnd());
        if let Some(peer) = peer.and_then(Connection::tcb) {
            let rcv_adv = peer.receiver.rcv_adv();
            assert!(sender.snd_nxt() <= rcv_adv, "{} over {rcv_adv}", sender.snd_nxt());
        }
        let unit = end.config.window_scale.map_or(1, |shift| 1 << shift);
        let buffer = connection.receive_buffer();
        let room = Offset::new(self.read[side]) + buffer + Bytes::new(unit);
        assert!(receiver.rcv_adv() <= room, "promised {} of {room}", receiver.rcv_adv());
        let held = connection.readable() + receiver.out_of_order().covered();
        assert!(held < buffer + Bytes::new(unit), "holds {held}");
        if self.scheduled.is_multiple_of(16) && sender.in_flight() < 20 * sender.smss() {
            check_snapshot(tcb);
        }
    }

    /// The properties of a run that has ended by itself: no timer runs, nothing is under way.
    fn check_end(&mut self) {
        for side in 0..2 {
            let (end, peer) = (&self.setup.ends[side], &self.setup.ends[1 - side]);
            assert_eq!(self.written[side], end.bytes, "all is written, {:?}", self.states());
            assert_eq!(self.read[side], peer.bytes, "all is read, {:?}", self.states());
            let connection = self.connections[side].as_mut().expect("opened");
            let both = end.close != Close::Never && peer.close != Close::Never;
            if both {
                assert_eq!(connection.state(), State::Closed);
            }
            let events: Vec<Event> = std::iter::from_fn(|| connection.poll_event()).collect();
            let ends = if both { vec![Event::PeerClosed, Event::Closed] } else { vec![] };
            let expected: Vec<Event> = std::iter::once(Event::Connected).chain(ends).collect();
            if both || peer.close == Close::Never {
                assert_eq!(events, expected, "end {side}");
            }
        }
    }
}

/// Restored from its snapshot, it is what it was.
fn check_snapshot(tcb: &Tcb) {
    let (common, mut writer) = (SenderConfig::default(), Writer::default());
    if tcb.snapshot(&common, &mut writer) {
        let bytes = writer.finish();
        let restored = Tcb::restore(&mut Reader::new(&bytes), &common);
        assert_eq!(format!("{restored:?}"), format!("{tcb:?}"));
    }
}

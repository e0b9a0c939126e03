//! Connections that are left unsplit as a sample, and measured as they pass.
//!
//! Their segments are only counted: nothing that one says, true or forged, has another effect.

use crate::Side;
use crate::benefit::{Manner, Progress, Transfer};
use crate::key::{Endpoint, FlowKey};
use crate::leg::{Leg, PerLeg};
use crate::segment::Segment;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Offset};
use bentpipe_core::wire::{Flags, SeqNum, TcpHeader};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Add;

/// The most that are measured at once: some 2 MB. Those that come then are split.
const MAX: usize = 4096;
/// One that has been silent for so long has ended.
const SILENCE: Duration = Duration::from_secs(600);
/// How often the table is looked through for these.
const SWEEP: Duration = Duration::from_secs(30);
/// No window is larger (RFC 7323, 2.3): what lies further ahead is forged.
const AHEAD: Bytes = Bytes::new(1 << 30);
/// What a host takes that does not say (RFC 9293, 3.7.1).
const DEFAULT_MSS: u16 = 536;
/// Timestamps, with their padding.
const TIMESTAMPS: u16 = 12;

/// One direction.
#[derive(Debug, Clone, Copy, Default)]
struct Stream {
    isn: SeqNum,
    /// One past the last offset that has passed, FIN included.
    next: Offset,
    acked: Offset,
    /// Payload below it ends with a FIN.
    end: Option<Offset>,
    /// Rounds with segments below what had passed: retransmitted, or behind a loss.
    lossy_rounds: u64,
    /// When the last of them is over.
    round_ends: Instant,
}

impl Stream {
    fn of(tcp: &TcpHeader) -> Stream {
        Stream { isn: tcp.seq, next: Offset::FIRST, acked: Offset::FIRST, ..Stream::default() }
    }

    fn payload(&self) -> u64 {
        let acked = self.end.map_or(self.acked, |end| end.min(self.acked));
        acked.saturating_sub(Offset::FIRST).count()
    }

    fn is_over(&self) -> bool {
        self.end.is_some_and(|end| self.acked > end)
    }
}

/// A connection of the sample.
#[derive(Debug)]
struct Sampled {
    client: Endpoint,
    port: u16,
    /// Its client before NAT.
    opener: IpAddr,
    from: Side,
    began: Instant,
    heard: Instant,
    progress: Progress,
    streams: PerLeg<Stream>,
    /// When the SYN and the SYN-ACK passed, if they did once.
    passed: PerLeg<Option<Instant>>,
    round_trips: PerLeg<Option<Duration>>,
    is_answered: bool,
    mss: u16,
}

impl Sampled {
    fn new(now: Instant, syn: &Segment<'_>, opener: IpAddr) -> Sampled {
        Sampled {
            client: (syn.ip.src, syn.tcp.src_port),
            port: syn.tcp.dst_port,
            opener,
            from: syn.from,
            began: now,
            heard: now,
            progress: Progress::default(),
            streams: PerLeg::new(Stream::of(syn.tcp), Stream::default()),
            passed: PerLeg::new(Some(now), None),
            round_trips: PerLeg::default(),
            is_answered: false,
            mss: mss_of(syn.tcp),
        }
    }

    /// Reads a segment. Whether the connection is over.
    fn read(&mut self, now: Instant, segment: &Segment<'_>) -> bool {
        let Segment { ip, tcp, payload, .. } = *segment;
        let leg = if (ip.src, tcp.src_port) == self.client { Leg::Client } else { Leg::Server };
        self.heard = now;
        if tcp.has(Flags::RST) {
            return true;
        }
        if tcp.has(Flags::SYN) {
            self.on_synack(now, leg, tcp);
            return false;
        }
        if !self.is_answered || !tcp.has(Flags::ACK) {
            return false;
        }
        if leg == Leg::Client && self.round_trips[leg].is_none() {
            self.round_trips[leg] =
                self.passed[Leg::Server].take().map(|at| now.saturating_since(at));
        }
        let outstanding = self.streams.iter().any(|stream| stream.acked < stream.next);
        let came = self.on_data(now, leg, tcp, Bytes::of_len(payload.len()));
        let delivered = self.on_ack(leg.other(), tcp.ack);
        if came || delivered {
            self.progress.note(now, self.began, outstanding);
        }
        self.streams.iter().all(Stream::is_over)
    }

    fn on_synack(&mut self, now: Instant, leg: Leg, tcp: &TcpHeader) {
        let answers = tcp.ack == self.streams[Leg::Client].isn + 1;
        if leg != Leg::Server || !tcp.has(Flags::ACK) || !answers {
            return;
        }
        if self.is_answered {
            self.passed[Leg::Server] = None;
            return;
        }
        self.is_answered = true;
        self.streams[leg] = Stream::of(tcp);
        self.mss = self.mss.min(mss_of(tcp));
        self.round_trips[leg] = self.passed[Leg::Client].map(|at| now.saturating_since(at));
        self.passed[leg] = Some(now);
    }

    /// Whether new payload has come.
    fn on_data(&mut self, now: Instant, leg: Leg, tcp: &TcpHeader, length: Bytes) -> bool {
        let round = self.round_trips.iter().flatten().copied().fold(Duration::ZERO, Add::add);
        let stream = &mut self.streams[leg];
        let Some(start) = tcp.seq.offset_near(stream.isn, stream.next) else { return false };
        let end = start + length;
        if start < Offset::FIRST || start > stream.next + AHEAD {
            return false;
        }
        // Slow start's overshoot is lost at once, and costs one reduction. The model draws single
        // losses, so one a round is counted.
        if !length.is_zero() && start < stream.next && now >= stream.round_ends {
            stream.lossy_rounds += 1;
            stream.round_ends = now + round;
        }
        let is_new = !length.is_zero() && end > stream.next;
        stream.next = stream.next.max(end);
        if tcp.has(Flags::FIN) {
            stream.end = Some(end);
            stream.next = stream.next.max(end.next());
        }
        is_new
    }

    /// Whether payload of the stream from the host of `leg` was acknowledged.
    fn on_ack(&mut self, leg: Leg, ack: SeqNum) -> bool {
        let stream = &mut self.streams[leg];
        let Some(ack) = ack.offset_near(stream.isn, stream.acked) else { return false };
        if ack <= stream.acked || ack > stream.next {
            return false;
        }
        let before = stream.payload();
        stream.acked = ack;
        stream.payload() > before
    }

    fn transfer(&self) -> Option<Transfer> {
        let sides = PerLeg::new(self.from, self.from.other());
        let by_side = |side| if sides[Leg::Client] == side { Leg::Client } else { Leg::Server };
        let [lan, satellite] = [Side::Lan, Side::Satellite].map(by_side);
        let bytes = [Leg::Client, Leg::Server].map(|leg| self.streams[leg].payload());
        let larger = if bytes[0] > bytes[1] { Leg::Client } else { Leg::Server };
        Some(Transfer {
            manner: Manner::Sample,
            client: self.opener,
            port: self.port,
            bytes,
            took: self.progress.took()?,
            round_trips: [lan, satellite].map(|leg| self.round_trips[leg]),
            retransmitted: [0; 2],
            lost: self.streams[larger].lossy_rounds,
            mss: Bytes::from(self.mss),
        })
    }
}

/// The payload of a segment to the host of this SYN.
fn mss_of(tcp: &TcpHeader) -> u16 {
    let stamps = if tcp.options.timestamps.is_some() { TIMESTAMPS } else { 0 };
    tcp.options.mss.unwrap_or(DEFAULT_MSS).saturating_sub(stamps).max(1)
}

/// The table of the sample.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    connections: BTreeMap<FlowKey, Box<Sampled>>,
    sweep_at: Instant,
    ended: Vec<Transfer>,
}

impl Samples {
    /// Whether this connection is measured.
    pub(crate) fn contains(&self, key: &FlowKey) -> bool {
        self.connections.contains_key(key)
    }

    /// A SYN of `opener` is forwarded, and its connection measured. False if there is no room.
    pub(crate) fn begin(&mut self, now: Instant, syn: &Segment<'_>, opener: IpAddr) -> bool {
        let key = FlowKey::of(syn.ip, syn.tcp);
        if self.sweep_at <= now {
            self.sweep(now);
        }
        match self.connections.get_mut(&key) {
            Some(known) if known.streams[Leg::Client].isn == syn.tcp.seq => {
                // Whichever copy is answered: the time says nothing.
                known.passed[Leg::Client] = None;
                return true;
            }
            Some(_) => self.end(&key),
            None => {}
        }
        if self.connections.len() >= MAX {
            return false;
        }
        self.connections.insert(key, Box::new(Sampled::new(now, syn, opener)));
        true
    }

    /// Reads a segment that is forwarded. Whether its connection is measured.
    pub(crate) fn read(&mut self, now: Instant, segment: &Segment<'_>) -> bool {
        if self.connections.is_empty() {
            return false;
        }
        let key = FlowKey::of(segment.ip, segment.tcp);
        let Some(known) = self.connections.get_mut(&key) else { return false };
        if known.read(now, segment) {
            self.end(&key);
        }
        true
    }

    /// The next one that has ended.
    pub(crate) fn poll_ended(&mut self) -> Option<Transfer> {
        self.ended.pop()
    }

    fn end(&mut self, key: &FlowKey) {
        let transfer = self.connections.remove(key).and_then(|known| known.transfer());
        self.ended.extend(transfer);
    }

    fn sweep(&mut self, now: Instant) {
        self.sweep_at = now + SWEEP;
        let silent = self.connections.iter().filter(|(_, it)| it.heard + SILENCE <= now);
        let silent: Vec<FlowKey> = silent.map(|(key, _)| *key).collect();
        silent.iter().for_each(|key| self.end(key));
    }
}

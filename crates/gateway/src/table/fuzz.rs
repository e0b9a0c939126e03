//! Arbitrary segments and ICMP errors at arbitrary times through a gateway: its sums stay right, no
//! timer spins, what it sends is complete and fits into a packet, and memory stays within its pool.
//!
//! See crates/core/tests/fuzz for how such targets are run. This one is within the crate because
//! it looks at the sums.

use super::awaiting_ack::AdmissionState;
use super::flow::Flow;
use super::pool::Account;
use super::{Disposition, Gateway, Transmit};
use crate::observe::Reason;
use crate::{AddOptions, Config, FinMode, Handshake, Side};
use bentpipe_core::tcp::buffer::{Buffer, Chunks, Payload};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Offset, Rate};
use bentpipe_core::wire::{
    Flags, IcmpError, IcmpErrorKind, IpHeader, Quoted, SackBlock, SeqNum, TcpHeader, TcpOptions,
    Timestamps,
};
use bolero::TypeGenerator;
use std::net::IpAddr;

/// How long `cargo test` spends here.
const BUDGET: Duration = Duration::from_secs(3);

/// By side: a client on the LAN, a server behind the satellite.
const ISN: [SeqNum; 2] = [SeqNum(1_000), SeqNum(u32::MAX - 10)];

/// What of the gateway's parameters differs from run to run.
#[derive(Debug, Clone, TypeGenerator)]
struct Setup {
    /// The pool's size as a power of two above 64 KiB. From 128 on, flows rest whenever they can.
    memory: u8,
    always_add: bool,
    short_idle: bool,
    known_link: bool,
    super_segments: bool,
    downstream_first: bool,
    immediate_fin: bool,
    syn: Options,
    synack: Options,
    timestamps: bool,
    /// The connection is split in mid-life.
    adopt_after: Option<u8>,
}

/// Options of a SYN or SYN-ACK.
#[derive(Debug, Clone, TypeGenerator)]
struct Options {
    mss: Option<u16>,
    shift: Option<u8>,
    sack: bool,
    announced: Option<u8>,
}

/// A number near one that matters.
#[derive(Debug, Clone, Copy, TypeGenerator)]
enum Near {
    Exactly,
    Exact,
    Below(u16),
    Above(u16),
    Anywhere(u32),
}

impl Near {
    fn of(self, at: u64) -> u64 {
        match self {
            Near::Exactly | Near::Exact => at,
            Near::Below(by) => at.saturating_sub(u64::from(by)),
            Near::Above(by) => at + u64::from(by),
            Near::Anywhere(any) => at + u64::from(any),
        }
    }
}

/// A segment of either host, and the time until the next one.
#[derive(Debug, Clone, TypeGenerator)]
struct Segment {
    from_lan: bool,
    flags: u8,
    seq: Near,
    ack: Near,
    window: u16,
    len: u16,
    sack: Vec<(Near, u16)>,
    /// Instead of one that follows the last.
    timestamp: Option<u32>,
    then_wait: Option<u16>,
    /// Then a router says that what was sent to the host was longer than so much.
    too_big: Option<(Near, u16)>,
}

impl Segment {
    /// An acknowledgment in most cases, so that sequences get far.
    fn flags(&self) -> Flags {
        match self.flags {
            0..220 => Flags::ACK,
            220..235 => Flags::ACK | Flags::FIN,
            235..238 => Flags::RST | Flags::ACK,
            238..240 => Flags::RST,
            240..244 => Flags::SYN,
            244..248 => Flags::SYN | Flags::ACK,
            any => Flags(any.rotate_left(3)),
        }
    }
}

#[test]
fn hostile_segments() {
    bolero::check!(name = "hostile_segments")
        .with_test_time(BUDGET)
        .with_max_len(4096)
        .with_type::<(Setup, Vec<Segment>)>()
        .for_each(|(setup, segments)| Run::new(setup).play(setup, segments));
}

struct Run {
    gateway: Gateway<Chunks>,
    now: Instant,
    /// By side: the next offset that the host sends.
    next: [u64; 2],
    /// By side: the highest offset that the host has been sent.
    seen: [u64; 2],
    /// TSval of either host, if there are timestamps.
    timestamp: Option<u32>,
}

impl Run {
    fn new(setup: &Setup) -> Run {
        let mut config = Config {
            memory: Bytes::new(1 << (16 + setup.memory % 10)),
            super_segments: setup.super_segments,
            ..Config::default()
        };
        if setup.memory >= 128 {
            config.hibernate_after = Duration::ZERO;
        }
        if setup.always_add {
            config.add_options = AddOptions::Always;
        }
        if setup.downstream_first {
            config.handshake = Handshake::DownstreamFirst;
        }
        if setup.immediate_fin {
            config.fin = FinMode::Immediate;
        }
        if setup.short_idle {
            config.idle_timeout = Duration::from_secs(5);
        }
        if setup.known_link {
            config.satellite.rate = Some(Rate::from_bits_per_sec(8_000_000));
            config.satellite.round_trip = Some(Duration::from_millis(500));
        }
        config.adopt_after = setup.adopt_after.map(|bytes| Bytes::new(u64::from(bytes) + 1));
        let timestamp = setup.timestamps.then_some(500);
        let gateway = Gateway::new(config);
        Run { gateway, now: Instant::ZERO, next: [1; 2], seen: [1; 2], timestamp }
    }

    fn play(mut self, setup: &Setup, segments: &[Segment]) {
        for (from, flags) in [
            (Side::Lan, Flags::SYN),
            (Side::Satellite, Flags::SYN | Flags::ACK),
            (Side::Lan, Flags::ACK),
        ] {
            let options = if from == Side::Lan { &setup.syn } else { &setup.synack };
            let opened = u64::from(flags == Flags::ACK);
            let acked = u64::from(flags.contains(Flags::ACK));
            let mut tcp = self.header(from, opened, acked, flags);
            if opened == 0 {
                tcp.options.mss = options.mss;
                tcp.options.window_scale = options.shift.map(|shift| shift.min(14));
                tcp.options.sack_permitted = options.sack;
                if let Some(byte) = options.announced {
                    tcp.options.add_experiment(0x6270, &[byte]);
                }
            }
            self.give(from, &tcp, b"");
        }
        let zeros = vec![7; usize::from(u16::MAX)];
        for segment in segments.iter().take(150) {
            let from = if segment.from_lan { Side::Lan } else { Side::Satellite };
            let (next, seen) = (self.next[from as usize], self.seen[from as usize]);
            let seq = segment.seq.of(next);
            let mut tcp = self.header(from, seq, segment.ack.of(seen), segment.flags());
            tcp.window = segment.window;
            if let (Some(value), Some(ts)) = (segment.timestamp, &mut tcp.options.timestamps) {
                ts.value = value;
            }
            for (left, len) in segment.sack.iter().take(3) {
                let left = ISN[from.other() as usize] + left.of(seen);
                tcp.options.sack.push(SackBlock { left, right: left + u64::from(*len) });
            }
            // A super-segment with its headers fits into an IP packet.
            let len = usize::from(segment.len).min(64_000);
            self.give(from, &tcp, &zeros[..len]);
            if seq == next {
                self.next[from as usize] += len as u64;
            }
            if let Some((below, mtu)) = segment.too_big {
                let seen = self.seen[from as usize];
                self.complain(from, seen.saturating_sub(below.of(1)), mtu);
            }
            if let Some(millis) = segment.then_wait {
                self.wait(Duration::from_millis(u64::from(millis)));
            }
        }
        self.wait(Duration::from_secs(3 * 7200));
    }

    /// A segment of the host on `from`, at offsets of the streams.
    fn header(&mut self, from: Side, seq: u64, ack: u64, flags: Flags) -> TcpHeader {
        let (src_port, dst_port) = if from == Side::Lan { (4000, 80) } else { (80, 4000) };
        let timestamps = self.timestamp.as_mut().map(|value| {
            *value += 1;
            Timestamps { value: *value, echo: 0 }
        });
        TcpHeader {
            src_port,
            dst_port,
            seq: ISN[from as usize] + seq,
            ack: ISN[from.other() as usize] + ack,
            flags,
            window: 60_000,
            options: TcpOptions { timestamps, ..TcpOptions::default() },
            ..TcpHeader::default()
        }
    }

    fn give(&mut self, from: Side, tcp: &TcpHeader, payload: &[u8]) {
        let (src, dst) = addresses(from);
        let ip = IpHeader { hop_limit: 60, ..IpHeader::between(src, dst) };
        let payload = Payload::Bytes(payload);
        let fate = self.gateway.handle_packet(self.now, from, &ip, tcp, payload);
        let host = from.other() as usize;
        let at = tcp.seq.offset_near(ISN[from as usize], Offset::new(self.seen[host]));
        if let Some(at) = at.filter(|_| matches!(fate, Disposition::Forward(Reason::Short))) {
            // The other host gets it as it is.
            self.seen[host] = self.seen[host].max((at + Bytes::of_len(payload.len())).get());
        }
        self.drain();
    }

    /// An ICMP error from `side` about the segment at `offset` to the host there.
    fn complain(&mut self, side: Side, offset: u64, mtu: u16) {
        let (dst, src) = addresses(side);
        let (src_port, dst_port) = if side == Side::Lan { (80, 4000) } else { (4000, 80) };
        let seq = ISN[side.other() as usize] + offset;
        let quoted = Quoted { src, dst, src_port, dst_port, seq, wire_len: usize::from(mtu) * 2 };
        let kind = IcmpErrorKind::PacketTooBig { mtu: u32::from(mtu) };
        self.gateway.handle_icmp(self.now, side, &IcmpError { kind, quoted }, 100);
        self.drain();
    }

    /// Sends all that is to be sent now, and says how many segments that was.
    fn drain(&mut self) -> u32 {
        let mut count = 0;
        while let Some(sent) = self.gateway.poll_transmit(self.now) {
            self.check_transmit(&sent);
            count += 1;
            assert!(count < 10_000, "sends without end");
        }
        self.gateway.check_sums();
        let held = |flow: &Flow<Chunks>| flow.spliced().map_or(0, |it| it.splice().held());
        let held: usize = self.gateway.flows.iter().map(|(_, flow)| held(flow)).sum();
        assert_eq!(held, self.gateway.held() - self.gateway.candidates.held());
        assert_eq!(self.gateway.summary.panicked, 0);
        count
    }

    /// Lets time pass, timer by timer. A window of tiny segments that a known link paces takes a
    /// turn for each, so what sends does not count as spinning.
    fn wait(&mut self, span: Duration) {
        let (end, mut turns, mut idle) = (self.now + span, 0, 0);
        while let Some(at) = self.gateway.poll_timeout().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.gateway.handle_timeout(self.now);
            turns += 1;
            idle += u32::from(self.drain() == 0);
            assert!(turns < 200_000 && idle < 10_000, "a timer spins at {:?}", self.now);
        }
        self.now = end;
    }

    fn check_transmit(&mut self, sent: &Transmit) {
        let mut len = 0;
        self.gateway.payload(sent, |piece| len += piece.len());
        assert_eq!(len, sent.payload_len(), "the payload is there");
        assert!(sent.tcp.options.fits());
        assert!(sent.ip.wire_len() + sent.tcp.wire_len() + len <= 65_535, "{sent:?}");
        assert!(sent.gso_size.is_none_or(|size| len > usize::from(size)), "{sent:?}");
        let host = sent.to as usize;
        let at =
            sent.tcp.seq.offset_near(ISN[sent.to.other() as usize], Offset::new(self.seen[host]));
        if let Some(at) = at.filter(|_| !sent.tcp.has(Flags::RST)) {
            let fin = u64::from(sent.tcp.has(Flags::FIN));
            self.seen[host] =
                self.seen[host].max((at + Bytes::of_len(len) + Bytes::new(fin)).get());
        }
    }
}

impl<B: Buffer> Gateway<B> {
    /// What is kept as sums agrees with what it sums up; after all has been sent.
    pub(crate) fn check_sums(&self) {
        let mut account = Account::default();
        self.flows.iter().for_each(|(_, flow)| account.add(&flow.account));
        assert_eq!(account, self.account);
        let with_share = self.flows.iter().filter(|(_, flow)| flow.has_share()).count();
        assert_eq!(with_share, self.with_share);
        let (held, charged) = (account.held(), account.charged());
        assert_eq!(self.table.len(), self.flows.len());
        assert_eq!(self.timers.len(), self.flows.len());
        assert_eq!(self.clients.total(), self.flows.len() + self.half_open.len());
        let waits = |flow: &Flow<B>| flow.standing != AdmissionState::Settled;
        let unanswered = self.flows.iter().filter(|(_, flow)| waits(flow)).count();
        assert_eq!(self.awaiting_ack.len(), unanswered);
        assert!(self.ready.is_empty() && self.relays.is_empty());
        let pool = self.config.memory.count() as usize;
        let copies = self.candidates.check_sums();
        assert!(held <= charged && charged + copies <= pool, "{charged}, {copies} of {pool}");
    }
}

/// Source and destination of what the host on `from` sends.
fn addresses(from: Side) -> (IpAddr, IpAddr) {
    let (client, server) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 9, 9, 9]));
    if from == Side::Lan { (client, server) } else { (server, client) }
}

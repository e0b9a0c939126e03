//! One connection that is forwarded, and may be split in mid-life.

use super::copied::Copied;
use super::direction::Direction;
use super::recalled::Recalled;
use super::stage::{Fits, Reading, Stage};
use crate::Side;
use crate::handshake::{Added, Completed, LegHandshake, PassedSyn, SessionRecord};
use crate::key::Endpoint;
use crate::leg::{Leg, PerLeg};
use crate::segment::Segment;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Offset};
use bentpipe_core::wire::{Flags, TcpHeader};

/// No connection becomes as long.
const NEVER: Bytes = Bytes::new(u64::MAX);

/// What is known of the connection.
#[derive(Debug)]
pub(super) struct Candidate<B> {
    pub(super) client: Endpoint,
    server: Endpoint,
    from: Side,
    stage: Stage,
    /// By the host that sends them.
    streams: PerLeg<Direction>,
    /// When the first SYN came.
    began: Instant,
    /// When something was heard last.
    heard: Instant,
    /// When the SYN and the SYN-ACK passed, if no other copy did.
    passed: PerLeg<Option<Instant>>,
    /// The round trips of the handshake, to the hosts of the legs.
    rtts: PerLeg<Option<Duration>>,
    /// It is to be split once so much is acknowledged of both streams together.
    after: Bytes,
    /// What passes, from then on.
    copies: Option<Box<(Instant, PerLeg<Copied<B>>)>>,
    /// What is known besides if its handshake did not pass here.
    recalled: Option<Box<Recalled>>,
}

/// A connection that is split from now on, with the bytes that are not acknowledged.
#[derive(Debug)]
pub(crate) struct Adopted<B> {
    pub(crate) ends: PerLeg<Endpoint>,
    pub(crate) began: Instant,
    pub(crate) completed: Completed,
    pub(crate) streams: PerLeg<B>,
    /// Payload that was delivered without us.
    pub(crate) before: Bytes,
}

impl<B: Buffer> Candidate<B> {
    /// Of a SYN that is forwarded. None if it has options that we do not know.
    pub(super) fn new(now: Instant, segment: &Segment<'_>, after: Bytes) -> Option<Candidate<B>> {
        let Segment { from, ip, tcp, .. } = *segment;
        let stream = Direction::new(PassedSyn::of(tcp)?, stamp(tcp), ip);
        Some(Candidate {
            client: (ip.src, tcp.src_port),
            server: (ip.dst, tcp.dst_port),
            from,
            stage: Stage::Asked,
            streams: PerLeg::new(stream, Direction::default()),
            began: now,
            heard: now,
            passed: PerLeg::new(Some(now), None),
            rtts: PerLeg::default(),
            after,
            copies: None,
            recalled: None,
        })
    }

    /// Of a connection in mid-life whose handshake was recorded, and which was heard last at
    /// `heard`.
    pub(super) fn recalled(heard: Instant, record: &SessionRecord, after: Bytes) -> Candidate<B> {
        let SessionRecord { ends, from, traffic_class, syns, next, .. } = *record;
        Candidate {
            client: ends[Leg::Client],
            server: ends[Leg::Server],
            from,
            stage: Stage::Recalled,
            streams: syns.map(|syn| Direction::recalled(syn, traffic_class)),
            began: heard,
            heard,
            passed: PerLeg::default(),
            rtts: PerLeg::default(),
            after,
            copies: None,
            recalled: Some(Box::new(Recalled::new(next))),
        }
    }

    /// What the next gateway is to know of it. None if its handshake is not complete.
    pub(super) fn record(&self) -> Option<SessionRecord> {
        let next = match (self.stage, self.recalled.as_deref()) {
            (Stage::Asked | Stage::Answered, _) => return None,
            (Stage::Recalled, Some(recalled)) => recalled.next(),
            _ => PerLeg::of(|leg| self.streams[leg].next),
        };
        Some(SessionRecord {
            ends: PerLeg::new(self.client, self.server),
            from: self.from,
            traffic_class: self.streams[Leg::Client].traffic_class(),
            syns: PerLeg::of(|leg| self.streams[leg].syn),
            next,
        })
    }

    /// It is not to be split by us: only [recorded](Candidate::record).
    pub(super) fn retire(&mut self) {
        (self.copies, self.after) = (None, NEVER);
    }

    /// Whether `syn` asks for another connection than this one.
    pub(super) fn is_over_by(&self, syn: &Segment<'_>) -> bool {
        self.recalled.is_some() || self.streams[Leg::Client].syn.isn() != syn.tcp.seq
    }

    /// When something was heard last.
    pub(super) fn heard(&self) -> Instant {
        self.heard
    }

    /// Whether its handshake is complete.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Open | Stage::Recalled)
    }

    /// Since when what passes is copied, if it is.
    pub(super) fn copied_since(&self) -> Option<Instant> {
        self.copies.as_deref().map(|(since, _)| *since)
    }

    /// Memory that its copies take, in bytes.
    pub(super) fn held(&self) -> usize {
        let held = |copies: &(Instant, PerLeg<Copied<B>>)| -> usize {
            copies.1.iter().map(|copy| copy.bytes.held()).sum()
        };
        self.copies.as_deref().map_or(0, held)
    }

    /// Its copies are given up. It is tried again when it has proved twice as long.
    pub(super) fn put_off(&mut self) {
        self.copies = None;
        self.after = self.delivered().saturating_mul(2).max(self.after);
    }

    /// The same SYN again. Whether it remains a candidate.
    pub(super) fn on_syn(&mut self, now: Instant, segment: &Segment<'_>) -> bool {
        let Segment { from, ip, tcp, .. } = *segment;
        let ours = (ip.src, tcp.src_port) == self.client && from == self.from;
        let stream = &mut self.streams[Leg::Client];
        let both = PassedSyn::of(tcp).and_then(|copy| stream.syn.or(copy));
        let Some(both) = both.filter(|_| ours) else { return false };
        if self.stage == Stage::Asked {
            *stream = Direction::new(both, stamp(tcp), ip);
            self.passed[Leg::Client] = None;
            self.heard = now;
        } else {
            self.streams[Leg::Server].allowed_by(both);
        }
        true
    }

    /// Reads a segment without SYN, or a SYN-ACK, which is forwarded. Copies may take `free` bytes
    /// more.
    pub(super) fn read(&mut self, now: Instant, segment: &Segment<'_>, free: usize) -> Reading {
        let Segment { from, ip, tcp, .. } = *segment;
        let leg = if (ip.src, tcp.src_port) == self.client { Leg::Client } else { Leg::Server };
        let side = if leg == Leg::Client { self.from } else { self.from.other() };
        if !tcp.has(Flags::SYN) && segment.is_doubtful(self.streams[leg].hop_limit()) {
            // Its receiver may have other bytes in the place of these.
            return Reading::Remains;
        }
        // It goes around us, or is nearly over. A forgery has the same effect: it is not split.
        let ends = Flags::RST.0 | Flags::FIN.0 | Flags::URG.0;
        if from != side || tcp.flags.0 & ends != 0 {
            return Reading::Over;
        }
        if tcp.has(Flags::SYN) {
            return self.on_synack(now, leg, segment);
        }
        let fits = match self.stage {
            Stage::Asked => Fits::Not,
            Stage::Recalled => {
                self.resume(now, leg, segment);
                Fits::Not
            }
            _ => self.note(now, leg, segment),
        };
        match fits {
            Fits::Not if self.is_contradicted(leg, segment) => {
                // What it has gone by is wrong, or this is. Both hosts are to show it again.
                self.copies = None;
                self.stage = Stage::Recalled;
                return Reading::Remains;
            }
            Fits::Not => return Reading::Remains,
            Fits::Ahead => return Reading::Over,
            Fits::Yes => {}
        }
        if self.stage == Stage::Answered {
            if leg == Leg::Server {
                return Reading::Remains;
            }
            self.stage = Stage::Open;
            self.rtts[Leg::Client] = self.passed[Leg::Server].map(|at| now.saturating_since(at));
        }
        self.copy(now, leg, segment, free)
    }

    fn on_synack(&mut self, now: Instant, leg: Leg, segment: &Segment<'_>) -> Reading {
        let Segment { ip, tcp, payload, .. } = *segment;
        let syn = self.streams[Leg::Client].syn;
        let plain = leg == Leg::Server && tcp.has(Flags::ACK) && payload.is_empty();
        let Some(synack) = PassedSyn::of(tcp).filter(|_| plain && tcp.ack == syn.isn() + 1) else {
            return Reading::Over;
        };
        let again = self.stage != Stage::Asked;
        if again && self.streams[Leg::Server].syn.is_repeated_by(synack) {
            self.passed[Leg::Server] = None;
            self.streams[Leg::Client].allowed_by(synack);
            return Reading::Remains;
        }
        if again || !synack.answers(syn) {
            return Reading::Over;
        }
        self.stage = Stage::Answered;
        self.heard = now;
        self.streams[Leg::Server] = Direction::new(synack, stamp(tcp), ip);
        // The windows of SYNs are not scaled (RFC 7323, 2.2).
        self.streams[Leg::Server].acknowledged(Offset::FIRST, Bytes::from(syn.window()));
        self.streams[Leg::Server].allowed_by(syn);
        self.streams[Leg::Client].acknowledged(Offset::FIRST, Bytes::from(synack.window()));
        self.rtts[Leg::Server] = self.passed[Leg::Client].map(|at| now.saturating_since(at));
        self.passed[Leg::Server] = Some(now);
        Reading::Remains
    }

    /// Notes what a segment from the host of `leg` shows, if its receiver may take it (RFC 9293,
    /// 3.10.7.4; RFC 5961, 5; RFC 7323, 3.2 and 5.3).
    fn note(&mut self, now: Instant, leg: Leg, segment: &Segment<'_>) -> Fits {
        let Segment { ip, tcp, payload, .. } = *segment;
        let (here, there) = (self.streams[leg], self.streams[leg.other()]);
        let Some((start, ack)) = here.offset(tcp.seq).zip(there.offset(tcp.ack)) else {
            return Fits::Not;
        };
        let data = start..start + Bytes::of_len(payload.len());
        let stamps = match (here.syn.stamped() && there.syn.stamped(), tcp.options.timestamps) {
            (true, Some(stamps)) => !here.is_old(stamps.value),
            (true, None) => false,
            // They mean nothing there: a gateway that has added them and left has sent it (fault
            // seed 123088106).
            (false, _) => true,
        };
        if !tcp.has(Flags::ACK) || !stamps || !there.may_acknowledge(ack) {
            return Fits::Not;
        }
        let window = Bytes::new(u64::from(tcp.window) << here.syn.shift(there.syn));
        if !here.allows(&data) {
            // Its receiver cuts it, and keeps its timestamp and its word all the same (fault seeds
            // 114973572, 122223200).
            if start <= here.promised && data.end > here.acked && ack <= there.next {
                self.streams[leg].stamped(&data, tcp);
                self.streams[leg.other()].acknowledged(ack, window);
            }
            return Fits::Not;
        }
        if ack > there.next {
            return Fits::Ahead;
        }
        self.heard = now;
        self.streams[leg].sent(&data, tcp, ip);
        self.streams[leg.other()].acknowledged(ack, window);
        Fits::Yes
    }

    /// Takes down where the hosts of a recalled connection are, once they agree on that.
    fn resume(&mut self, now: Instant, leg: Leg, segment: &Segment<'_>) {
        let syns = PerLeg::of(|leg| self.streams[leg].syn);
        let Some(recalled) = self.recalled.as_deref_mut() else { return };
        self.heard = now;
        let Some(heard) = recalled.hear(now, leg, syns, segment) else { return };
        for leg in Leg::BOTH {
            let (here, there) = (&heard[leg], &heard[leg.other()]);
            let clocks = [here.clock(there), there.echo()];
            let shift = syns[leg.other()].shift(syns[leg]);
            let promised = there.promised(self.streams[leg].promised, shift);
            let acked = there.acknowledged();
            self.streams[leg].resume(here.end(), acked, promised, clocks, here.ip());
        }
        self.stage = Stage::Open;
    }

    /// Whether a segment, which does not fit, shows that a recalled connection is not where it was
    /// believed to be.
    fn is_contradicted(&self, leg: Leg, segment: &Segment<'_>) -> bool {
        let Segment { tcp, payload, .. } = *segment;
        let (here, there) = (&self.streams[leg], &self.streams[leg.other()]);
        if self.recalled.is_none() || self.stage != Stage::Open || !tcp.has(Flags::ACK) {
            return false;
        }
        let Some((start, ack)) = here.offset(tcp.seq).zip(there.offset(tcp.ack)) else {
            return true;
        };
        let data = start..start + Bytes::of_len(payload.len());
        here.contradicts(&data) || !there.may_acknowledge(ack)
    }

    /// Copies what a segment that was noted brings, if it is time for that.
    fn copy(&mut self, now: Instant, leg: Leg, segment: &Segment<'_>, free: usize) -> Reading {
        let streams = &self.streams;
        let Some((_, copies)) = self.copies.as_deref_mut() else {
            let settled = self.recalled.as_deref().is_none_or(|recalled| recalled.is_settled(now));
            if self.delivered() < self.after || !settled {
                return Reading::Remains;
            }
            // This segment is the last one of the hosts' own.
            let copies = PerLeg::of(|leg| Copied::new(streams[leg].next));
            self.copies = Some(Box::new((now, copies)));
            return self.whole();
        };
        let (here, other) = (&streams[leg], leg.other());
        let start = here.offset(segment.tcp.seq).unwrap_or(here.next);
        if !copies[leg].take(start, segment.payload, free) {
            self.put_off();
            return Reading::Remains;
        }
        if !copies[other].release(streams[other].acked) {
            // Its receiver has got what did not come through here.
            return Reading::Over;
        }
        self.whole()
    }

    /// Whether all that somebody may still ask for is here, in both directions.
    fn whole(&self) -> Reading {
        let Some((_, copies)) = self.copies.as_deref() else { return Reading::Remains };
        match Leg::BOTH.iter().all(|&leg| copies[leg].is_whole(&self.streams[leg])) {
            true => Reading::Whole,
            false => Reading::Remains,
        }
    }

    /// Payload that was acknowledged, of both streams; of a recalled connection what has passed
    /// since.
    fn delivered(&self) -> Bytes {
        let from = |leg| self.recalled.as_deref().map_or(Offset::FIRST, |it| it.next()[leg]);
        Leg::BOTH.iter().map(|&leg| self.streams[leg].acked.saturating_sub(from(leg))).sum()
    }

    /// What its flow begins with.
    pub(super) fn adopt(self) -> Option<Adopted<B>> {
        let ends = PerLeg::new(self.client, self.server);
        let before = self.delivered();
        let copies = (*self.copies?).1;
        let legs = PerLeg::of(|leg| {
            // What we send to this host is the other one's stream.
            let (to, other) = (&self.streams[leg.other()], leg.other());
            let from = &self.streams[leg];
            let header = |of: Leg, stamp: u32| {
                let flags = match of {
                    Leg::Client => Flags::SYN,
                    Leg::Server => Flags::SYN | Flags::ACK,
                };
                let ports = [ends[of].1, ends[of.other()].1];
                self.streams[of].syn.header(flags, ports, stamp)
            };
            LegHandshake {
                ours: header(other, to.clock),
                theirs: header(leg, from.recent),
                window: to.edge.saturating_sub(to.acked),
                relayed: (to.syn.stamped() && from.syn.stamped()).then_some(to.clock),
                acked: to.acked,
                received: copies[leg].end,
                promised: from.promised,
                rtt: self.rtts[leg],
                ip: to.ip(ends[other].0, ends[leg].0),
                peer: false,
            }
        });
        let sides = PerLeg::new(self.from, self.from.other());
        let completed = Completed { sides, legs, added: Added::Nothing, spoofed_synack: None };
        let streams = copies.map(|copy| copy.bytes);
        Some(Adopted { ends, began: self.began, completed, streams, before })
    }
}

/// TSval of a SYN or SYN-ACK; without a meaning if it has none.
fn stamp(tcp: &TcpHeader) -> u32 {
    tcp.options.timestamps.map_or(0, |stamps| stamps.value)
}

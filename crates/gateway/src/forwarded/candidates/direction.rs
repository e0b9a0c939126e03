//! One direction of a connection that is forwarded: what its segments, and the other host's
//! acknowledgments of them, show of the two TCPs.
//!
//! What is forwarded here reaches its receiver later or not at all, and what it sends comes through
//! here before its peer hears of it. So the receiver has acknowledged what is noted here, and its
//! sender has not heard of more.

use crate::handshake::PassedSyn;
use crate::hop_limit::HopLimit;
use bentpipe_core::units::{Bytes, Offset};
use bentpipe_core::wire::{IpHeader, SeqNum, TcpHeader};
use std::net::IpAddr;
use std::ops::Range;

/// Until a packet of its host shows another one: no less than hosts begin with.
const USUAL_HOP_LIMIT: u8 = 64;

/// The stream of one host.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Direction {
    /// Its host's SYN or SYN-ACK.
    pub(super) syn: PassedSyn,
    /// One past the last offset that has come from its host.
    pub(super) next: Offset,
    /// One past the last offset that its receiver has acknowledged.
    pub(super) acked: Offset,
    /// One past the last offset that its receiver allows.
    pub(super) edge: Offset,
    /// One past the last offset that its receiver has ever allowed. That is accepted.
    pub(super) promised: Offset,
    /// The largest window that its receiver has offered.
    max_window: Bytes,
    /// The newest TSval of its host.
    pub(super) clock: u32,
    /// TS.Recent of its receiver, as far as can be told (RFC 7323, 4.3).
    pub(super) recent: u32,
    /// What its host's newest packet says: hop limit, traffic class, flow label.
    marks: (u8, u8, u32),
}

impl Direction {
    /// Nothing has come of it but this SYN or SYN-ACK, which bore TSval `stamp`.
    pub(super) fn new(syn: PassedSyn, stamp: u32, ip: &IpHeader) -> Direction {
        let mut direction = Direction {
            syn,
            next: Offset::FIRST,
            acked: Offset::FIRST,
            edge: Offset::FIRST,
            promised: Offset::FIRST,
            clock: stamp,
            recent: stamp,
            ..Direction::default()
        };
        direction.mark(ip);
        direction
    }

    /// Of a handshake that is known from elsewhere: all else is still to be seen.
    pub(super) fn recalled(syn: PassedSyn, traffic_class: u8) -> Direction {
        Direction { syn, marks: (USUAL_HOP_LIMIT, traffic_class, 0), ..Direction::default() }
    }

    /// Its host has sent up to `next` and speaks with this TSval; its receiver has acknowledged up
    /// to `acked`, allows `window` behind that, has promised up to `promised`, and echoes `recent`.
    pub(super) fn resume(
        &mut self,
        next: Offset,
        (acked, window): (Offset, Bytes),
        promised: Offset,
        [clock, recent]: [u32; 2],
        ip: &IpHeader,
    ) {
        let syn = self.syn;
        *self = Direction { syn, next, acked, promised, clock, recent, ..Direction::default() };
        self.acknowledged(acked, window);
        self.mark(ip);
    }

    /// Whether a segment of these offsets lies so far from what was seen that the one or the other
    /// is wrong: it is neither allowed nor a repetition of what was acknowledged lately.
    pub(super) fn contradicts(&self, segment: &Range<Offset>) -> bool {
        segment.start > self.promised || segment.end + self.max_window < self.acked
    }

    /// That of its host's newest packet.
    pub(super) fn hop_limit(&self) -> HopLimit {
        HopLimit::new(self.marks.0)
    }

    /// DSCP of its host's newest packet.
    pub(super) fn traffic_class(&self) -> u8 {
        self.marks.1
    }

    /// The offset that a number stands for.
    pub(super) fn offset(&self, seq: SeqNum) -> Option<Offset> {
        seq.offset_near(self.syn.isn(), self.next)
    }

    /// Whether its receiver may take a segment of these offsets, and all of it (RFC 9293, 3.10.7.4;
    /// as Linux, it may have sent no acknowledgment yet of what lies before). What lies beyond was
    /// allowed by somebody else, on another path, and a gateway that took it would promise more
    /// than the receiver does (fault seed 97427243). But for the byte that probes a window: that is
    /// taken once there is room, also where nobody here has heard of it (RFC 9293, 3.8.6.1).
    pub(super) fn allows(&self, segment: &Range<Offset>) -> bool {
        let probes = segment.start == self.promised && segment.end == self.promised.next();
        (segment.end <= self.promised || probes) && segment.end >= self.acked
    }

    /// Whether its receiver may acknowledge up to `ack` (RFC 5961, 5), if all may have come that it
    /// allows.
    pub(super) fn may_acknowledge(&self, ack: Offset) -> bool {
        ack >= Offset::FIRST
            && ack + self.max_window >= self.acked
            && ack <= self.promised.max(self.next)
    }

    /// Whether a TSval is too old for its receiver (RFC 7323, 5.3).
    pub(super) fn is_old(&self, stamp: u32) -> bool {
        is_older(stamp, self.recent)
    }

    /// Its host has sent these offsets.
    pub(super) fn sent(&mut self, segment: &Range<Offset>, tcp: &TcpHeader, ip: &IpHeader) {
        self.stamped(segment, tcp);
        self.next = self.next.max(segment.end);
        self.mark(ip);
    }

    /// The timestamp of a segment that its host has sent, of which its receiver takes some at
    /// least.
    pub(super) fn stamped(&mut self, segment: &Range<Offset>, tcp: &TcpHeader) {
        if let Some(stamps) = tcp.options.timestamps {
            if segment.start <= self.acked && !is_older(stamps.value, self.recent) {
                self.recent = stamps.value;
            }
            if is_older(self.clock, stamps.value) {
                self.clock = stamps.value;
            }
        }
    }

    /// Its receiver has acknowledged up to `ack` and allows `window` behind that.
    pub(super) fn acknowledged(&mut self, ack: Offset, window: Bytes) {
        let edge = ack + window;
        if ack > self.acked {
            (self.acked, self.edge) = (ack, edge);
        } else if ack == self.acked {
            self.edge = self.edge.max(edge);
        }
        self.promised = self.promised.max(edge);
        self.max_window = self.max_window.max(window);
    }

    /// Its receiver has sent this SYN or SYN-ACK, of which any copy may have allowed more than the
    /// others (fault seed 92354095).
    pub(super) fn allowed_by(&mut self, syn: PassedSyn) {
        let edge = Offset::FIRST + Bytes::from(syn.widest_window());
        self.promised = self.promised.max(edge);
    }

    fn mark(&mut self, ip: &IpHeader) {
        self.marks = (ip.hop_limit, ip.traffic_class & !IpHeader::ECN_MASK, ip.flow_label);
    }

    /// A header of its host's as the newest one, with these addresses.
    pub(super) fn ip(&self, src: IpAddr, dst: IpAddr) -> IpHeader {
        let (hop_limit, traffic_class, flow_label) = self.marks;
        IpHeader { hop_limit, traffic_class, flow_label, ..IpHeader::between(src, dst) }
    }
}

/// Whether `value` is before `other`, in numbers that wrap.
pub(super) fn is_older(value: u32, other: u32) -> bool {
    (value.wrapping_sub(other) as i32) < 0
}

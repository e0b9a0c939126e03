//! Where the hosts of a connection are that was recorded: its handshake has not passed here, or
//! long ago.
//!
//! A record is believed for what hosts have agreed on, and not for where they are: they have gone
//! on since. That is told by a segment of each of them, if both say the same of both streams: each
//! has sent what the other one acknowledges, and is within the window that the other one offers.
//! Both must lie not far beyond where the record has them.
//!
//! So who forges must guess both numbers to within a window, as for data (RFC 5961, 5), and echo
//! the other host's clock. He cannot speak for both hosts unless he is on both sides of us. If he
//! is, the hosts answer what they do not take with where they are, which contradicts him, and the
//! connection is asked for anew. It has some time for that.
//!
//! And a gateway that has crashed may have acknowledged what is lost. Then one host has sent more
//! than the other one ever acknowledges, so the connection is never [whole](super::Reading::Whole).
//! That this is seen takes segments that are not older than the crash: hence, too, the time, and
//! the bytes that both must have seen pass.

use super::direction::is_older;
use crate::handshake::PassedSyn;
use crate::leg::{Leg, PerLeg};
use crate::segment::Segment;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Offset};
use bentpipe_core::wire::{Flags, IpHeader, Timestamps};
use std::ops::Range;

/// How long hosts may contradict what is believed of them, and segments on their way go on being.
const SETTLING: Duration = Duration::from_secs(1);

/// So far beyond the record a connection may have come, in bytes: as much as a fast link brings in
/// a minute.
const AHEAD: Bytes = Bytes::new(1 << 28);

/// So far below it: what is repeated may lie a window back.
const BEHIND: Bytes = Bytes::new(1 << 24);

/// What a host has said last.
#[derive(Debug, Clone)]
pub(super) struct Heard {
    data: Range<Offset>,
    ack: Offset,
    window: Bytes,
    /// The largest right edge that was offered in its name.
    promised: Offset,
    stamps: Option<Timestamps>,
    ip: IpHeader,
}

/// What is known beside the handshake.
#[derive(Debug)]
pub(super) struct Recalled {
    /// One past the last offset that each host had sent, at first by the record, then when it was
    /// found.
    next: PerLeg<Offset>,
    heard: PerLeg<Option<Heard>>,
    /// The largest right edge that was offered in each host's name. Gateways that have left may
    /// have offered more than hosts do.
    promised: PerLeg<Offset>,
    /// Since when it is known where the hosts are.
    since: Instant,
}

impl Heard {
    /// One past the last offset.
    pub(super) fn end(&self) -> Offset {
        self.data.end
    }

    /// What it acknowledges, and the window.
    pub(super) fn acknowledged(&self) -> (Offset, Bytes) {
        (self.ack, self.window)
    }

    /// The largest right edge that it has offered, of these too, if it can have meant it by windows
    /// of this `shift`.
    pub(super) fn promised(&self, before: Offset, shift: u8) -> Offset {
        let largest = self.ack + Bytes::new(u64::from(u16::MAX) << shift);
        self.promised.max(before).min(largest)
    }

    /// TS.Recent of its host.
    pub(super) fn echo(&self) -> u32 {
        self.stamps.map_or(0, |stamps| stamps.echo)
    }

    /// The newest TSval of its host: its own, or a newer one that its peer has heard.
    pub(super) fn clock(&self, peer: &Heard) -> u32 {
        let value = self.stamps.map_or(0, |stamps| stamps.value);
        if is_older(value, peer.echo()) { peer.echo() } else { value }
    }

    /// As on a packet of its host.
    pub(super) fn ip(&self) -> &IpHeader {
        &self.ip
    }

    /// Whether its peer, whose newest segment is `peer`, has been sent by it all that that
    /// acknowledges, and takes it.
    fn agrees_with(&self, peer: &Heard) -> bool {
        peer.ack <= self.data.end
            && self.data.start <= peer.ack + peer.window
            && self.data.start + peer.window >= peer.ack
    }
}

impl Recalled {
    /// By a record that has these.
    pub(super) fn new(next: PerLeg<Offset>) -> Recalled {
        let promised = PerLeg::of(|_| Offset::FIRST);
        Recalled { next, heard: PerLeg::default(), promised, since: Instant::ZERO }
    }

    /// One past the last offset that each host had sent.
    pub(super) fn next(&self) -> PerLeg<Offset> {
        self.next
    }

    /// Whether nobody has contradicted for a while.
    pub(super) fn is_settled(&self, now: Instant) -> bool {
        self.since + SETTLING <= now
    }

    /// Hears a segment of the host of `leg`. What each host has said last, if they agree now.
    pub(super) fn hear(
        &mut self,
        now: Instant,
        leg: Leg,
        syns: PerLeg<PassedSyn>,
        segment: &Segment<'_>,
    ) -> Option<PerLeg<Heard>> {
        let Segment { ip, tcp, payload, .. } = *segment;
        let (here, there) = (syns[leg], syns[leg.other()]);
        let offset = |number, of: Leg| {
            let at: Offset = number?;
            let near = self.next[of];
            (at >= Offset::FIRST && at <= near + AHEAD && at + BEHIND >= near).then_some(at)
        };
        let start = offset(tcp.seq.offset_near(here.isn(), self.next[leg]), leg)?;
        let ack = tcp.ack.offset_near(there.isn(), self.next[leg.other()]);
        let ack = offset(ack, leg.other())?;
        let (stamps, agreed) = (tcp.options.timestamps, here.stamped() && there.stamped());
        if !tcp.has(Flags::ACK) || agreed && stamps.is_none() {
            return None;
        }
        let window = Bytes::new(u64::from(tcp.window) << here.shift(there));
        self.promised[leg] = self.promised[leg].max(ack + window);
        if stamps.is_some() != agreed {
            // A gateway that has added them, and left, has sent it: its receiver takes its word,
            // and they mean nothing to it (RFC 7323, 3.2; fault seed 147175722).
            return None;
        }
        let data = start..start + Bytes::of_len(payload.len());
        let promised = self.promised[leg];
        self.heard[leg] = Some(Heard { data, ack, window, promised, stamps, ip: *ip });
        let [Some(client), Some(server)] = self.heard.clone().into_array() else { return None };
        let echoes = [(&client, &server), (&server, &client)].iter().all(|(one, other)| {
            let (Some(stamps), Some(other)) = (one.stamps, other.stamps) else { return true };
            !is_older(stamps.value, other.echo)
        });
        if !client.agrees_with(&server) || !server.agrees_with(&client) || !echoes {
            return None;
        }
        self.next = PerLeg::new(client.end(), server.end());
        self.heard = PerLeg::default();
        self.since = now;
        let mut both = PerLeg::new(client, server);
        for leg in Leg::BOTH {
            both[leg].promised = self.promised[leg];
        }
        Some(both)
    }
}

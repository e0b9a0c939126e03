//! Splitting a connection in mid-life: a [candidate](super::candidates) becomes a flow.

use super::candidates::{Adopted, Reading};
use super::flow::Flow;
use super::{Disposition, Gateway};
use crate::announce::Announcement;
use crate::handshake::without_ecn;
use crate::key::FlowKey;
use crate::leg::Leg;
use crate::lifecycle::SplicedFlow;
use crate::observe::{Event, Reason};
use crate::segment::Segment;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::Instant;
use bentpipe_core::units::Bytes;
use bentpipe_core::wire::{Flags, TcpHeader};

impl<B: Buffer> Gateway<B> {
    /// A SYN that would be split is forwarded, and its connection split once so much `after` is acknowledged.
    pub(super) fn forward_candidate(
        &mut self,
        now: Instant,
        segment: &Segment<'_>,
        after: Bytes,
    ) -> Disposition {
        let Segment { from, ip, tcp, payload } = *segment;
        let mut bare = tcp.clone();
        Announcement::strip(&mut bare.options);
        let noted = Segment { from, ip, tcp: &bare, payload };
        self.candidates.on_syn(now, &self.config, &noted, after);
        let ecn = Flags::ECE | Flags::CWR;
        if tcp.flags.0 & ecn.0 == 0 {
            return Disposition::Forward(Reason::Short);
        }
        // Our legs do not speak ECN, so the hosts are not to agree on it.
        let relay = TcpHeader { flags: tcp.flags.without(ecn), ..tcp.clone() };
        self.relays.push_back((from.other(), (without_ecn(ip), relay)));
        Disposition::Consumed
    }

    /// Another segment of no flow is forwarded, for the reason that is returned. It may be the one that makes a flow of its
    /// connection.
    pub(super) fn watch_candidate(&mut self, now: Instant, segment: &Segment<'_>) -> Reason {
        if self.candidates.is_empty() {
            return Reason::UnknownFlow;
        }
        let free = self.free();
        let Some(reading) = self.candidates.read(now, segment, free) else {
            return Reason::UnknownFlow;
        };
        if reading == Reading::Whole {
            self.adopt(now, FlowKey::of(segment.ip, segment.tcp));
        }
        Reason::Short
    }

    /// A connection is split in mid-life, if there is room for it.
    fn adopt(&mut self, now: Instant, key: FlowKey) {
        let admitted = self.candidates.client(&key).is_some_and(|ip| self.admit(ip).is_ok());
        if !admitted {
            return self.candidates.put_off(&key);
        }
        let Some(Adopted { ends, began, completed, streams, before }) = self.candidates.adopt(&key)
        else {
            return;
        };
        let (sides, first) = (completed.sides, self.first_promise(now));
        let flow = SplicedFlow::adopt(now, &self.config, completed, streams, first);
        let id = self.flows.insert(Flow::adopted(ends, sides, began, flow));
        self.table.insert(key, id);
        self.clients.add(ends[Leg::Client].0);
        self.gaps.forget(&key);
        self.begin_turns(id);
        self.events.push(Event::Adopted(ends.into(), before.count()));
        self.summary.split += 1;
        self.summary.adopted += 1;
        self.settle(id);
    }

    /// Forwarded connections that may be split later.
    #[cfg(test)]
    pub(crate) fn candidates(&self) -> usize {
        self.candidates.len()
    }
}

//! Splitting a connection in mid-life: a [candidate](crate::forwarded::Candidates) becomes a flow.

use super::flow::Flow;
use super::{Disposition, Gateway};
use crate::announce::Announcement;
use crate::forwarded::{Adopted, Reading};
use crate::handshake::{SessionRecord, without_ecn};
use crate::key::FlowKey;
use crate::leg::Leg;
use crate::lifecycle::SplicedFlow;
use crate::observe::{Event, Reason, Release};
use crate::policy::Action;
use crate::segment::Segment;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::Instant;
use bentpipe_core::units::Bytes;
use bentpipe_core::wire::{Flags, TcpHeader};

impl<B: Buffer> Gateway<B> {
    /// A SYN that would be split is forwarded, and its connection split once so much `after` is
    /// acknowledged.
    pub(super) fn forward_candidate(
        &mut self,
        now: Instant,
        segment: &Segment<'_>,
        after: Bytes,
    ) -> Disposition {
        let Segment { from, ip, tcp, payload } = *segment;
        let mut without_announcement = tcp.clone();
        Announcement::strip(&mut without_announcement.options);
        let noted = Segment { from, ip, tcp: &without_announcement, payload };
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

    /// Another segment of no flow is forwarded, for the reason that is returned. It may be the one
    /// that makes a flow of its connection.
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
        if !admitted || self.leaving.is_some() {
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
        self.clients.add(&key, ends[Leg::Client].0);
        self.gaps.forget(&key);
        self.begin_turns(now, id);
        self.events.push(Event::Adopted(ends.into(), before.count()));
        self.summary.split += 1;
        self.summary.adopted += 1;
        self.settle(id);
    }

    /// A connection is forwarded from now on, and was heard last at `heard`. It may be split again.
    pub(super) fn remember(&mut self, heard: Instant, record: &SessionRecord) {
        if !self.config.soft_state {
            return;
        }
        // When it proves long, or else as soon as it is active again.
        let after = match self.leaving == Some(Release::Drain) {
            true => Bytes::new(u64::MAX),
            false => self.config.adopt_after.unwrap_or(Bytes::ONE),
        };
        self.candidates.recall(heard, &self.config, record, after);
    }

    /// A connection that another gateway has [recorded](Gateway::records): it is split in mid-life,
    /// once both hosts have shown where they are. Nothing happens without
    /// [`soft_state`](crate::Config::soft_state).
    pub fn recall(&mut self, now: Instant, record: &SessionRecord) {
        let key = record.key();
        let known = self.table.contains_key(&key) || self.half_open.get_mut(&key).is_some();
        let split = record.with_syn(|syn| self.config.policy.action(syn)) == Action::Split;
        if !known && self.leaving.is_none() && split {
            self.remember(now, record);
        }
    }

    /// What the gateway that comes after this one, when it has been [drained](Gateway::is_drained),
    /// is to know: the connections that go on without it, with what their hosts have agreed on.
    pub fn records(&self) -> impl Iterator<Item = SessionRecord> {
        self.candidates.records().filter(|_| self.config.soft_state)
    }

    /// Forwarded connections that may be split later.
    #[cfg(test)]
    pub(crate) fn candidates(&self) -> usize {
        self.candidates.len()
    }
}

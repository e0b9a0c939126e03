//! Flows that are over, in few bytes each, until they are forgotten.
//!
//! They take no flow's place and nothing of the pool. They have a limit of their own; a flow that
//! ends beyond it is forgotten at once, and what its hosts still send is forwarded. An entry has no
//! timer: the table is looked through when the first is due to be forgotten or to repeat a reset,
//! at most once a [`SWEEP`].

use super::{Disposition, Gateway};
use crate::Side;
use crate::handshake::Relay;
use crate::key::FlowKey;
use crate::leg::{Leg, PerLeg};
use crate::lifecycle::TimeWait;
use crate::observe::Reason;
use crate::segment::Segment;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::{Duration, Instant};
use std::collections::{BTreeMap, VecDeque};

/// By how much an entry may outlive its deadline.
const SWEEP: Duration = Duration::from_secs(1);

/// How many resets are repeated in one sweep, so that a storm of them does not come back as a
/// burst. Beyond, their turn is passed over.
const MAX_REPEATS: usize = 1024;

/// The table.
#[derive(Debug, Default)]
pub(super) struct TimeWaitTable {
    flows: BTreeMap<FlowKey, TimeWait>,
    /// When the table is looked through; not before the first is due.
    sweep_at: Instant,
}

impl TimeWaitTable {
    pub(super) fn len(&self) -> usize {
        self.flows.len()
    }

    /// Whether there is an entry for this connection.
    pub(super) fn contains(&self, key: &FlowKey) -> bool {
        self.flows.contains_key(key)
    }

    fn insert(&mut self, key: FlowKey, flow: TimeWait) {
        if self.flows.is_empty() {
            self.sweep_at = flow.due();
        }
        self.sweep_at = self.sweep_at.min(flow.due());
        self.flows.insert(key, flow);
    }

    /// When [`TimeWaitTable::expire`] has something to do, if ever.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        (!self.flows.is_empty()).then_some(self.sweep_at)
    }

    /// Forgets what has been answered for long enough, and repeats resets into `relays`.
    pub(super) fn expire(&mut self, now: Instant, relays: &mut VecDeque<(Side, Relay)>) {
        if self.poll_timeout().is_none_or(|at| at > now) {
            return;
        }
        let (mut next, mut room) = (Instant::FAR_FUTURE, MAX_REPEATS);
        self.flows.retain(|key, flow| {
            if flow.until() <= now {
                return false;
            }
            let (ends, sides) = (flow.ends(key), PerLeg::of(|leg| flow.side(leg)));
            for (leg, reset) in flow.repeats(now, ends).take(room) {
                relays.push_back((sides[leg], reset));
                room -= 1;
            }
            next = next.min(flow.due());
            true
        });
        self.sweep_at = next.max(now + SWEEP);
    }
}

impl<B: Buffer> Gateway<B> {
    /// Flow `id` has nothing to send. If it is over, little is kept of it. Whether that is so.
    pub(super) fn shrink_if_over(&mut self, now: Instant, id: usize) -> bool {
        let flow = &mut self.flows[id];
        let (key, sides) = (flow.key(), flow.sides());
        let client_is_low = key.is_low(flow.client());
        let Some((spliced, _)) = flow.spliced_mut() else { return false };
        let Some(over) = spliced.time_wait(now, &self.config, sides, client_is_low) else {
            return false;
        };
        self.remove(id);
        if self.over.len() < self.config.max_flows {
            self.over.insert(key, over);
        }
        true
    }

    /// A segment of a flow that is over; None if there is no such flow, or the port is used again
    /// (RFC 9293, 3.6.1).
    pub(super) fn handle_over(
        &mut self,
        now: Instant,
        key: &FlowKey,
        segment: &Segment<'_>,
    ) -> Option<Disposition> {
        let flow = self.over.flows.get_mut(key)?;
        let ends = flow.ends(key);
        let src = (segment.ip.src, segment.tcp.src_port);
        let leg = if src == ends[Leg::Client] { Leg::Client } else { Leg::Server };
        if flow.side(leg) != segment.from {
            return Some(Disposition::Forward(Reason::Route));
        }
        if flow.gives_way_to(leg, segment.tcp) {
            self.over.flows.remove(key);
            return None;
        }
        if let Some(answer) = flow.on_segment(now, leg, ends, segment) {
            self.relays.push_back((segment.from, answer));
        }
        Some(Disposition::Consumed)
    }
}

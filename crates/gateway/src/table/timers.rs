//! Flows' timers and ends, and the queue of those that may have something to send.

use super::Gateway;
use super::access::add_sender_stats;
use super::broken::Whose;
use super::flow::Phase;
use crate::lifecycle::CloseState;
use crate::observe::{Event, Reason, Release};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::{Instant, earliest};
use std::collections::BTreeSet;

/// When the gateway looks at a flow again; never later than what the flow needs.
///
/// No alarm is a moment that none is set for, as an option would take twice the memory.
#[derive(Debug)]
pub(super) struct Alarm(Instant);

impl Default for Alarm {
    fn default() -> Alarm {
        Alarm(Alarm::NONE)
    }
}

impl Alarm {
    const NONE: Instant = Instant::from_nanos(u64::MAX - 1);

    /// Brings it forward to `due`. An alarm that is already set for an earlier moment stays: when
    /// it fires, the flow says when it is really due.
    fn set(&mut self, timers: &mut BTreeSet<(Instant, usize)>, id: usize, due: Instant) {
        if self.0 != Alarm::NONE && self.0 <= due {
            return;
        }
        self.clear(timers, id);
        timers.insert((due, id));
        self.0 = due;
    }

    fn clear(&mut self, timers: &mut BTreeSet<(Instant, usize)>, id: usize) {
        let at = std::mem::replace(&mut self.0, Alarm::NONE);
        if at != Alarm::NONE {
            timers.remove(&(at, id));
        }
    }
}

impl<B: Buffer> Gateway<B> {
    /// When [`Gateway::handle_timeout`] is to be called, if ever.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let flows = self.timers.first().map(|(at, _)| *at);
        let over = self.over.poll_timeout();
        let links = self.links.poll_timeout();
        let handshakes = earliest(self.half_open.poll_timeout(), self.candidates.poll_timeout());
        earliest(earliest(flows, handshakes), earliest(over, links))
    }

    /// Lets expire what is due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        let unanswered = self.half_open.expire(now, &self.config);
        self.forget_syns(now, unanswered, Reason::Unanswered);
        self.candidates.expire(now);
        self.over.expire(now, &mut self.relays);
        while let Some(&(at, id)) = self.timers.first() {
            if at > now {
                return;
            }
            self.flows[id].alarm.clear(&mut self.timers, id);
            self.guarded(now, Whose::Slot(id), |gateway| gateway.expire(now, id));
        }
    }

    fn expire(&mut self, now: Instant, id: usize) {
        let over = match self.flows[id].phase() {
            Phase::Opening(opening) if opening.deadline() <= now => {
                return self.forget_opening(now, id, Reason::Unfinished);
            }
            Phase::Opening(_) => false,
            Phase::Broken(until) => *until <= now,
            Phase::Spliced(_) | Phase::Hibernated(_) => return self.expire_spliced(now, id),
        };
        if over {
            self.remove(id);
        } else {
            self.settle(id);
        }
    }

    fn expire_spliced(&mut self, now: Instant, id: usize) {
        let ends = self.flows[id].ends();
        let left = self.with_flow(id, |flow, context| {
            let config = context.config;
            flow.on_timer(now, config, context.sides, context.allowance);
            let silent = flow.is_silent(now, config.idle_timeout);
            let released = silent && flow.is_open() && flow.is_clean();
            if released {
                context.summary.count_released(Release::Idle);
            }
            if released || flow.forgettable(now, config) {
                context.forget();
            } else {
                context.watch_links(now, flow);
            }
            released.then(|| flow.record(context.sides, ends)).flatten()
        });
        if let Some(record) = left.flatten() {
            self.remember(now, &record);
        }
    }

    /// Sets the flow's timer.
    pub(super) fn arm(&mut self, id: usize) {
        let flow = &mut self.flows[id];
        let due = match flow.phase() {
            Phase::Opening(opening) => opening.deadline(),
            Phase::Spliced(flow) => flow.poll_timer(&self.config).unwrap_or(Instant::FAR_FUTURE),
            Phase::Broken(until) => *until,
            // Its timer was set before it began to hibernate.
            Phase::Hibernated(_) => return,
        };
        flow.alarm.set(&mut self.timers, id, due);
    }

    /// Forgets a flow.
    pub(super) fn remove(&mut self, id: usize) {
        let mut flow = self.flows.remove(id);
        self.awaiting_ack.settle(id, flow.client().0, &mut flow.standing);
        self.links.remove(id, &mut flow.turns, &mut flow.remote);
        self.table.remove(&flow.key());
        self.clients.remove(&flow.key(), flow.client().0);
        flow.alarm.clear(&mut self.timers, id);
        if let Some(spliced) = flow.spliced() {
            add_sender_stats(&mut self.summary, flow.sides(), spliced);
        }
        self.account.remove(&flow.account);
        self.with_share -= usize::from(flow.has_share());
    }

    /// Counts and tells of a flow's end, once.
    pub(super) fn note_end(&mut self, id: usize) {
        let flow = &mut self.flows[id];
        let Some(spliced) = flow.spliced().filter(|spliced| !spliced.is_open()) else { return };
        let (state, lost_bytes) = (spliced.close_state(), spliced.lost_bytes());
        if !flow.note_end() {
            return;
        }
        let hosts = flow.ends().into();
        self.summary.lost_bytes += lost_bytes.count();
        self.events.push(match state {
            CloseState::Released => Event::Unconfirmed(hosts, lost_bytes.count()),
            CloseState::Closed { .. } => {
                self.summary.closed += 1;
                Event::Closed(hosts)
            }
            _ => {
                self.summary.reset += 1;
                Event::Reset(hosts, lost_bytes.count())
            }
        });
        self.note_transfer(id);
    }
}

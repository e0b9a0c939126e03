//! Flows' timers and ends, and the queue of those that may have something to send.

use super::link::Link;
use super::{Gateway, Whose, add_sender_stats};
use crate::flow::{Departure, Ending, Phase};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::{Instant, earliest};

impl<B: Buffer> Gateway<B> {
    /// When [`Gateway::handle_timeout`] is to be called, if ever.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let flows = self.timers.first().map(|(at, _)| *at);
        let links = self.links.iter().filter_map(Link::poll_timeout).min();
        earliest(earliest(flows, self.half_open.poll_timeout()), links)
    }

    /// Lets expire what is due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.half_open.expire(now, &self.config, &mut self.clients);
        while let Some(&(at, id)) = self.timers.first() {
            if at > now {
                return;
            }
            self.timers.pop_first();
            self.flows[id].armed = None;
            self.guarded(now, Whose::Slot(id), |gateway| gateway.expire(now, id));
        }
    }

    fn expire(&mut self, now: Instant, id: usize) {
        self.wake(id);
        let allowance = self.allowance();
        let config = &self.config;
        let flow = &mut self.flows[id];
        let over = match &mut flow.phase {
            Phase::Opening(opening) => opening.deadline <= now,
            Phase::Split(split) => {
                split.on_timer(now, config, allowance);
                let silent = split.is_silent(now, config.idle_timeout);
                let handed_back = silent && split.is_open() && split.is_clean();
                if handed_back {
                    self.summary.count_handed_back(Departure::Idle);
                }
                handed_back || split.forgettable(now, config)
            }
            Phase::Resting(_) => false,
            Phase::Broken(until) => *until <= now,
        };
        if over {
            self.remove(id);
        } else {
            self.watch_links(now, id);
            self.attend(id);
        }
    }

    /// The flow may have something to send.
    pub(super) fn touch(&mut self, id: usize) {
        let flow = &mut self.flows[id];
        if !flow.queued {
            flow.queued = true;
            self.ready.push_back(id);
        }
    }

    /// Sets the flow's timer. A timer that is already set for an earlier moment stays: when it
    /// fires, the flow says when it is really due.
    pub(super) fn arm(&mut self, id: usize) {
        let flow = &mut self.flows[id];
        let due = match &flow.phase {
            Phase::Opening(opening) => opening.deadline,
            Phase::Split(split) => split.poll_timer(&self.config).unwrap_or(Instant::FAR_FUTURE),
            Phase::Broken(until) => *until,
            // Its timer was set before it came to rest.
            Phase::Resting(_) => return,
        };
        match flow.armed {
            Some(at) if at <= due => {}
            armed => {
                if let Some(at) = armed {
                    self.timers.remove(&(at, id));
                }
                self.timers.insert((due, id));
                flow.armed = Some(due);
            }
        }
    }

    pub(super) fn remove(&mut self, id: usize) {
        let mut flow = self.flows.remove(id);
        self.unanswered.settle(id, &mut flow);
        for (link, turn) in self.links.iter_mut().zip(flow.turns.iter()) {
            link.leave(turn);
        }
        self.table.remove(&flow.key());
        self.clients.remove(flow.client.0);
        if let Some(at) = flow.armed {
            self.timers.remove(&(at, id));
        }
        if let Phase::Split(split) = &flow.phase {
            add_sender_stats(&mut self.summary, flow.sides, split);
        }
        self.charged -= flow.charged;
        self.held -= flow.held;
    }

    /// Counts and logs a flow's end, once.
    pub(super) fn note_end(&mut self, id: usize) {
        let flow = &mut self.flows[id];
        let Phase::Split(split) = &flow.phase else { return };
        if flow.end_noted || split.is_open() {
            return;
        }
        flow.end_noted = true;
        let (client, server) = (flow.client, flow.server);
        let lost_bytes = split.lost_bytes();
        self.summary.lost_bytes += lost_bytes;
        match split.ending() {
            Ending::Left => {
                tracing::warn!(
                    ?client,
                    ?server,
                    unconfirmed_bytes = lost_bytes,
                    "route changed: flow forwarded, its last bytes sent and not seen to arrive"
                );
            }
            Ending::Closed { .. } => {
                self.summary.closed += 1;
                tracing::debug!(?client, ?server, "flow closed");
            }
            _ if lost_bytes > 0 => {
                self.summary.reset += 1;
                tracing::warn!(?client, ?server, lost_bytes, "flow reset, its bytes undelivered");
            }
            _ => {
                self.summary.reset += 1;
                tracing::debug!(?client, ?server, "flow reset");
            }
        }
    }
}

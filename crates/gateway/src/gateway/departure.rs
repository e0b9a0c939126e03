//! Handing flows back to plain forwarding: when the gateway is stopped, and when routes change.

use super::{Gateway, Whose};
use crate::flow::{Departure, Leave, Phase, Split};
use crate::leg::Leg;
use crate::stats::Reason;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::tcb::Bypass;
use bentpipe_core::time::Instant;

impl<B: Buffer> Gateway<B> {
    /// Splits nothing more. Flows that hold nothing are handed back at once, the others when what
    /// they hold has been delivered, or reset after [`reset_drain`](crate::Config::reset_drain).
    /// Flows that cannot go on without us stay until they end, or are [cut](Gateway::cut_all).
    pub fn drain(&mut self, now: Instant) {
        self.draining = true;
        self.half_open.release(&mut self.clients);
        for id in 0..self.slots() {
            self.dismiss(now, id, Departure::Drain, None);
        }
    }

    /// Packets have gone past the gateway for a while, as they do when it hangs or its rules are gone: every
    /// flow leaves, as nobody knows what its hosts have said to each other. New connections are split.
    pub fn hand_back_all(&mut self, now: Instant) {
        for id in 0..self.slots() {
            self.dismiss(now, id, Departure::Route, None);
        }
    }

    /// The time for draining is over: flows that are still open are reset, and what they held is
    /// counted as lost. What is to be sent then is to be sent at once.
    pub fn cut_all(&mut self, now: Instant) {
        for id in 0..self.slots() {
            self.end(now, id, |split| {
                if split.is_open() {
                    split.cut(now);
                }
            });
        }
    }

    /// Whether the gateway has been told to [`drain`](Gateway::drain) and no open flow is left.
    pub fn is_drained(&self) -> bool {
        self.draining
            && self.half_open.len() == 0
            && self.flows.iter().all(|(_, flow)| match &flow.phase {
                Phase::Opening(_) => false,
                Phase::Split(split) => !split.is_open(),
                Phase::Resting(_) => false,
                Phase::Broken(_) => true,
            })
    }

    /// The host of `leg` hears the other one by another way, or the peer gateway has forgotten the
    /// flow.
    pub(super) fn on_bypass(&mut self, now: Instant, id: usize, leg: Leg, bypass: Bypass) {
        let flow = &self.flows[id];
        let Phase::Split(split) = &flow.phase else { return };
        let (client, server, held_bytes) = (flow.client, flow.server, split.held());
        let unheard = match bypass {
            Bypass::NoTimestamps => None,
            // What the other host sends does not come through us any more.
            Bypass::AckAhead | Bypass::EchoAhead => Some(leg.other()),
        };
        let Some(unheard) = unheard else {
            tracing::debug!(?client, ?server, held_bytes, "peer gateway gone: flow leaves");
            return self.dismiss(now, id, Departure::Peer, None);
        };
        let host = flow.ends()[unheard].0;
        self.summary.route_changes += 1;
        tracing::info!(?client, ?server, unheard = %host, held_bytes, "route changed: flow leaves");
        self.dismiss(now, id, Departure::Route, Some(unheard));
    }

    /// Hands a flow back, now or when it holds nothing.
    pub(super) fn dismiss(
        &mut self,
        now: Instant,
        id: usize,
        why: Departure,
        unheard: Option<Leg>,
    ) {
        self.end(now, id, |split| {
            let bound = split.leave(now, why, unheard) == Leave::Bound;
            if bound && why == Departure::Route {
                split.cut(now);
            }
        });
    }

    /// Does something that ends a flow, if it is split, and looks after what follows from it.
    fn end(&mut self, now: Instant, id: usize, act: impl FnOnce(&mut Split<B>)) {
        self.guarded(now, Whose::Slot(id), |gateway| {
            gateway.wake(id);
            let Some(flow) = gateway.flows.get_mut(id) else { return };
            let Phase::Split(split) = &mut flow.phase else { return };
            act(split);
            gateway.attend(id);
        });
    }

    /// Something has happened to a flow: sums, ends, and what it may have to send.
    pub(super) fn attend(&mut self, id: usize) {
        if !self.flows.contains(id) {
            return;
        }
        self.account(id);
        let flow = &mut self.flows[id];
        if matches!(&flow.phase, Phase::Split(split) if !split.is_unconfirmed()) {
            self.unanswered.settle(id, flow);
        }
        if let Phase::Split(split) = &mut flow.phase {
            if let Some(last_words) = split.last_words() {
                let sides = flow.sides;
                let resets = last_words.into_iter().map(|(leg, ip, tcp)| (sides[leg], (ip, tcp)));
                self.relays.extend(resets);
                self.note_end(id);
                return self.remove(id);
            }
            if split.has_left()
                && let Some(why) = split.leaving_for()
            {
                self.summary.count_handed_back(why);
                return self.remove(id);
            }
        }
        self.note_end(id);
        self.touch(id);
    }
}

impl From<Departure> for Reason {
    fn from(why: Departure) -> Reason {
        match why {
            Departure::Idle => Reason::UnknownFlow,
            Departure::Route | Departure::Peer => Reason::Route,
            Departure::Drain => Reason::Draining,
        }
    }
}

//! Handing flows back to plain forwarding: when the gateway is stopped, and when routes change.

use super::Gateway;
use super::access::Context;
use super::broken::Whose;
use super::flow::Phase;
use crate::key::Endpoint;
use crate::leg::{Leg, PerLeg};
use crate::lifecycle::{Released, SplicedFlow};
use crate::observe::{Event, Reason, Release};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::tcb::Bypass;
use bentpipe_core::time::Instant;

impl<B: Buffer> Gateway<B> {
    /// Splits nothing more. Flows that hold nothing are released at once, the others when what they
    /// hold has been delivered, or reset when nobody takes it for
    /// [`reset_drain`](crate::Config::reset_drain). Flows that cannot go on without us stay until
    /// they end, or are [reset](Gateway::reset_all).
    pub fn drain(&mut self, now: Instant) {
        self.leaving = Some(Release::Drain);
        let left = self.half_open.release();
        self.forget_syns(now, left, Reason::Draining);
        match self.config.soft_state {
            true => self.candidates.retire(),
            false => self.candidates.clear(),
        }
        self.with_all(now, |flow| release(flow, now, Release::Drain, None));
    }

    /// Splits nothing from now on and counts what it would split; flows are released as by
    /// [`drain`](Gateway::drain), if they can go on without the gateway. Or splits again. Either
    /// lasts until it is [reconfigured](Gateway::reconfigure); a gateway that drains goes on
    /// draining.
    pub fn only_observe(&mut self, now: Instant, observe: bool) {
        if self.leaving == Some(Release::Drain) {
            return;
        }
        self.leaving = observe.then_some(Release::Observe);
        if observe {
            let left = self.half_open.release();
            self.forget_syns(now, left, Reason::Observed);
            self.with_all(now, |flow| release(flow, now, Release::Observe, None));
        } else {
            self.enabled = true;
            self.put_in_force();
        }
    }

    /// Whether it splits nothing, and counts what it would split.
    pub fn observes(&self) -> bool {
        self.leaving == Some(Release::Observe) || self.config.policy.observe
    }

    /// Whether it has been told to [`drain`](Gateway::drain).
    pub fn drains(&self) -> bool {
        self.leaving == Some(Release::Drain)
    }

    /// Packets have gone past the gateway for a while, as they do when it hangs or its rules are
    /// gone: every flow is released, as nobody knows what its hosts have said to each other. New
    /// connections are split.
    pub fn release_all(&mut self, now: Instant) {
        self.candidates.clear();
        self.with_all(now, |flow| release(flow, now, Release::Route, None));
    }

    /// The time for draining is over: flows that are still open are reset, and what they held is
    /// counted as lost. What is to be sent then is to be sent at once.
    pub fn reset_all(&mut self, now: Instant) {
        self.with_all(now, |flow| {
            if flow.is_open() {
                flow.cut(now);
            }
        });
    }

    /// Whether the gateway has been told to [`drain`](Gateway::drain) and no open flow is left.
    pub fn is_drained(&self) -> bool {
        self.drains()
            && self.half_open.len() == 0
            && self.flows.iter().all(|(_, flow)| match flow.phase() {
                Phase::Opening(_) | Phase::Hibernated(_) => false,
                Phase::Spliced(spliced) => !spliced.is_open(),
                Phase::Broken(_) => true,
            })
    }

    /// Does something to each flow that is spliced.
    fn with_all(&mut self, now: Instant, act: impl Fn(&mut SplicedFlow<B>)) {
        for id in 0..self.slots() {
            let whose = Whose::Slot(id);
            self.guarded(now, whose, |gateway| gateway.with_flow(id, |flow, _| act(flow)));
        }
    }
}

/// Hands a flow back, now or when it holds nothing. One whose route has changed, and whose hosts
/// cannot go on without us, is reset.
fn release<B: Buffer>(flow: &mut SplicedFlow<B>, now: Instant, why: Release, unheard: Option<Leg>) {
    if flow.release(now, why, unheard) == Released::Bound && why == Release::Route {
        flow.cut(now);
    }
}

impl Context<'_> {
    /// The host of `leg` has acknowledged what was forwarded to it past the flow between `ends`.
    pub(super) fn on_taken_past<B: Buffer>(
        &mut self,
        now: Instant,
        flow: &mut SplicedFlow<B>,
        ends: PerLeg<Endpoint>,
        leg: Leg,
    ) {
        self.events.push(Event::TakenPast(ends.into(), ends[leg].0, flow.splice().held()));
        release(flow, now, Release::Past, None);
    }

    /// The host of `leg` hears the other one on another path, or the peer gateway has forgotten the
    /// flow between `ends`.
    pub(super) fn on_bypass<B: Buffer>(
        &mut self,
        now: Instant,
        flow: &mut SplicedFlow<B>,
        ends: PerLeg<Endpoint>,
        leg: Leg,
        bypass: Bypass,
    ) {
        let held_bytes = flow.splice().held();
        match bypass {
            Bypass::NoTimestamps => {
                self.events.push(Event::PeerGone(ends.into(), held_bytes));
                release(flow, now, Release::Peer, None);
            }
            // What the other host sends does not come through us any more.
            Bypass::AckAhead | Bypass::EchoAhead => {
                let unheard = ends[leg.other()].0;
                self.summary.route_changes += 1;
                self.events.push(Event::RouteChanged(ends.into(), unheard, held_bytes));
                release(flow, now, Release::Route, Some(leg.other()));
            }
        }
    }
}

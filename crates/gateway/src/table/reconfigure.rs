//! Other parameters for a gateway that runs.
//!
//! Connections are judged by the policy once, by their SYN, and have their TCP's parameters from their handshake: both
//! stay as they are. What all share is changed for all at once: the pool, the limits, the rate at which flows take
//! turns on a link.

use super::Gateway;
use super::scheduler::LinkScheduler;
use crate::Side;
use crate::config::{Config, LegConfig, Losses};
use crate::observe::Release;
use bentpipe_core::tcp::buffer::Buffer;
use std::sync::Arc;

impl<B: Buffer> Gateway<B> {
    /// Goes on with what of `new` may change while connections last: policy, limits, and what is said of legs and
    /// their links. The rest stays: what hosts and other gateways have been promised (`splitting`), and what the
    /// interfaces carry.
    ///
    /// What was said of [observing](Gateway::only_observe) is over: the policy says it.
    ///
    /// A link of which something else is said is measured again, and its circuit breaker closes.
    pub fn reconfigure(&mut self, new: Config) {
        let Config {
            memory,
            max_stream,
            guaranteed,
            max_flows,
            max_half_open,
            max_flows_per_client,
            policy,
            reset_drain,
            satellite,
            lan,
            add_options,
            adopt_after: _,
            soft_state: _,
            announce: _,
            super_segments: _,
            handshake: _,
            fin: _,
            fin_hold: _,
            open_timeout: _,
            linger: _,
            hibernate_after: _,
            idle_timeout: _,
        } = new;
        let config = Config {
            memory,
            max_stream,
            guaranteed,
            max_flows,
            max_half_open,
            max_flows_per_client,
            policy,
            reset_drain,
            satellite: self.reconfigured(Side::Satellite, satellite),
            lan: self.reconfigured(Side::Lan, lan),
            add_options,
            ..(*self.config).clone()
        };
        if self.leaving == Some(Release::Observe) {
            self.leaving = None;
        }
        let old = std::mem::replace(&mut self.config, Arc::new(config));
        if self.config.memory < old.memory {
            self.outlast(old.memory);
        }
        for side in Side::BOTH {
            if LinkScheduler::is_another(old.leg(side), self.config.leg(side)) {
                self.change_link(side);
            }
        }
        self.told.reconsider(&self.config.satellite.told_link());
    }

    /// The leg towards `side` as it will be.
    fn reconfigured(&self, side: Side, leg: LegConfig) -> LegConfig {
        let old = self.config.leg(side);
        let leg = LegConfig { mtu: old.mtu, ..leg };
        let leg = match side {
            Side::Satellite => leg.with_told(self.told.believed()),
            Side::Lan => leg,
        };
        // Where the circuit is broken, a leg of which nothing new is said stays so.
        let broken = LegConfig { losses: Losses::Believed, ..leg };
        if self.links[side].is_broken() && broken == *old { broken } else { leg }
    }

    /// The link on `side` is another one.
    pub(super) fn change_link(&mut self, side: Side) {
        let link = &mut self.links[side];
        link.reconfigure(self.config.leg(side));
        for (_, flow) in &mut self.flows {
            link.renew(&mut flow.turns[side]);
        }
        // Nobody would limit them.
        if !self.links[side].is_told() {
            self.flows_believe(side);
        }
    }
}

//! Other parameters for a gateway that runs.
//!
//! Connections are judged by the policy once, by their SYN, and have their TCP's parameters from
//! their handshake: both stay as they are. What all share is changed for all at once: the pool, the
//! limits, the rate at which flows take turns on a link.

use super::Gateway;
use super::scheduler::LinkScheduler;
use crate::Side;
use crate::config::{Config, LegConfig};
use crate::observe::Release;
use crate::side::PerSide;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::Duration;

impl<B: Buffer> Gateway<B> {
    /// Goes on with what of `new` may change while connections last: policy, limits, and what is
    /// said of legs and their links. The rest stays: what hosts and other gateways have been
    /// promised (`splitting`), and what the interfaces carry.
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
            pair_key: _,
            super_segments: _,
            handshake: _,
            fin: _,
            fin_hold: _,
            open_timeout: _,
            linger: _,
            hibernate_after: _,
            idle_timeout: _,
        } = new;
        let old = PerSide::of(|side| self.described(side));
        let (before, memory_before) = (&self.configured, self.configured.memory);
        self.configured = Config {
            memory,
            max_stream,
            guaranteed,
            max_flows,
            max_half_open,
            max_flows_per_client,
            policy,
            reset_drain,
            satellite: LegConfig {
                mtu: before.satellite.mtu,
                wall_clock: before.satellite.wall_clock,
                ..satellite
            },
            lan: LegConfig { mtu: before.lan.mtu, ..lan },
            add_options,
            ..before.clone()
        };
        self.enabled = false;
        if self.leaving == Some(Release::Observe) {
            self.leaving = None;
        }
        self.put_in_force();
        if memory < memory_before {
            self.outlast(memory_before);
        }
        for side in Side::BOTH {
            if LinkScheduler::is_another(&old[side], &self.described(side)) {
                self.change_link(side);
            }
        }
        self.told.reconsider(&self.configured.satellite.told_link());
    }

    /// Changes what the LAN's and the satellite's interfaces carry, in bytes.
    ///
    /// Connections that begin now keep to it. False if it is so already.
    pub fn set_mtus(&mut self, mtus: [u16; 2]) -> bool {
        let legs = [&mut self.configured.lan, &mut self.configured.satellite];
        let is_new = legs.each_ref().map(|leg| leg.mtu) != mtus;
        for (leg, mtu) in legs.into_iter().zip(mtus) {
            leg.mtu = mtu;
        }
        if is_new {
            self.put_in_force();
        }
        is_new
    }

    /// Goes by a wall clock that was set: it said this at the moment zero.
    pub fn set_wall_clock(&mut self, wall_clock: Duration) {
        self.configured.satellite.wall_clock = wall_clock;
        self.put_in_force();
        self.links.remotes.set_wall_clock(wall_clock);
    }

    /// The link on `side` is another one.
    pub(super) fn change_link(&mut self, side: Side) {
        let described = self.described(side);
        // What was found is of another link.
        if side == Side::Satellite {
            self.dissolve_remotes();
        }
        let link = &mut self.links[side];
        link.reconfigure(&described);
        for (_, flow) in &mut self.flows {
            link.renew(&mut flow.turns[side]);
        }
        self.put_in_force();
        for id in 0..self.slots() {
            self.follow_links(id);
            self.guess_remote(id);
        }
        // Nobody would limit them.
        if !self.links[side].is_told() {
            self.flows_believe(side);
        }
    }
}

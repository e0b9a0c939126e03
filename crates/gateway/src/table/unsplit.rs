//! Connections that are not split: counted, told of, and the last ones kept.

use super::Gateway;
use crate::handshake::{Obstacle, Syn};
use crate::key::{Endpoint, FlowKey};
use crate::observe::{Event, Hosts, Reason, Unsplit};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::Instant;

impl From<Obstacle> for Reason {
    fn from(obstacle: Obstacle) -> Reason {
        match obstacle {
            Obstacle::Refused => Reason::Refused,
            Obstacle::Aborted => Reason::Aborted,
            Obstacle::Unreachable => Reason::Unreachable,
            Obstacle::OneWay => Reason::OneWay,
            Obstacle::Simultaneous => Reason::NotOpened,
        }
    }
}

impl<B: Buffer> Gateway<B> {
    /// The last connections that were not split, by reason, the oldest first.
    pub fn unsplit(&self) -> impl Iterator<Item = &Unsplit> {
        self.unsplit.iter()
    }

    /// The connection of `client` between the ends of `key` is not split.
    pub(super) fn note_unsplit(
        &mut self,
        now: Instant,
        key: &FlowKey,
        client: Endpoint,
        reason: Reason,
    ) {
        let server = key.end(!key.is_low(client));
        let hosts = Hosts { client: client.into(), server: server.into() };
        let opener = self.clients.origin(key, client.0);
        self.summary.count_unsplit(reason);
        if let Some(left_out) = self.unsplit.note(now, hosts, opener, reason) {
            self.events.push(Event::NotSplit(hosts, reason, left_out));
        }
    }

    /// Whether there is a flow of this name, or is to be one, or was until now.
    pub(super) fn has_flow(&self, key: &FlowKey) -> bool {
        self.table.contains_key(key) || self.half_open.contains(key) || self.over.contains(key)
    }

    /// A connection without a SYN-ACK is forgotten; why is told elsewhere.
    pub(super) fn forget_half_open_quietly(&mut self, key: &FlowKey) {
        if let Some(syn) = self.half_open.remove(key) {
            self.clients.remove(key, syn.client(key).0);
        }
    }

    /// A connection without a SYN-ACK is forgotten, and why.
    pub(super) fn forget_half_open(&mut self, now: Instant, key: &FlowKey, reason: Reason) {
        if let Some(syn) = self.half_open.remove(key) {
            self.forget_syn(now, key, &syn, reason);
        }
    }

    /// The same for all those that have been taken out, each unless it shows another reason itself.
    pub(super) fn forget_syns(&mut self, now: Instant, gone: Vec<(FlowKey, Syn)>, reason: Reason) {
        for (key, syn) in gone {
            self.forget_syn(now, &key, &syn, syn.obstacle().map_or(reason, Reason::from));
        }
    }

    fn forget_syn(&mut self, now: Instant, key: &FlowKey, syn: &Syn, reason: Reason) {
        let client = syn.client(key);
        self.note_unsplit(now, key, client, reason);
        self.clients.remove(key, client.0);
    }

    /// A flow whose SYN-ACK the client has not acknowledged is forgotten, and why.
    pub(super) fn forget_opening(&mut self, now: Instant, id: usize, reason: Reason) {
        let (key, client) = (self.flows[id].key(), self.flows[id].client());
        self.note_unsplit(now, &key, client, reason);
        self.remove(id);
    }
}

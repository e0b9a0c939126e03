//! How many flows each client has, so that one host cannot take the whole table.
//!
//! A client is an address: that of a connection's SYN, or, where NAT on the gateway's own host has
//! translated it, that from which it came there.

use super::Gateway;
use crate::key::FlowKey;
use bentpipe_core::tcp::buffer::Buffer;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// Flows by the client's address, half-open ones included.
#[derive(Debug, Default)]
pub(super) struct Clients {
    flows: BTreeMap<IpAddr, u32>,
    /// Who opens connections whose addresses were translated.
    origins: BTreeMap<FlowKey, IpAddr>,
}

impl Clients {
    /// Who opens a connection whose SYN comes from this address.
    pub(super) fn origin(&self, key: &FlowKey, address: IpAddr) -> IpAddr {
        self.origins.get(key).copied().unwrap_or(address)
    }

    pub(super) fn flows_of(&self, client: IpAddr) -> usize {
        self.flows.get(&client).map_or(0, |flows| *flows as usize)
    }

    /// A flow begins, whose SYN comes from this address.
    pub(super) fn add(&mut self, key: &FlowKey, address: IpAddr) {
        *self.flows.entry(self.origin(key, address)).or_default() += 1;
    }

    /// The flow is over.
    pub(super) fn remove(&mut self, key: &FlowKey, address: IpAddr) {
        let client = self.origins.remove(key).unwrap_or(address);
        if let Some(flows) = self.flows.get_mut(&client) {
            *flows -= 1;
            if *flows == 0 {
                self.flows.remove(&client);
            }
        }
    }

    /// All clients' flows together.
    #[cfg(test)]
    pub(super) fn total(&self) -> usize {
        self.flows.values().map(|flows| *flows as usize).sum()
    }
}

impl<B: Buffer> Gateway<B> {
    /// The connection that a SYN from `client` to `server` asks for, and which comes next, is
    /// opened by `origin`: NAT on this host has translated its address. Rules and limits for
    /// clients go by that.
    pub fn introduce(&mut self, client: SocketAddr, server: SocketAddr, origin: IpAddr) {
        let key = FlowKey::between((client.ip(), client.port()), (server.ip(), server.port()));
        if !self.table.contains_key(&key) && !self.half_open.contains(&key) {
            self.clients.origins.insert(key, origin);
        }
    }

    /// What was [introduced](Gateway::introduce) is not split.
    pub fn dismiss(&mut self, client: SocketAddr, server: SocketAddr) {
        let key = FlowKey::between((client.ip(), client.port()), (server.ip(), server.port()));
        if !self.table.contains_key(&key) && !self.half_open.contains(&key) {
            self.clients.origins.remove(&key);
        }
    }

    /// Connections of which it is known who opens them.
    #[cfg(test)]
    pub(crate) fn origins(&self) -> usize {
        self.clients.origins.len()
    }
}

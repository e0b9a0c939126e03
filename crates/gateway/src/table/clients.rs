//! How many flows each client has, so that one host cannot take the whole table.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// Flows by the client's address, half-open ones included.
#[derive(Debug, Default)]
pub(super) struct Clients {
    flows: BTreeMap<IpAddr, u32>,
}

impl Clients {
    pub(super) fn flows_of(&self, client: IpAddr) -> usize {
        self.flows.get(&client).map_or(0, |flows| *flows as usize)
    }

    pub(super) fn add(&mut self, client: IpAddr) {
        *self.flows.entry(client).or_default() += 1;
    }

    pub(super) fn remove(&mut self, client: IpAddr) {
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

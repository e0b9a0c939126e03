//! Two `gateway.toml`s compared: what of the one a gateway that runs by the other can take.

use super::{GatewayFile, Interface};

impl GatewayFile {
    /// The keys in which `new` differs, and which cannot change while a gateway runs: its devices and rules are made
    /// for the interfaces, hosts and other gateways have been promised what `splitting` says.
    pub fn fixed_keys_changed(&self, new: &GatewayFile) -> Vec<&'static str> {
        let (ours, theirs) = (&self.config, &new.config);
        let keys = [
            ("interfaces.lan", names(&self.lan) != names(&new.lan)),
            ("interfaces.satellite", names(&self.satellite) != names(&new.satellite)),
            ("splitting.handshake", ours.handshake != theirs.handshake),
            ("splitting.fin", ours.fin != theirs.fin),
            ("splitting.fin-hold", ours.fin_hold != theirs.fin_hold),
            ("splitting.announce", ours.announce != theirs.announce),
            ("splitting.adopt-after", ours.adopt_after != theirs.adopt_after),
            ("splitting.soft-state", ours.soft_state != theirs.soft_state),
            ("policy.reject-quic", self.reject_quic != new.reject_quic),
            ("metrics.listen", self.metrics != new.metrics),
        ];
        keys.into_iter().filter_map(|(key, changed)| changed.then_some(key)).collect()
    }

    /// The tables of which `new` says something else that a gateway that runs can take.
    pub fn tables_changed(&self, new: &GatewayFile) -> Vec<&'static str> {
        let (ours, theirs) = (&self.config, &new.config);
        let limits = |file: &GatewayFile| {
            let config = &file.config;
            let flows = (config.max_flows, config.max_half_open, config.max_flows_per_client);
            let bytes = (config.memory, config.max_stream, config.guaranteed);
            (bytes, flows, config.reset_drain, file.drain)
        };
        let satellite = (ours.satellite, ours.add_options);
        let tables = [
            ("satellite", satellite != (theirs.satellite, theirs.add_options)),
            ("lan", ours.lan != theirs.lan),
            ("limits", limits(self) != limits(new)),
            ("policy", ours.policy != theirs.policy),
            ("log", self.log_every != new.log_every),
        ];
        tables.into_iter().filter_map(|(table, changed)| changed.then_some(table)).collect()
    }
}

/// In an order that does not matter.
fn names(side: &[Interface]) -> Vec<&str> {
    let mut names: Vec<&str> = side.iter().map(|interface| interface.name.as_str()).collect();
    names.sort_unstable();
    names
}

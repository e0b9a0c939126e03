//! Two `gateway.toml`s compared: what of the one a gateway that runs by the other can take.

use super::key::{changed, refused};
use super::{GatewayFile, Interface, deployment, leg, limits, policy, satellite, splitting};

impl GatewayFile {
    /// The keys in which `new` differs, and which cannot change while a gateway runs: its devices
    /// and rules are made for the interfaces, hosts and other gateways have been promised what
    /// `splitting` says.
    pub fn fixed_keys_changed(&self, new: &GatewayFile) -> Vec<String> {
        let interfaces = [
            ("interfaces.lan", names(&self.lan) != names(&new.lan)),
            ("interfaces.satellite", names(&self.satellite) != names(&new.satellite)),
        ];
        let interfaces = interfaces.into_iter().filter(|(_, changed)| *changed);
        let (ours, theirs) = (&self.config, &new.config);
        interfaces
            .map(|(key, _)| key.to_owned())
            .chain(refused("satellite", satellite::KEYS, ours, theirs))
            .chain(refused("satellite", leg::KEYS, &ours.satellite, &theirs.satellite))
            .chain(refused("lan", leg::KEYS, &ours.lan, &theirs.lan))
            .chain(refused("splitting", splitting::KEYS, ours, theirs))
            .chain(refused("limits", limits::KEYS, ours, theirs))
            .chain(refused("limits", limits::DEPLOYED_KEYS, self, new))
            .chain(refused("policy", policy::KEYS, ours, theirs))
            .chain(refused("policy", policy::DEPLOYED_KEYS, self, new))
            .chain(refused("metrics", deployment::METRICS_KEYS, self, new))
            .chain(refused("log", deployment::LOG_KEYS, self, new))
            .collect()
    }

    /// The tables of which `new` says something else that a gateway that runs can take.
    pub fn tables_changed(&self, new: &GatewayFile) -> Vec<&'static str> {
        let (ours, theirs) = (&self.config, &new.config);
        let satellite = changed(satellite::KEYS, ours, theirs)
            || changed(leg::KEYS, &ours.satellite, &theirs.satellite);
        let limits =
            changed(limits::KEYS, ours, theirs) || changed(limits::DEPLOYED_KEYS, self, new);
        let policy =
            changed(policy::KEYS, ours, theirs) || changed(policy::DEPLOYED_KEYS, self, new);
        let tables = [
            ("satellite", satellite),
            ("lan", changed(leg::KEYS, &ours.lan, &theirs.lan)),
            ("splitting", changed(splitting::KEYS, ours, theirs)),
            ("limits", limits),
            ("policy", policy),
            ("metrics", changed(deployment::METRICS_KEYS, self, new)),
            ("log", changed(deployment::LOG_KEYS, self, new)),
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

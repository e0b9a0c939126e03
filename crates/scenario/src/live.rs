//! A scenario's link on real packets, apart from its scenario.

use crate::fault::FaultKind;
use crate::names::LinkIndex;
use crate::scenario::Scenario;
use bentpipe_links::LiveLink;

impl Scenario {
    /// The link `index` in a run. It is out when a fault says so.
    pub fn live_link(&self, index: LinkIndex, run: u64) -> LiveLink {
        let link = self.link(index);
        let horizon = self.run.duration;
        let down = self.faults.iter().filter_map(|fault| match fault.kind {
            FaultKind::LinkDown(of) if of == index => {
                let rest = horizon.saturating_sub(fault.at);
                Some((fault.at, fault.lasting.unwrap_or(rest)))
            }
            _ => None,
        });
        LiveLink {
            name: link.name.clone(),
            directions: [link.forward.clone(), link.back.clone()],
            mtu: link.mtu,
            down: down.collect(),
            seeds: self.seeds(run),
            horizon,
            notes: Vec::new(),
        }
    }

    /// Whether link `index` shares a medium with another one.
    pub fn shares_medium(&self, index: LinkIndex) -> bool {
        let names = |at: usize| {
            let link = &self.links[at];
            [&link.forward, &link.back].into_iter().filter_map(|way| way.medium.as_deref())
        };
        (0..self.links.len())
            .filter(|other| *other != index.0)
            .any(|other| names(other).any(|name| names(index.0).any(|own| own == name)))
    }
}

//! A link that is to be emulated on real packets: all that a run of it takes.

use crate::fault::FaultKind;
use crate::impaired::Impaired;
use crate::link::Direction;
use crate::medium::media;
use crate::names::LinkIndex;
use crate::random::Seeds;
use crate::scenario::Scenario;
use bentpipe_core::link::{LinkConfig, Medium};
use bentpipe_core::time::Duration;

/// A link apart from its scenario, or one that was never in any.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveLink {
    /// Its random numbers are drawn by this name.
    pub name: String,
    /// Forward, and back.
    pub directions: [Direction; 2],
    /// The longest packet that it carries, if there is a limit.
    pub mtu: Option<u32>,
    /// When it is out besides: spans (beginning, length).
    pub down: Vec<(Duration, Duration)>,
    /// Random numbers.
    pub seeds: Seeds,
    /// Random outages are drawn for so long.
    pub horizon: Duration,
}

impl LiveLink {
    /// The link `index` of `scenario` in a run. It is out when a fault says so.
    pub fn of(scenario: &Scenario, index: LinkIndex, run: u64) -> LiveLink {
        let link = scenario.link(index);
        let horizon = scenario.run.duration;
        let down = scenario.faults.iter().filter_map(|fault| match fault.kind {
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
            seeds: scenario.seeds(run),
            horizon,
        }
    }

    /// Both directions, forward first, with the random numbers that a simulation has.
    pub fn parts(&self) -> [(LinkConfig, Option<Impaired>); 2] {
        [0, 1].map(|number| {
            let direction = &self.directions[number];
            let name = format!("link.{}/{}", self.name, ["forward", "back"][number]);
            let config = direction.config(self.seeds, &name, self.horizon, self.down.clone());
            let (what, order) = (&direction.impairments, direction.order);
            (config, Impaired::new(what, order, self.seeds, &name))
        })
    }

    /// What its directions share, if it is a medium: forward is line 0.
    pub fn medium(&self) -> Option<Medium> {
        media(self.directions.iter().zip(0..), self.seeds).pop()
    }
}

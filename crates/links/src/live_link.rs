//! A link that is to be emulated on real packets: all that a run of it takes.

use crate::direction::DirectionConfig;
use crate::medium::media;
use crate::random::Seeds;
use crate::spec::DirectionSpec;
use bentpipe_core::link::Medium;
use bentpipe_core::time::Duration;

/// A link apart from its scenario, or one that was never in any.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveLink {
    /// Its random numbers are drawn by this name.
    pub name: String,
    /// Forward, and back.
    pub directions: [DirectionSpec; 2],
    /// The longest packet that it carries, if there is a limit.
    pub mtu: Option<u32>,
    /// When it is out besides: spans (beginning, length).
    pub down: Vec<(Duration, Duration)>,
    /// Random numbers.
    pub seeds: Seeds,
    /// Random outages are drawn for so long.
    pub horizon: Duration,
    /// Notes of its traces' reader: things left out, or taken as something.
    pub notes: Vec<String>,
}

impl LiveLink {
    /// Configures both directions, forward first, with the random numbers that a simulation has.
    pub fn configs(&self) -> [DirectionConfig; 2] {
        [0, 1].map(|number| {
            let name = format!("link.{}/{}", self.name, ["forward", "back"][number]);
            let down = self.down.clone();
            self.directions[number].config(self.seeds, &name, self.horizon, down)
        })
    }

    /// What its directions share, if it is a medium: forward is line 0.
    pub fn medium(&self) -> Option<Medium> {
        media(self.directions.iter().zip(0..), self.seeds).pop()
    }
}

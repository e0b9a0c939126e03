//! A constellation from two-line element sets, moved by SGP4 (Vallado et al., AIAA 2006-6753): the
//! shortest way from ground to ground, over links between satellites or stations on the ground
//! where there are such.

mod elements;
mod graph;

#[cfg(test)]
mod tests;

pub use elements::{ElementSets, ElementSetsError, element_sets};

use super::pass::pass;
use super::{Pass, Position, Timing};
use bentpipe_core::time::Duration;
use graph::Graph;
use std::rc::Rc;

/// Which satellites have links to one another.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Crosslinks {
    /// None have.
    #[default]
    None,
    /// Each to the next and the one before in its plane, and to its neighbours in the planes
    /// beside: "+Grid".
    Grid,
}

/// Satellites, stations and how they are used.
#[derive(Debug, Clone)]
pub struct Constellation {
    sets: Rc<ElementSets>,
    /// Planes and satellites in each, where there are crosslinks.
    grid: Option<[u32; 2]>,
    /// On the ground between the two ends: what one satellite sends down there goes up again.
    relays: Vec<Position>,
    /// In degrees: below this no station uses a satellite.
    min_elevation: f64,
    /// When the way is chosen. The epoch is that of the newest element set.
    pub(crate) timing: Timing,
}

impl Constellation {
    /// Below `min_elevation` (degrees) no station uses a satellite; without slots the way is chosen
    /// in every step. `None` if crosslinks are to be a grid and the element sets do not say what it
    /// is like.
    pub fn new(
        sets: ElementSets,
        crosslinks: Crosslinks,
        relays: Vec<Position>,
        min_elevation: f64,
        timing: Timing,
    ) -> Option<Constellation> {
        let grid = match crosslinks {
            Crosslinks::None => None,
            Crosslinks::Grid => Some(sets.grid?),
        };
        let timing = Timing { slot: timing.slot.or(Some(timing.step)), ..timing };
        Some(Constellation { sets: Rc::new(sets), grid, relays, min_elevation, timing })
    }

    /// The link between `a` and `b` for `duration`. In its ways satellites have the numbers of
    /// their places in the file, from 0, and relays those behind them.
    pub fn pass(&self, a: Position, b: Position, duration: Duration) -> Pass {
        let stations = [a, b].into_iter().chain(self.relays.iter().copied());
        let mut graph = Graph::new(&self.sets, self.grid, stations, self.min_elevation);
        pass(&mut graph, &self.timing, duration)
    }

    /// How many satellites there are.
    pub fn satellites(&self) -> usize {
        self.sets.satellites.len()
    }
}

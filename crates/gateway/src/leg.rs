//! A flow's two legs, and what there is one of for each.

use serde::{Deserialize, Serialize};
use std::ops::{Index, IndexMut};

/// A leg of a flow: the TCP between the gateway and one of the hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leg {
    /// Towards the host that sent the SYN.
    Client = 0,
    /// Towards the host to which it was sent.
    Server = 1,
}

impl Leg {
    /// Both of them.
    pub(crate) const BOTH: [Leg; 2] = [Leg::Client, Leg::Server];

    /// The leg towards the other host.
    pub(crate) fn other(self) -> Leg {
        match self {
            Leg::Client => Leg::Server,
            Leg::Server => Leg::Client,
        }
    }
}

/// One value for each leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct PerLeg<T>([T; 2]);

impl<T> PerLeg<T> {
    pub(crate) const fn new(client: T, server: T) -> PerLeg<T> {
        PerLeg([client, server])
    }

    /// What `make` gives for each leg, the client's first.
    pub(crate) fn of(make: impl FnMut(Leg) -> T) -> PerLeg<T> {
        PerLeg(Leg::BOTH.map(make))
    }

    /// The client's value and the server's.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }

    /// The same, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }

    /// What `make` gives for each value.
    pub(crate) fn map<U>(self, make: impl FnMut(T) -> U) -> PerLeg<U> {
        PerLeg(self.0.map(make))
    }

    /// The client's value and the server's.
    pub(crate) fn into_array(self) -> [T; 2] {
        self.0
    }
}

impl<T> IntoIterator for PerLeg<T> {
    type Item = T;
    type IntoIter = std::array::IntoIter<T, 2>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<T> Index<Leg> for PerLeg<T> {
    type Output = T;

    fn index(&self, leg: Leg) -> &T {
        &self.0[leg as usize]
    }
}

impl<T> IndexMut<Leg> for PerLeg<T> {
    fn index_mut(&mut self, leg: Leg) -> &mut T {
        &mut self.0[leg as usize]
    }
}

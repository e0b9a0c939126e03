//! The gateway's two sides, and what there is one of for each.

use std::ops::{Index, IndexMut};

/// A side of the gateway.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Side {
    /// The network of the near hosts.
    Lan = 0,
    /// The satellite link.
    Satellite = 1,
}

impl Side {
    /// Both of them.
    pub const BOTH: [Side; 2] = [Side::Lan, Side::Satellite];

    /// The opposite side.
    pub fn other(self) -> Side {
        match self {
            Side::Lan => Side::Satellite,
            Side::Satellite => Side::Lan,
        }
    }

    /// A word for logs and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Side::Lan => "lan",
            Side::Satellite => "satellite",
        }
    }
}

/// One value for each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PerSide<T>([T; 2]);

impl<T> PerSide<T> {
    /// What `make` gives for each side, the LAN first.
    pub fn of(make: impl FnMut(Side) -> T) -> PerSide<T> {
        PerSide(Side::BOTH.map(make))
    }

    /// The LAN's value and the satellite's.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }
}

impl<T> From<[T; 2]> for PerSide<T> {
    /// The LAN's value comes first.
    fn from(values: [T; 2]) -> PerSide<T> {
        PerSide(values)
    }
}

impl<T> Index<Side> for PerSide<T> {
    type Output = T;

    fn index(&self, side: Side) -> &T {
        &self.0[side as usize]
    }
}

impl<T> IndexMut<Side> for PerSide<T> {
    fn index_mut(&mut self, side: Side) -> &mut T {
        &mut self.0[side as usize]
    }
}

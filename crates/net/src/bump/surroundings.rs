//! What is around the devices, and may be in the way: how interfaces hang together, and what the kernel is set to.

use crate::divert::checks::{self, Finding};
use crate::divert::{DivertConfig, Side};
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

/// The configured interfaces and our devices.
#[derive(Debug, Clone)]
pub struct Surroundings {
    config: DivertConfig,
}

/// What there is of a configured interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Up,
    Down,
    Gone,
}

impl Surroundings {
    /// Of the interfaces of both sides, each with its TUN device.
    pub fn of(sides: [Side; 2]) -> Surroundings {
        Surroundings { config: DivertConfig::tcp(sides) }
    }

    /// What may be in the way now.
    pub fn findings(&self) -> Vec<Finding> {
        checks::around(&self.config)
    }

    /// The interfaces of the satellite's side.
    pub(super) fn satellite(&self) -> &[String] {
        &self.config.sides[1].interfaces
    }

    /// The configured interfaces, as they are now.
    pub(super) fn presences(&self) -> Vec<(String, Presence)> {
        let found = getifaddrs().into_iter().flatten();
        let found: Vec<_> = found.map(|it| (it.interface_name, it.flags)).collect();
        let presence = |name: &String| match found.iter().find(|(found, _)| found == name) {
            Some((_, flags)) if flags.contains(InterfaceFlags::IFF_UP) => Presence::Up,
            Some(_) => Presence::Down,
            None => Presence::Gone,
        };
        let names = self.config.sides.iter().flat_map(|side| &side.interfaces);
        names.map(|name| (name.clone(), presence(name))).collect()
    }
}

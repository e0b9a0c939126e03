//! What is around the interfaces whose packets are taken, and may be in the way: how interfaces
//! hang together, flow tables and what the kernel is set to.

mod finding;
mod flow_tables;
mod links;
mod settings;

pub use finding::Finding;
pub use links::list;

use crate::interface::{InterfaceError, min_mtu, own_name};
use links::Links;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use settings::Settings;

/// What an interface carries that is not there yet: IPv6's minimum (RFC 8200, section 5).
const UNKNOWN_MTU: u16 = 1280;

/// One side: where its packets come in, and the device of ours that stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// The interfaces towards this side.
    pub interfaces: Vec<String>,
    /// The device's name.
    pub tun: String,
}

/// The configured interfaces and our devices.
#[derive(Debug, Clone)]
pub struct Surroundings {
    sides: [Side; 2],
}

/// What there is of a configured interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It carries packets.
    Up,
    /// It is there, and set down.
    Down,
    /// There is none of this name.
    Gone,
}

impl Surroundings {
    /// Of the interfaces of both sides, the LAN's and the satellite's, each with its device.
    pub fn of(sides: [Side; 2]) -> Surroundings {
        Surroundings { sides }
    }

    /// What may be in the way of a gateway now: what hands packets on past its programs at the
    /// interfaces, and what connections over a satellite need anyway.
    pub fn findings(&self) -> Vec<Finding> {
        let sides = self.sides_by_own_names();
        let mut findings = Links::read(&sides).inspect(&sides);
        findings.extend(Settings::read(&sides).inspect());
        findings.extend(flow_tables::find(&sides));
        findings
    }

    /// What may be in the way of an emulated link between the two sides.
    pub fn findings_of_a_link(&self) -> Vec<Finding> {
        let sides = self.sides_by_own_names();
        let mut findings = Settings::read(&sides).inspect();
        // An emulator says itself what is too long.
        findings.retain(|finding| !matches!(finding, Finding::Mtu { .. }));
        findings.extend(flow_tables::find(&sides));
        findings
    }

    /// As the kernel and its programs name the interfaces.
    fn sides_by_own_names(&self) -> [Side; 2] {
        self.sides.clone().map(|side| Side {
            interfaces: side.interfaces.iter().map(|name| own_name(name)).collect(),
            ..side
        })
    }

    /// The interfaces of both sides, the LAN's and the satellite's.
    pub fn interfaces(&self) -> [&[String]; 2] {
        [&self.sides[0].interfaces, &self.sides[1].interfaces]
    }

    /// The longest packets that each side carries now, in bytes.
    ///
    /// # Errors
    /// [`InterfaceError`].
    pub fn mtus(&self) -> Result<[u16; 2], InterfaceError> {
        let of = |side: &Side| -> Result<u16, InterfaceError> {
            let there = side.interfaces.iter().filter(|it| if_nametoindex(it.as_str()).is_ok());
            let there: Vec<String> = there.cloned().collect();
            let mtu = min_mtu(&there)?;
            let all_there = there.len() == side.interfaces.len();
            Ok(if all_there { mtu } else { mtu.min(UNKNOWN_MTU) })
        };
        Ok([of(&self.sides[0])?, of(&self.sides[1])?])
    }

    /// The interfaces of the satellite's side.
    pub fn satellite(&self) -> &[String] {
        &self.sides[1].interfaces
    }

    /// The configured interfaces, as they are now.
    pub fn presences(&self) -> Vec<(String, Presence)> {
        let found = getifaddrs().into_iter().flatten();
        let found: Vec<_> = found.map(|it| (it.interface_name, it.flags)).collect();
        let presence = |name: &String| {
            let name = own_name(name);
            match found.iter().find(|(found, _)| *found == name) {
                Some((_, flags)) if flags.contains(InterfaceFlags::IFF_UP) => Presence::Up,
                Some(_) => Presence::Down,
                None => Presence::Gone,
            }
        };
        let names = self.sides.iter().flat_map(|side| &side.interfaces);
        names.map(|name| (name.clone(), presence(name))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_is_not_there_is_taken_to_carry_the_minimum() {
        let side =
            |interface: &str| Side { interfaces: vec![interface.into()], tun: String::new() };
        let mtus = Surroundings::of([side("bp-none-1"), side("bp-none-2")]).mtus();
        assert_eq!(mtus.unwrap(), [UNKNOWN_MTU; 2]);
    }
}

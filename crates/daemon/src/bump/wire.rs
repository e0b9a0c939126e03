//! What is set up for taking packets: TUN devices, and programs on them and on the devices whose
//! packets are taken. Others delete devices, set them down and make them again, so it is looked
//! after.

use super::classification::Way;
use super::counting::CounterMaps;
use super::programs::{Links, give, take};
use super::table::Table;
use super::{BumpConfig, BumpError};
use bentpipe_linux::bpf::attach::{Attached, Hook};
use bentpipe_linux::bpf::map::Map;
use bentpipe_linux::bpf::program::Program;
use bentpipe_linux::bpf::{Attachment, BpfError};
use bentpipe_linux::interface::{L2, l2, vrf};
use bentpipe_linux::own_device;
use bentpipe_linux::receive_steering;
use bentpipe_linux::tun::{FRAME_LEN, Offload, Tun};
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The largest packet, so that the devices are not why one is refused.
const MTU: usize = 65_535;

/// How many packets wait in a device: what all hosts' windows allow on a path that only we slow
/// down. 500, the kernel's own number, are lost with 64 flows at full speed.
const QUEUE: u32 = 4096;

/// A traffic class index that nobody uses: of `bentpipe`, by chance.
const SEAL: u16 = 0xb9e5;

/// The most interfaces that a LAN has.
const LAN: u32 = 1024;

/// Ways, with the hook of the device for each.
const WAYS: [(Way, Hook); 2] = [(Way::Out, Hook::Egress), (Way::In, Hook::Ingress)];

/// Packets are taken at the devices for as long as this lives, while somebody vouches for us.
#[derive(Debug)]
pub struct Wire {
    // Programs are taken off before the TUN devices' own go.
    attached_devices: Vec<AttachedDevice>,
    gives: Vec<(u32, Attached)>,
    tuns: [String; 2],
    devices: Vec<String>,
    offload: Offload,
    attachment: Attachment,
    lan: Option<Lan>,
    ipsec: bool,
    quic: bool,
    table: Arc<Table>,
}

/// A device whose packets are taken.
#[derive(Debug)]
struct AttachedDevice {
    device: String,
    number: u32,
    attached: Vec<Attached>,
}

/// What comes in there is a LAN's.
#[derive(Debug)]
struct Lan {
    interfaces: Vec<String>,
    /// VRFs that they are in: what comes in there has come in by them to the kernel.
    vrfs: Vec<String>,
    set: Map<u32, u32>,
    /// What is in it.
    numbers: BTreeSet<u32>,
}

/// What was found amiss, and has been set right.
#[derive(Debug)]
pub(super) enum Repaired {
    /// A TUN device had been deleted, and this is the new one, of a way.
    Tun(usize, Tun),
    /// A TUN device had been set down.
    Down(String),
    /// No program was on a device any more; packets have gone by.
    Program(String),
    /// The device is another one of the same name, whose first packets may have gone by.
    Device(String),
}

impl Wire {
    pub(super) fn set_up(
        config: &BumpConfig,
        table: Arc<Table>,
    ) -> Result<(Wire, [Tun; 2]), BumpError> {
        let BumpConfig { devices, lan, tuns: names, offload, attachment, reject_quic, .. } = config;
        let tuns = [Tun::open(&names[0], *offload)?, Tun::open(&names[1], *offload)?];
        let lan = lan.as_ref().map(|interfaces| -> Result<Lan, BpfError> {
            let set = Map::hash("bentpipe_lan", LAN)?;
            let (interfaces, vrfs) = (interfaces.clone(), vrfs_of(interfaces));
            Ok(Lan { interfaces, vrfs, set, numbers: BTreeSet::new() })
        });
        let mut wire = Wire {
            attached_devices: Vec::new(),
            gives: Vec::new(),
            tuns: names.clone(),
            devices: devices.clone(),
            offload: *offload,
            attachment: *attachment,
            lan: lan.transpose()?,
            ipsec: true,
            quic: *reject_quic,
            table,
        };
        wire.know_lan()?;
        for way in 0..WAYS.len() {
            wire.begin(way)?;
        }
        // Those that are not there yet are found when they come.
        for device in devices.iter().filter(|device| if_nametoindex(device.as_str()).is_ok()) {
            let attached = wire.take_at(device)?;
            wire.attached_devices.push(attached);
        }
        Ok((wire, tuns))
    }

    /// Ends, and leaves programs for its successor, if taking them off loses packets.
    /// Nobody vouches any more, so they let everything pass.
    pub fn end_for_successor(mut self) {
        for device in self.attached_devices.drain(..) {
            device.attached.into_iter().for_each(Attached::stay_for_successor);
        }
    }

    /// What [`Table::begun`] says.
    pub(super) fn begun(&self) -> Result<(u64, u64, u32), Errno> {
        self.table.begun()
    }

    /// Sets right what is not as it should be. What cannot be is left for the next time. `changed`:
    /// something is not as it was among interfaces.
    ///
    /// # Errors
    /// [`BumpError`], of what was tried last.
    pub(super) fn look_after(
        &mut self,
        changed: bool,
        repaired: &mut Vec<Repaired>,
    ) -> Result<(), BumpError> {
        if let Some(lan) = self.lan.as_mut().filter(|_| changed) {
            lan.vrfs = vrfs_of(&lan.interfaces);
        }
        let up: BTreeSet<String> = getifaddrs()?
            .filter(|it| it.flags.contains(InterfaceFlags::IFF_UP))
            .map(|it| it.interface_name)
            .collect();
        self.know_lan()?;
        let mut outcome = Ok(());
        for way in 0..WAYS.len() {
            let name = self.tuns[way].clone();
            let is_there = if_nametoindex(name.as_str()) == Ok(self.gives[way].0);
            if is_there && up.contains(&name) {
                if !self.gives[way].1.stands() {
                    match self.begin(way) {
                        Ok(()) => repaired.push(Repaired::Program(name)),
                        Err(error) => outcome = Err(error),
                    }
                }
                continue;
            }
            let again = if is_there { set_up_link(&name) } else { self.make_again(way, repaired) };
            match again {
                Ok(()) if is_there => repaired.push(Repaired::Down(name)),
                Ok(()) => {}
                Err(error) => outcome = Err(error),
            }
        }
        for device in self.devices.clone() {
            let Ok(number) = if_nametoindex(device.as_str()) else { continue };
            let at = self.attached_devices.iter().position(|attached| attached.device == device);
            let before = at.map(|at| &self.attached_devices[at]);
            let is_same = before.is_some_and(|attached| attached.number == number);
            if is_same && before.is_some_and(|it| it.attached.iter().all(Attached::stands)) {
                continue;
            }
            let before = before.map(|attached| attached.number).filter(|before| *before != number);
            self.attached_devices.retain(|attached| attached.device != device);
            match self.take_at(&device) {
                Ok(attached) => {
                    self.attached_devices.push(attached);
                    if let Some(before) = before {
                        self.table.renumber([before, number], address_of(&device))?;
                    }
                    repaired.push(match is_same {
                        true => Repaired::Program(device),
                        false => Repaired::Device(device),
                    });
                }
                Err(error) => outcome = Err(error),
            }
        }
        outcome
    }

    /// A TUN device that was deleted.
    fn make_again(&mut self, way: usize, repaired: &mut Vec<Repaired>) -> Result<(), BumpError> {
        let tun = Tun::open(&self.tuns[way], self.offload)?;
        // These name it by its number.
        self.attached_devices.clear();
        self.begin(way)?;
        repaired.push(Repaired::Tun(way, tun));
        for device in self.devices.clone() {
            let attached = self.take_at(&device)?;
            self.attached_devices.push(attached);
        }
        Ok(())
    }

    /// Sets a TUN device up, and what is written there goes on.
    fn begin(&mut self, way: usize) -> Result<(), BumpError> {
        let name = self.tuns[way].clone();
        set_up_link(&name)?;
        // Without it all is as right, and slower where the thread is busy.
        let _ = receive_steering::spread(&name);
        let program = Program::load("bentpipe_give", give(WAYS[way].0, self.links()))?;
        let attached = Attached::new(&program, self.attachment, &name, Hook::Ingress)?;
        let begun = (number_of(&name)?, attached);
        match self.gives.get_mut(way) {
            Some(before) => *before = begun,
            None => self.gives.push(begun),
        }
        Ok(())
    }

    fn take_at(&mut self, device: &str) -> Result<AttachedDevice, BumpError> {
        let l2 = header_of(device)?;
        let number = number_of(device)?;
        let mut attached = Vec::new();
        for ((way, hook), tun) in WAYS.into_iter().zip([self.gives[0].0, self.gives[1].0]) {
            let (program, ipsec) = load_take(way, l2, self.links(), tun)?;
            self.ipsec = ipsec;
            attached.push(Attached::new(&program, self.attachment, device, hook)?);
        }
        Ok(AttachedDevice { device: device.to_owned(), number, attached })
    }

    fn links(&self) -> Links {
        Links {
            lan: self.lan.as_ref().map(|lan| lan.set.fd()),
            quic: self.quic,
            ipsec: self.ipsec,
            ..links(&self.table)
        }
    }

    /// The interfaces of the LAN have the numbers that they have now.
    fn know_lan(&mut self) -> Result<(), BumpError> {
        let Some(Lan { interfaces, vrfs, set, numbers }) = &mut self.lan else { return Ok(()) };
        let names = interfaces.iter().chain(&*vrfs);
        let now = names.filter_map(|name| if_nametoindex(name.as_str()).ok()).collect();
        for gone in numbers.difference(&now) {
            set.remove(gone)?;
        }
        for new in now.difference(numbers) {
            set.set(new, &1)?;
        }
        *numbers = now;
        Ok(())
    }
}

/// Loads each program, and attaches none.
pub(super) fn try_programs() -> Result<(), BpfError> {
    let table = Table::new(1)?;
    for (way, _) in WAYS {
        Program::load("bentpipe_give", give(way, links(&table)))?;
        load_take(way, FRAME_LEN, links(&table), 1)?;
    }
    Ok(())
}

/// Loads the program that takes packets, and says whether that asks the kernel about IPsec.
fn load_take(way: Way, l2: usize, links: Links, tun: u32) -> Result<(Program, bool), BpfError> {
    let load = |ipsec| {
        let program = take(way, l2, Links { ipsec, ..links }, tun);
        Ok((Program::load("bentpipe_take", program)?, ipsec))
    };
    match load(links.ipsec) {
        // A kernel without IPsec does not know what is asked about that.
        Err(_) if links.ipsec && way == Way::In => load(false),
        loaded => loaded,
    }
}

/// What programs share with us, of any interface.
pub(super) fn links(table: &Table) -> Links {
    Links {
        paths: table.paths.fd(),
        pieces: table.pieces.fd(),
        values: table.vouching.values.fd(),
        counters: CounterMaps {
            by_class: table.counters.by_class.fd(),
            by_prefix: table.counters.by_prefix.fd(),
        },
        lan: None,
        quic: false,
        ipsec: true,
        seal: SEAL,
    }
}

fn vrfs_of(interfaces: &[String]) -> Vec<String> {
    interfaces.iter().filter_map(|name| vrf(name).ok().flatten()).collect()
}

fn set_up_link(name: &str) -> Result<(), BumpError> {
    Ok(own_device::set_up(name, MTU, QUEUE)?)
}

fn number_of(device: &str) -> Result<u32, BpfError> {
    if_nametoindex(device).map_err(|errno| BpfError::attach(device, errno))
}

/// A device's Ethernet address.
fn address_of(device: &str) -> Option<[u8; 6]> {
    let mut found = getifaddrs().ok()?.filter(|it| it.interface_name == device);
    found.find_map(|it| it.address?.as_link_addr()?.addr())
}

/// How many bytes a device's packets have in front of the IP header.
pub(super) fn header_of(device: &str) -> Result<usize, BumpError> {
    Ok(match l2(device)? {
        L2::Ethernet => FRAME_LEN,
        L2::Nothing => 0,
    })
}

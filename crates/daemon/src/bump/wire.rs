//! What is set up for taking packets: TUN devices, and programs on them and on the devices whose
//! packets are taken. Others delete devices, set them down and make them again, so it is looked
//! after.

use super::classification::Way;
use super::counting::CounterMaps;
use super::failures::Failures;
use super::programs::{Links, give, take};
use super::table::Table;
use super::{BumpConfig, BumpError};
use bentpipe_linux::bpf::attach::{Attached, Hook};
use bentpipe_linux::bpf::map::Map;
use bentpipe_linux::bpf::program::Program;
use bentpipe_linux::bpf::{Attachment, BpfError};
use bentpipe_linux::interface::{L2, l2, own_name, vrf};
use bentpipe_linux::interface_lock::InterfaceLock;
use bentpipe_linux::own_device;
use bentpipe_linux::receive_steering;
use bentpipe_linux::surroundings::Finding;
use bentpipe_linux::tun::{FRAME_LEN, Offload, Tun};
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// The largest packet, so that the devices are not why one is refused.
const MTU: usize = 65_535;

/// How many packets wait in a device: what all hosts' windows allow on a path that only we slow
/// down. 500, the kernel's own number, are lost with 64 flows at full speed.
const QUEUE: u32 = 4096;

/// A traffic class index that nobody uses: of `bentpipe`, by chance.
const SEAL: u16 = 0xb9e5;

/// The most interfaces that a LAN has.
const LAN: u32 = 1024;

/// How long a gateway that ends may take to let go of an interface.
const PATIENCE: Duration = Duration::from_secs(2);

/// Ways, with the hook of the device for each.
const WAYS: [(Way, Hook); 2] = [(Way::Out, Hook::Egress), (Way::In, Hook::Ingress)];

/// Packets are taken at the devices for as long as this lives, while somebody vouches for us.
#[derive(Debug)]
pub struct Wire {
    service: String,
    // Programs are taken off before the TUN devices' own go.
    attached_devices: Vec<AttachedDevice>,
    gives: Vec<(u32, Option<Attached>)>,
    tuns: [String; 2],
    devices: Vec<String>,
    /// The number that a device had when its packets were last taken.
    numbers: BTreeMap<String, u32>,
    offload: Offload,
    attachment: Attachment,
    lan: Option<Lan>,
    ipsec: bool,
    quic: bool,
    table: Arc<Table>,
    failures: Failures,
}

/// A device whose packets are taken.
#[derive(Debug)]
struct AttachedDevice {
    device: String,
    number: u32,
    attached: Vec<Attached>,
    /// Behind these: until they are gone it is ours.
    _lock: InterfaceLock,
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

/// What was found amiss, and what came of setting it right.
#[derive(Debug)]
pub(super) enum Repair {
    /// A TUN device had been deleted, and this is the new one, of a way.
    Tun(usize, Tun),
    /// A TUN device had been set down.
    Down(String),
    /// No program was on a device any more; packets have gone by.
    Program(String),
    /// The device is another one of the same name, whose first packets may have gone by.
    Device(String),
    /// What was on a device is gone, and cannot be put back: packets go by from now on.
    Failed(String),
}

impl Wire {
    pub(super) fn set_up(
        config: &BumpConfig,
        table: Arc<Table>,
    ) -> Result<(Wire, [Tun; 2]), BumpError> {
        let BumpConfig { service, devices, lan, tuns: names, offload, attachment, .. } = config;
        let tuns = [Tun::open(&names[0], *offload)?, Tun::open(&names[1], *offload)?];
        let lan = lan.as_ref().map(|interfaces| -> Result<Lan, BpfError> {
            let set = Map::hash("bentpipe_lan", LAN)?;
            let (interfaces, vrfs) = (interfaces.clone(), vrfs_of(interfaces));
            Ok(Lan { interfaces, vrfs, set, numbers: BTreeSet::new() })
        });
        let mut wire = Wire {
            service: service.clone(),
            attached_devices: Vec::new(),
            gives: Vec::new(),
            tuns: names.clone(),
            devices: devices.clone(),
            numbers: BTreeMap::new(),
            offload: *offload,
            attachment: *attachment,
            lan: lan.transpose()?,
            ipsec: true,
            quic: config.reject_quic,
            table,
            failures: Failures::default(),
        };
        wire.know_lan()?;
        for way in 0..WAYS.len() {
            wire.begin(way)?;
        }
        wire.take_at_all(PATIENCE)?;
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

    /// What cannot be set right so far.
    pub(super) fn findings(&self) -> Vec<Finding> {
        self.failures.findings()
    }

    /// Sets right what is not as it should be. What cannot be is left for the next time. `changed`:
    /// something is not as it was among interfaces.
    ///
    /// # Errors
    /// [`BumpError`], if it cannot be seen what is there.
    pub(super) fn look_after(
        &mut self,
        changed: bool,
        repairs: &mut Vec<Repair>,
    ) -> Result<(), BumpError> {
        if let Some(lan) = self.lan.as_mut().filter(|_| changed) {
            lan.vrfs = vrfs_of(&lan.interfaces);
        }
        let up: BTreeSet<String> = getifaddrs()?
            .filter(|it| it.flags.contains(InterfaceFlags::IFF_UP))
            .map(|it| it.interface_name)
            .collect();
        self.know_lan()?;
        for (way, name) in self.tuns.clone().into_iter().enumerate() {
            let outcome = self.look_after_tun(way, up.contains(&name), repairs);
            self.note(name, outcome, repairs);
        }
        for device in self.devices.clone() {
            let outcome = self.look_after_device(&device, repairs);
            self.note(device, outcome, repairs);
        }
        Ok(())
    }

    fn note(&mut self, device: String, outcome: Result<(), BumpError>, repairs: &mut Vec<Repair>) {
        if self.failures.note(&device, outcome) {
            repairs.push(Repair::Failed(device));
        }
    }

    fn look_after_tun(
        &mut self,
        way: usize,
        is_up: bool,
        repairs: &mut Vec<Repair>,
    ) -> Result<(), BumpError> {
        let name = self.tuns[way].clone();
        let (number, attached) = &self.gives[way];
        if if_nametoindex(name.as_str()) != Ok(*number) {
            return self.make_again(way, repairs);
        }
        if !is_up {
            set_up_link(&name)?;
            repairs.push(Repair::Down(name));
        } else if !attached.as_ref().is_some_and(Attached::stands) {
            self.begin(way)?;
            repairs.push(Repair::Program(name));
        }
        Ok(())
    }

    fn look_after_device(
        &mut self,
        device: &str,
        repairs: &mut Vec<Repair>,
    ) -> Result<(), BumpError> {
        let Ok(number) = if_nametoindex(device) else { return Ok(()) };
        let is_taken = |it: &AttachedDevice| {
            it.device == device && it.number == number && it.attached.iter().all(Attached::stands)
        };
        if self.attached_devices.iter().any(is_taken) {
            return Ok(());
        }
        self.attached_devices.retain(|it| it.device != device);
        let before = match self.attach_to(device, Duration::ZERO) {
            // It has gone meanwhile.
            Err(_) if if_nametoindex(device) != Ok(number) => return Ok(()),
            before => before?,
        };
        repairs.push(match before == Some(number) {
            true => Repair::Program(device.to_owned()),
            false => Repair::Device(device.to_owned()),
        });
        if let Some(before) = before.filter(|before| *before != number) {
            self.table.renumber([before, number], address_of(device))?;
        }
        Ok(())
    }

    /// A TUN device that was deleted.
    fn make_again(&mut self, way: usize, repairs: &mut Vec<Repair>) -> Result<(), BumpError> {
        let tun = Tun::open(&self.tuns[way], self.offload)?;
        // These name it by its number.
        self.attached_devices.clear();
        self.begin(way)?;
        repairs.push(Repair::Tun(way, tun));
        self.take_at_all(Duration::ZERO)
    }

    /// Takes at those devices that are there, for whose last gateway it has `patience`. The others
    /// are found when they come.
    fn take_at_all(&mut self, patience: Duration) -> Result<(), BumpError> {
        for device in self.devices.clone() {
            if if_nametoindex(device.as_str()).is_ok() {
                self.attach_to(&device, patience)?;
            }
        }
        Ok(())
    }

    /// Takes at a device; the number that it had before.
    fn attach_to(&mut self, device: &str, patience: Duration) -> Result<Option<u32>, BumpError> {
        let attached = self.take_at(device, patience)?;
        let before = self.numbers.insert(device.to_owned(), attached.number);
        self.attached_devices.push(attached);
        Ok(before)
    }

    /// Sets a TUN device up, and what is written there goes on.
    fn begin(&mut self, way: usize) -> Result<(), BumpError> {
        let name = self.tuns[way].clone();
        // By `clsact` what is attached again has the same number, with which it would go.
        if let Some((_, attached)) = self.gives.get_mut(way) {
            *attached = None;
        }
        set_up_link(&name)?;
        // Without it all is as right, and slower where the thread is busy.
        let _ = receive_steering::spread(&name);
        let program = Program::load("bentpipe_give", give(WAYS[way].0, self.links()))?;
        let attached = Attached::new(&program, self.attachment, &name, Hook::Ingress)?;
        let begun = (number_of(&name)?, Some(attached));
        match self.gives.get_mut(way) {
            Some(before) => *before = begun,
            None => self.gives.push(begun),
        }
        Ok(())
    }

    fn take_at(&mut self, device: &str, patience: Duration) -> Result<AttachedDevice, BumpError> {
        let l2 = header_of(device)?;
        let number = number_of(device)?;
        let lock = InterfaceLock::take(&self.service, (device, number), patience)?;
        let mut attached = Vec::new();
        for ((way, hook), tun) in WAYS.into_iter().zip([self.gives[0].0, self.gives[1].0]) {
            let (program, ipsec) = load_take(way, l2, self.links(), tun)?;
            self.ipsec = ipsec;
            attached.push(Attached::new(&program, self.attachment, device, hook)?);
        }
        Ok(AttachedDevice { device: device.to_owned(), number, attached, _lock: lock })
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
    let name = own_name(device);
    let mut found = getifaddrs().ok()?.filter(|it| it.interface_name == name);
    found.find_map(|it| it.address?.as_link_addr()?.addr())
}

/// How many bytes a device's packets have in front of the IP header.
pub(super) fn header_of(device: &str) -> Result<usize, BumpError> {
    Ok(match l2(device)? {
        L2::Ethernet => FRAME_LEN,
        L2::Nothing => 0,
    })
}

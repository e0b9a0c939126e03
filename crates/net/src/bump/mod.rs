//! A bump in the wire: packets are taken where they leave this host or come in, at one device, into TUN devices of ours, and
//! what we write there goes on as if it had not been taken.
//!
//! ```text
//!  routing, NAT, ─▶ egress: take ─▶ tun0 ─read▶ we ─write▶ tun0 ─▶ give ─▶ device ─▶
//!  firewall, …   ◀───────── give ◀─ tun1 ◀write─ we ◀read─ tun1 ◀─ take :ingress ◀─ device ◀─
//! ```
//!
//! To routing, NAT, firewalls and connection tracking the connection is one between its hosts, and the device the only one
//! that it crosses.

pub mod ends;
mod path;
mod programs;
#[cfg(test)]
mod tests;

use crate::bpf::attach::{Attached, Hook};
use crate::bpf::map::Map;
use crate::bpf::program::Program;
use crate::bpf::{Attachment, BpfError};
use crate::command::{CommandError, run};
use crate::tun::{Offload, Tun, TunError};
use ends::Ends;
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::time::{ClockId, clock_gettime};
use path::{L2, Path};
use programs::{Links, Way, give, take};
use std::collections::HashSet;
use std::time::Duration;

/// The largest packet, so that the devices are not why one is refused.
const MTU: u32 = 65_535;

/// A traffic class index that nobody uses: of `bentpipe`, by chance.
const SEAL: u16 = 0xb9e5;

/// Why no packets are taken. Nothing is left set up then.
#[derive(Debug, thiserror::Error)]
pub enum BumpError {
    /// A TUN device.
    #[error(transparent)]
    Tun(#[from] TunError),
    /// `ip`.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A program or a map.
    #[error(transparent)]
    Bpf(#[from] BpfError),
    /// The device's packets have a header of another kind.
    #[error("{device} is of a kind ({kind}) on which packets cannot be taken")]
    Kind {
        /// Its name.
        device: String,
        /// `ARPHRD_…`
        kind: u16,
    },
}

/// Where packets are taken, and how.
#[derive(Debug, Clone, Copy)]
pub struct BumpConfig<'a> {
    /// The devices.
    pub devices: &'a [&'a str],
    /// The names of the TUN devices that are made: for what leaves, and for what comes in.
    pub tuns: [&'a str; 2],
    /// How these are opened.
    pub offload: Offload,
    /// Of how many connections packets are taken at most.
    pub connections: u32,
    /// How programs are attached.
    pub attachment: Attachment,
}

/// Packets are taken for as long as this lives and gives signs of life, and not longer than the process.
#[derive(Debug)]
pub struct Bump {
    paths: Map<Ends, Path>,
    /// When each connection began that is exempt.
    exempt: Map<Ends, u64>,
    /// When we have given a sign of life, in ns of the kernel's monotonic clock.
    beat: Map<u32, u64>,
    _attached: Vec<Attached>,
}

impl Bump {
    /// Takes packets once it has given a sign of life: those that are about to leave are read from the first TUN device,
    /// those that come in from the second. What is written to the same one goes on as they would have.
    ///
    /// # Errors
    /// [`BumpError`]; nothing is left set up.
    pub fn set_up(config: &BumpConfig<'_>) -> Result<(Bump, [Tun; 2]), BumpError> {
        let BumpConfig { devices, tuns: names, offload, connections, attachment } = *config;
        let tuns = [Tun::open(names[0], offload)?, Tun::open(names[1], offload)?];
        for name in names {
            // Without addresses the host says nothing there.
            let up = format!("link set {name} addrgenmode none\nlink set {name} mtu {MTU} up\n");
            run("ip", &["-batch", "-"], &up)?;
        }
        let paths = Map::hash("bentpipe_paths", connections)?;
        let exempt = Map::hash("bentpipe_exempt", connections)?;
        let beat = Map::array("bentpipe_beat", 1)?;
        let links = Links { paths: paths.fd(), exempt: exempt.fd(), beat: beat.fd(), seal: SEAL };
        let mut attached = Vec::new();
        for (name, way) in names.into_iter().zip([Way::Out, Way::In]) {
            let program = Program::load("bentpipe_give", give(way, links))?;
            attached.push(Attached::new(&program, attachment, name, Hook::Ingress)?);
        }
        for &device in devices {
            let hooks = [(Way::Out, Hook::Egress), (Way::In, Hook::Ingress)];
            for (name, (way, hook)) in names.into_iter().zip(hooks) {
                let code = take(way, header_of(device)?, links, number_of(name)?);
                let program = Program::load("bentpipe_take", code)?;
                attached.push(Attached::new(&program, attachment, device, hook)?);
            }
        }
        // They go in the opposite order.
        attached.reverse();
        Ok((Bump { paths, exempt, beat, _attached: attached }, tuns))
    }

    /// We live.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn beat(&self) -> Result<(), Errno> {
        let now = Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC)?);
        self.beat.set(&0, &(now.as_nanos() as u64))
    }

    /// The connections that are known, whose packets are taken or exempt. Others may come meanwhile.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn connections(&self) -> Result<HashSet<Ends>, Errno> {
        let (mut known, mut last) = (HashSet::new(), None);
        while let Some(ends) = self.paths.next(last.as_ref())? {
            // If the last one is gone by now, the kernel begins again.
            if !known.insert(ends) {
                break;
            }
            last = Some(ends);
        }
        Ok(known)
    }

    /// The packets of a connection go by from now on, until its ports are used again. False if none were taken.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn exempt(&self, ends: &Ends) -> Result<bool, Errno> {
        let Some(path) = self.paths.get(ends)? else { return Ok(false) };
        self.exempt.set(ends, &path.began).map(|()| true)
    }

    /// Nothing is known of a connection any more: its packets go by. False if nothing was.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn forget(&self, ends: &Ends) -> Result<bool, Errno> {
        let known = self.paths.remove(ends)?;
        self.exempt.remove(ends)?;
        Ok(known)
    }
}

fn number_of(device: &str) -> Result<u32, BpfError> {
    if_nametoindex(device).map_err(|errno| BpfError::attach(device, errno))
}

/// How many bytes a device's packets have in front of the IP header.
fn header_of(device: &str) -> Result<usize, BumpError> {
    let addresses = getifaddrs().map_err(|errno| BpfError::attach(device, errno))?;
    let kind = addresses
        .filter(|it| it.interface_name == device)
        .find_map(|it| Some(it.address?.as_link_addr()?.hatype()))
        .ok_or_else(|| BpfError::attach(device, Errno::ENODEV))?;
    match kind {
        libc::ARPHRD_ETHER => Ok(L2),
        // Tunnels, PPP and the like.
        libc::ARPHRD_NONE
        | libc::ARPHRD_PPP
        | libc::ARPHRD_TUNNEL
        | libc::ARPHRD_TUNNEL6
        | libc::ARPHRD_SIT
        | libc::ARPHRD_IPGRE => Ok(0),
        kind => Err(BumpError::Kind { device: device.to_owned(), kind }),
    }
}

//! A bump in the wire: packets are taken where they leave this host or come in, at one device, into
//! TUN devices of ours, and what we write there goes on as if it had not been taken.
//!
//! ```text
//!  routing, NAT, ─▶ egress: take ─▶ tun0 ─read▶ we ─write▶ tun0 ─▶ give ─▶ device ─▶
//!  firewall, …   ◀───────── give ◀─ tun1 ◀write─ we ◀read─ tun1 ◀─ take :ingress ◀─ device ◀─
//! ```
//!
//! To routing, NAT, firewalls and connection tracking the connection is one between its hosts, and
//! the device the only one that it crosses.
//!
//! [`Wire`] is what is set up, [`Table`] what the kernel's programs and we tell each other.

mod carrying;
mod classification;
mod counting;
pub mod device_events;
pub mod endpoints;
mod failures;
mod monitor;
pub mod passed;
mod path;
mod programs;
mod shared_values;
mod state;
mod table;
#[cfg(test)]
mod tests;
mod wire;
mod wrong_interface;

pub use monitor::Monitor;
pub use state::DiversionState;
pub use table::{PATIENCE, Table, Vouching};
pub use wire::Wire;

use bentpipe_linux::bpf::{Attachment, BpfError, has_ingress};
use bentpipe_linux::command::CommandError;
use bentpipe_linux::interface::InterfaceError;
use bentpipe_linux::interface_lock::InterfaceLockError;
use bentpipe_linux::kernel_version::KernelVersion;
use bentpipe_linux::tun::{Offload, Tun, TunError};
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use std::sync::Arc;

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
    /// What the programs are told, or what devices there are.
    #[error("the kernel does not answer: {0}")]
    Kernel(#[from] Errno),
    /// An interface of another kind.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// An interface of another gateway's.
    #[error(transparent)]
    Lock(#[from] InterfaceLockError),
    /// The kernel refuses what later ones take.
    #[error("{} ({})", too_old(*running), refused(source))]
    OldKernel {
        /// The kernel.
        running: KernelVersion,
        /// What it has refused.
        source: Box<BumpError>,
    },
}

impl BumpError {
    /// What an old kernel refuses is laid to its age: a privilege that it does not know, say.
    fn on(self, running: KernelVersion) -> BumpError {
        match self {
            BumpError::Bpf(_) | BumpError::Kernel(_) if running < OLDEST => {
                BumpError::OldKernel { running, source: Box::new(self) }
            }
            other => other,
        }
    }
}

/// The first Linux on which gateways are tried. An earlier one may have what they take, if its
/// distribution has brought it there.
pub const OLDEST: KernelVersion = KernelVersion(5, 10);

/// The line on a kernel before [`OLDEST`], with its remedy.
pub fn too_old(KernelVersion(major, minor): KernelVersion) -> String {
    let KernelVersion(of, and) = OLDEST;
    format!(
        "this is Linux {major}.{minor}, and a gateway takes {of}.{and} or later: install a newer kernel"
    )
}

/// What an old kernel has refused. Remedies for later ones are none for it.
fn refused(error: &BumpError) -> String {
    match error {
        BumpError::Bpf(BpfError::Permission) => "no permission to load programs".to_owned(),
        error => error.to_string(),
    }
}

/// Where packets are taken, and how.
#[derive(Debug, Clone)]
pub struct BumpConfig {
    /// The gateway's name, for others that want the same devices.
    pub service: String,
    /// The devices.
    pub devices: Vec<String>,
    /// The interfaces where connections come in, or go to, that are taken. None: whatever crosses
    /// the devices, this host's own among it.
    pub lan: Option<Vec<String>>,
    /// The names of the TUN devices that are made: for what leaves, and for what comes in.
    pub tuns: [String; 2],
    /// How these are opened.
    pub offload: Offload,
    /// Of how many connections packets are taken at most.
    pub connections: u32,
    /// How programs are attached.
    pub attachment: Attachment,
    /// UDP to port 443 is taken, too, to be answered with an error.
    pub reject_quic: bool,
}

/// Loads each program into the kernel, and attaches none.
///
/// # Errors
/// [`BumpError`].
pub fn try_it() -> Result<(), BumpError> {
    wire::try_programs().map_err(|error| BumpError::from(error).on(KernelVersion::running()))
}

/// Whether packets can be taken at a device. Changes nothing.
///
/// # Errors
/// [`BumpError`], if it is not there, of a kind whose packets have other headers, or has no place
/// for programs.
pub fn check_device(device: &str) -> Result<(), BumpError> {
    wire::header_of(device)?;
    let number = if_nametoindex(device)?;
    if Attachment::of_this_kernel() == Attachment::Clsact && has_ingress(number)? {
        return Err(BpfError::Ingress { device: device.to_owned() }.into());
    }
    Ok(())
}

/// Takes packets once somebody [vouches](Vouching::vouch) for us: those that are about to leave are
/// read from the first TUN device, those that come in from the second. What is written to the same
/// one goes on as they would have.
///
/// # Errors
/// [`BumpError`]; nothing is left set up.
pub fn set_up(config: &BumpConfig) -> Result<(Wire, Arc<Table>, [Tun; 2]), BumpError> {
    let set_up = || {
        let table = Arc::new(Table::new(config.connections)?);
        let (wire, tuns) = Wire::set_up(config, Arc::clone(&table))?;
        Ok((wire, table, tuns))
    };
    set_up().map_err(|error: BumpError| error.on(KernelVersion::running()))
}

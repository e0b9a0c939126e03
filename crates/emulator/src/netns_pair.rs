//! A link from one network namespace to another: a new TUN device in each, which hosts use as any
//! other interface. The devices go with this process, whatever ends it.

use bentpipe_linux::netns::{Namespace, NetnsError};
use bentpipe_linux::tun::{Offload, Tun, TunError};
use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::io;

/// Packets that wait in a device for us.
const WAITING: u32 = 5000;
/// Without another one.
const MTU: u32 = 1500;

/// An end of the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// A namespace, as `ip netns list` shows it.
    pub namespace: String,
    /// An interface in it.
    pub interface: String,
}

/// Why there are no such devices. None is left then.
#[derive(Debug, thiserror::Error)]
pub enum NetnsPairError {
    /// The namespace, or `ip` in it.
    #[error(transparent)]
    Namespace(#[from] NetnsError),
    /// The device.
    #[error("namespace {0}: {1}")]
    Tun(String, TunError),
    /// The namespace cannot be entered.
    #[error("cannot enter network namespace {0}: {1}")]
    Enter(String, io::Error),
}

/// Makes a device for each of the two `ends`, up, with this `mtu` and without an address.
///
/// # Errors
/// [`NetnsPairError`], also when an end's interface exists.
pub fn open(ends: &[End; 2], mtu: Option<u32>) -> Result<[Tun; 2], NetnsPairError> {
    let one = |end: &End| {
        let namespace = Namespace::existing(&end.namespace);
        let device = &end.interface;
        let tun = namespace
            .run(|| Tun::open(device, Offload::TcpAndUdp))?
            .map_err(|error| NetnsPairError::Tun(end.namespace.clone(), error))?;
        let mtu = mtu.unwrap_or(MTU);
        namespace.ip(&format!("link set dev {device} mtu {mtu} txqueuelen {WAITING} up\n"))?;
        Ok::<_, NetnsPairError>(tun)
    };
    Ok([one(&ends[0])?, one(&ends[1])?])
}

/// Moves the calling thread, and those that it starts from now on, into this namespace.
///
/// # Errors
/// [`NetnsPairError::Enter`].
pub fn enter(namespace: &str) -> Result<(), NetnsPairError> {
    let failed = |error| NetnsPairError::Enter(namespace.to_owned(), error);
    let file =
        File::open(format!("{}/{namespace}", bentpipe_linux::netns::NETNS_DIR)).map_err(failed)?;
    setns(file, CloneFlags::CLONE_NEWNET).map_err(|errno| failed(errno.into()))
}

//! A TUN device: whole IP packets to and from the kernel's routing (Linux `tuntap.rst`); or a TAP
//! device, whose packets have Ethernet headers in front.
//!
//! The device is not persistent: it vanishes with its last descriptor, so with the process, and
//! every route over it vanishes too.
//!
//! With [`Offload::Tcp`] each packet has a [`VnetHdr`]: reads may give, and writes may take, TCP
//! super-segments of up to 64 KiB and unfinished checksums; with [`Offload::TcpAndUdp`] those of
//! UDP as well. With [`Offload::None`] the kernel cuts and sums before we see a packet: each is at
//! most the sender's MTU.
//!
//! `nix` and not `rustix`, which has no ioctl for TUN devices; `nix` brings the macros that type
//! them, and `ppoll`, `unshare` and `prctl` for the rest of this crate.

use crate::vnet_hdr::{VNET_HDR_LEN, VnetHdr, VnetHdrError};
use bentpipe_core::tcp::buffer::Chunks;
use nix::errno::Errno;
use nix::libc;
use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Bytes of an Ethernet header.
pub const FRAME_LEN: usize = 14;

/// What a buffer for [`Tun::read`] must hold: the headers and the longest IP packet.
pub const MAX_READ: usize = VNET_HDR_LEN + FRAME_LEN + 65_535;

/// Slices that one [`Tun::write`] takes: headers, and the longest payload in the chunks of a
/// stream.
pub const MAX_SLICES: usize = 2 + 65_535_usize.div_ceil(Chunks::SIZE);

/// Whether packets come with a [`VnetHdr`] and may be super-segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offload {
    /// Plain packets with finished checksums, at most one MTU long.
    None,
    /// TCP segmentation (IPv4, IPv6, with ECN) and checksum offload in both directions.
    Tcp,
    /// The same, and UDP segmentation where the kernel has it (Linux 6.2).
    TcpAndUdp,
}

/// Why a TUN device was not opened.
#[derive(Debug, thiserror::Error)]
pub enum TunError {
    /// The name cannot be an interface's.
    #[error("`{0}` is no interface name: 1 to 15 bytes without `/`, `:` and white space")]
    Name(String),
    /// There is no `/dev/net/tun`.
    #[error(
        "/dev/net/tun is missing: run `modprobe tun`; in a container of LXC set on its host \
         `lxc.cgroup2.devices.allow = c 10:200 rwm` and `lxc.mount.entry = /dev/net/tun dev/net/tun \
         none bind,create=file`, in others run `mkdir -p /dev/net && mknod /dev/net/tun c 10 200`"
    )]
    NoDriver,
    /// Not root.
    #[error(
        "no permission to create the TUN device {0}: run as root (CAP_NET_ADMIN), in a container with \
         the device allowed (LXC: `lxc.cgroup2.devices.allow = c 10:200 rwm`)"
    )]
    Permission(String),
    /// The name is taken.
    #[error("an interface named {0} already exists in this network namespace")]
    Busy(String),
    /// Anything else.
    #[error("cannot create the TUN device {name}: {source}")]
    Io {
        /// The device.
        name: String,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Why a packet was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The kernel's header makes no sense to us; the packet is gone.
    #[error(transparent)]
    Header(#[from] VnetHdrError),
    /// The device failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// An open TUN device, non-blocking.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
    offload: Offload,
    kind: Kind,
}

/// What its packets begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// IP headers: TUN.
    Packets,
    /// Ethernet headers: TAP.
    Frames,
}

/// Whether the kernel has TUN devices for us. Makes none.
///
/// # Errors
/// [`TunError`].
pub fn try_it() -> Result<(), TunError> {
    open_driver(NEW).map(|_| ())
}

/// What a device is called that has no name yet.
const NEW: &str = "(a new one)";

/// The driver's file, for a device `name`.
fn open_driver(name: &str) -> Result<File, TunError> {
    File::options()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")
        .map_err(|source| refused(name, source))
}

fn refused(name: &str, source: io::Error) -> TunError {
    match source.raw_os_error() {
        Some(libc::EBUSY | libc::EEXIST) => TunError::Busy(name.to_owned()),
        // A file in its place, as some containers have it.
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO | libc::ENOTTY) => TunError::NoDriver,
        Some(libc::EPERM | libc::EACCES) => TunError::Permission(name.to_owned()),
        _ => TunError::Io { name: name.to_owned(), source },
    }
}

impl Tun {
    /// Creates the device `name` in the thread's network namespace, or takes a prepared one.
    ///
    /// It is down and has no address.
    ///
    /// # Errors
    /// [`TunError`], also when an interface of that name exists that is in use or no such device.
    pub fn open(name: &str, offload: Offload) -> Result<Tun, TunError> {
        Tun::open_kind(name, offload, Kind::Packets)
    }

    /// The same, of whole frames.
    ///
    /// # Errors
    /// [`TunError`], also when an interface of that name exists.
    pub fn open_frames(name: &str, offload: Offload) -> Result<Tun, TunError> {
        Tun::open_kind(name, offload, Kind::Frames)
    }

    fn open_kind(name: &str, offload: Offload, kind: Kind) -> Result<Tun, TunError> {
        let bad =
            |byte: u8| byte == b'/' || byte == b':' || byte == 0 || byte.is_ascii_whitespace();
        if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.bytes().any(bad) {
            return Err(TunError::Name(name.to_owned()));
        }
        let file = open_driver(name)?;
        ioctl::attach(&file, name, offload, kind).map_err(|errno| refused(name, errno.into()))?;
        Ok(Tun { file, name: name.to_owned(), offload, kind })
    }

    /// How many bytes its packets have in front of their IP headers.
    pub fn frame_len(&self) -> usize {
        match self.kind {
            Kind::Packets => 0,
            Kind::Frames => FRAME_LEN,
        }
    }

    /// The interface's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads one packet into `buffer`, which should hold [`MAX_READ`] bytes (a longer packet is
    /// cut). `None` when no packet waits.
    ///
    /// # Errors
    /// [`ReadError`]; after [`ReadError::Header`] the next packet can be read.
    pub fn read<'a>(
        &self,
        buffer: &'a mut [u8],
    ) -> Result<Option<(VnetHdr, &'a mut [u8])>, ReadError> {
        let length = loop {
            match (&self.file).read(buffer) {
                Ok(length) => break length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        };
        let bytes = &mut buffer[..length];
        if self.offload == Offload::None {
            return Ok(Some((VnetHdr::default(), bytes)));
        }
        let Some((header, packet)) = bytes.split_first_chunk_mut::<VNET_HDR_LEN>() else {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        };
        Ok(Some((VnetHdr::parse(header)?, packet)))
    }

    /// Writes one packet, given in up to [`MAX_SLICES`] slices: the kernel receives it as if it had
    /// arrived on this interface. Without offload the header is not used.
    ///
    /// # Errors
    /// What the kernel said: `WouldBlock` when it has no room, `InvalidInput` for more slices than
    /// allowed or a packet that is none. The packet is gone unless the caller writes it again.
    pub fn write(&self, header: &VnetHdr, slices: &[&[u8]]) -> io::Result<()> {
        if slices.len() > MAX_SLICES {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let header = header.emit();
        let mut parts = [IoSlice::new(&[]); MAX_SLICES + 1];
        for (part, slice) in parts[1..].iter_mut().zip(slices) {
            *part = IoSlice::new(slice);
        }
        let parts = match self.offload {
            Offload::None => &parts[1..=slices.len()],
            Offload::Tcp | Offload::TcpAndUdp => {
                parts[0] = IoSlice::new(&header);
                &parts[..=slices.len()]
            }
        };
        loop {
            match (&self.file).write_vectored(parts) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// The two ioctls that make a descriptor a TUN device.
mod ioctl {
    use super::{AsRawFd, Errno, File, Kind, Offload, libc};

    /// Creates the interface `name` and attaches `file` to it, or to one that was prepared under
    /// that name (`ip tuntap add`) and that nobody is attached to.
    pub(super) fn attach(
        file: &File,
        name: &str,
        offload: Offload,
        kind: Kind,
    ) -> Result<(), Errno> {
        match attach_to(file, name, offload, kind, libc::IFF_TUN_EXCL) {
            // The kernel refuses the second one, too, if it is in use or of another kind.
            Err(Errno::EBUSY | Errno::EEXIST) => {
                attach_to(file, name, offload, kind, 0).map_err(|_| Errno::EBUSY)
            }
            result => result,
        }
    }

    #[allow(unsafe_code)]
    fn attach_to(
        file: &File,
        name: &str,
        offload: Offload,
        kind: Kind,
        exclusively: libc::c_int,
    ) -> Result<(), Errno> {
        let vnet_hdr = if offload == Offload::None { 0 } else { libc::IFF_VNET_HDR };
        let kind = if kind == Kind::Frames { libc::IFF_TAP } else { libc::IFF_TUN };
        let flags = kind | libc::IFF_NO_PI | exclusively | vnet_hdr;
        // SAFETY: `ifreq` is a C structure of integers and unions of them; all zeros is a value.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        // One byte stays zero: the caller has checked the length.
        for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = flags as libc::c_short;
        // SAFETY: TUNSETIFF reads and writes one `ifreq`, which lives until the call returns, and
        // the descriptor is open.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &mut request) };
        Errno::result(result)?;
        let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
        let udp = libc::TUN_F_USO4 | libc::TUN_F_USO6;
        match offload {
            Offload::None => Ok(()),
            Offload::Tcp => set_offload(file, tcp),
            // An older kernel knows of no UDP.
            Offload::TcpAndUdp => set_offload(file, tcp | udp).or_else(|_| set_offload(file, tcp)),
        }
    }

    /// Says what the device may leave to us.
    #[allow(unsafe_code)]
    fn set_offload(file: &File, features: libc::c_uint) -> Result<(), Errno> {
        // SAFETY: TUNSETOFFLOAD takes its argument by value, and the descriptor is open.
        let result = unsafe {
            libc::ioctl(file.as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(features))
        };
        Errno::result(result)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_names_are_refused() {
        for name in ["", "sixteen-bytes-xx", "a/b", "a b", "a:b", "a\0b"] {
            assert!(matches!(Tun::open(name, Offload::None), Err(TunError::Name(_))), "{name:?}");
        }
    }
}

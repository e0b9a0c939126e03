//! What the kernel's programs and we tell each other: the connections whose packets are taken, and
//! some values.

use super::endpoints::Endpoints;
use super::passed::{Crossed, PassedCounters, PassedPrefix};
use super::path::Path;
use super::shared_values::SharedValue;
use bentpipe_linux::bpf::BpfError;
use bentpipe_linux::bpf::map::Map;
use nix::errno::Errno;
use nix::time::{ClockId, clock_gettime};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// The longest time for which somebody may vouch for us, so that a machine on which nothing else
/// runs any more forwards then.
pub const PATIENCE: Duration = Duration::from_millis(3200);

/// Of how many pairs of addresses the way of fragments is known.
const PIECES: u32 = 4096;

/// The connections that are taken, for the loop that gives their packets back.
#[derive(Debug)]
pub struct Table {
    pub(super) paths: Map<Endpoints, Path>,
    /// What is known by its addresses alone: fragments, and UDP that is to be rejected.
    pub(super) pieces: Map<Endpoints, Path>,
    pub(super) vouching: Vouching,
    /// What crosses the devices.
    pub(super) counters: PassedCounters,
}

impl Table {
    pub(super) fn new(connections: u32) -> Result<Table, BpfError> {
        let values = Map::array("bentpipe_number", SharedValue::COUNT)?;
        Ok(Table {
            paths: Map::hash("bentpipe_paths", connections)?,
            pieces: Map::recent("bentpipe_pieces", PIECES)?,
            vouching: Vouching { values },
            counters: PassedCounters::new()?,
        })
    }

    /// For vouching, and for taking that back.
    pub fn vouching(&self) -> &Vouching {
        &self.vouching
    }

    /// Packets of connections of ours that have gone by so far, as nobody vouched for us.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn went_by(&self) -> Result<u64, Errno> {
        self.vouching.get(SharedValue::WentBy)
    }

    /// Packets of ours that have come by their device so far, on the way out and in.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn returned(&self) -> Result<[u64; 2], Errno> {
        let out = self.vouching.get(SharedValue::ReturnedOut)?;
        Ok([out, self.vouching.get(SharedValue::ReturnedIn)?])
    }

    /// The traffic that has crossed the devices so far.
    ///
    /// # Errors
    /// The kernel's.
    pub fn crossed(&self) -> Result<Crossed, Errno> {
        self.counters.crossed()
    }

    /// The prefixes from and to which traffic has passed lately.
    ///
    /// # Errors
    /// The kernel's.
    pub fn passed_prefixes(&self) -> Result<Vec<PassedPrefix>, Errno> {
        self.counters.prefixes()
    }

    /// Connections of the LAN's that have left so far, others that were forwarded, and the number
    /// of the interface by which the last of these came in.
    ///
    /// # Errors
    /// What the kernel said.
    pub(super) fn begun(&self) -> Result<(u64, u64, u32), Errno> {
        let [begun, strange, from] =
            [SharedValue::Begun, SharedValue::Strange, SharedValue::StrangeFrom];
        let from = u32::try_from(self.vouching.get(from)?).unwrap_or_default();
        Ok((self.vouching.get(begun)?, self.vouching.get(strange)?, from))
    }

    /// Turns copying on or off: packets go their way then, and copies are taken.
    ///
    /// # Errors
    /// The error of the kernel.
    pub fn copy(&self, copies: bool) -> Result<(), Errno> {
        self.vouching.values.set(&(SharedValue::Copies as u32), &u64::from(copies))
    }

    /// All connections are taken for so long from now on, and not only those that begin.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn take_all(&self, lasting: Duration) -> Result<(), Errno> {
        self.vouching.set(SharedValue::AllUntil, Some(lasting))
    }

    /// A connection is taken whose beginning nobody has seen here. Its first packets show where its
    /// packets go.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn expect(&self, ends: &Endpoints) -> Result<(), Errno> {
        let began = now()?.as_nanos() as u64;
        let path = Path { began, devices: [0; 2], mark: 0, priority: 0, l2: None };
        self.paths.set(ends, &path)
    }

    /// The packets of a connection go by from now on, until it begins again.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn forget(&self, ends: &Endpoints) -> Result<(), Errno> {
        self.paths.remove(ends).map(|_| ())
    }

    /// The connection behind `last` in the table, or the first of all. Others may come and go
    /// meanwhile.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn next(&self, last: Option<&Endpoints>) -> Result<Option<Endpoints>, Errno> {
        self.paths.next(last)
    }

    /// For how long a connection has been known: not at all if it is not.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn age(&self, ends: &Endpoints) -> Result<Duration, Errno> {
        let Some(path) = self.paths.get(ends)? else { return Ok(Duration::ZERO) };
        Ok(now()?.saturating_sub(Duration::from_nanos(path.began)))
    }

    /// A device has been made again, with another number and perhaps another address: connections
    /// go by the new one.
    ///
    /// # Errors
    /// What the kernel said.
    pub(super) fn renumber(
        &self,
        [before, after]: [u32; 2],
        address: Option<[u8; 6]>,
    ) -> Result<(), Errno> {
        let mut at = None;
        while let Some(ends) = self.paths.next(at.as_ref())? {
            if let Some(mut path) = self.paths.get(&ends)?.filter(|it| it.devices.contains(&before))
            {
                path.renumber([before, after], address);
                self.paths.set(&ends, &path)?;
            }
            // If it is gone by now, the kernel begins again, where nothing is left to be done.
            at = Some(ends);
        }
        Ok(())
    }

    /// Where packets of a connection go.
    #[cfg(test)]
    pub(super) fn path(&self, ends: &Endpoints) -> Option<Path> {
        let map = if ends.outer.port() == 0 { &self.pieces } else { &self.paths };
        map.get(ends).expect("it is looked up")
    }
}

/// The right to say that packets which are taken are taken care of.
#[derive(Debug)]
pub struct Vouching {
    pub(super) values: Map<u32, u64>,
}

impl Vouching {
    /// Of a descriptor that another process has passed on.
    pub fn of_descriptor(descriptor: OwnedFd) -> Vouching {
        Vouching { values: Map::of_descriptor(descriptor) }
    }

    /// What is taken is taken care of, for so long from now on, [`PATIENCE`] at most.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn vouch(&self, lasting: Duration) -> Result<(), Errno> {
        self.set(SharedValue::VouchedUntil, Some(lasting.min(PATIENCE)))
    }

    /// Nothing is taken any more: all goes by.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn retract(&self) -> Result<(), Errno> {
        self.set(SharedValue::VouchedUntil, None)
    }

    fn set(&self, value: SharedValue, lasting: Option<Duration>) -> Result<(), Errno> {
        let until = lasting.map(|lasting| now().map(|now| now + lasting)).transpose()?;
        self.values.set(&(value as u32), &(until.unwrap_or_default().as_nanos() as u64))
    }

    fn get(&self, value: SharedValue) -> Result<u64, Errno> {
        Ok(self.values.get(&(value as u32))?.unwrap_or_default())
    }
}

impl AsFd for Vouching {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.values.as_fd()
    }
}

/// The kernel's monotonic clock, by which its programs go.
fn now() -> Result<Duration, Errno> {
    Ok(clock_gettime(ClockId::CLOCK_MONOTONIC)?.into())
}

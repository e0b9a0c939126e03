//! At most one gateway at an interface of a network namespace, whatever their names.
//! Of two, each would take what the other one has given back, again and again.
//!
//! The lock is an [`Instance`]'s of the interface's number, with its holder's name in the file.
//! Services have directories of their own. So one that has locked it in its own looks into all
//! others that it may read.

use crate::instance::{Instance, InstanceError};
use crate::runtime_dir::RuntimeDir;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;

/// The longest name of a holder that is told, in bytes.
const LONGEST: u64 = 64;

/// Why an interface was not had.
#[derive(Debug, thiserror::Error)]
pub enum InterfaceLockError {
    /// Another gateway has it.
    #[error(
        "{holder} takes packets at {device} already: stop it, or give this one a satellite interface of its own"
    )]
    Held {
        /// The interface.
        device: String,
        /// Its name, if it is known.
        holder: Holder,
    },
    /// The lock.
    #[error(transparent)]
    Instance(#[from] InstanceError),
}

/// A gateway that has locked an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder(Option<String>);

impl Holder {
    /// Knows that it is the one of this name.
    pub fn is(&self, name: &str) -> bool {
        self.0.as_deref() == Some(name)
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Some(name) => write!(f, "another gateway (\"{name}\")"),
            None => f.write_str("another gateway"),
        }
    }
}

/// The right to be the only gateway at an interface, until dropped.
#[derive(Debug)]
pub struct InterfaceLock {
    _lock: Instance,
}

impl InterfaceLock {
    /// Locks the interface of this number for the gateway `name`.
    ///
    /// Another one that ends is waited for, for `patience`.
    ///
    /// # Errors
    /// [`InterfaceLockError`].
    pub fn take(
        name: &str,
        (device, number): (&str, u32),
        patience: Duration,
    ) -> Result<InterfaceLock, InterfaceLockError> {
        let dir = RuntimeDir::create().map_err(InstanceError::from)?;
        Self::take_in(&dir, &RuntimeDir::find_all(), name, (device, number), patience)
    }

    fn take_in(
        dir: &RuntimeDir,
        all: &[RuntimeDir],
        name: &str,
        (device, number): (&str, u32),
        patience: Duration,
    ) -> Result<InterfaceLock, InterfaceLockError> {
        let held = |holder| InterfaceLockError::Held { device: device.to_owned(), holder };
        let lock = match Instance::lock_in_within(dir, &of(number), patience) {
            Err(InstanceError::Running(_)) => {
                return Err(held(holder_in(dir, number).unwrap_or(Holder(None))));
            }
            lock => lock?,
        };
        lock.note(name)?;
        // Of two that lock at the same time, each in its own, one at least sees the other.
        let others = all.iter().filter(|other| other.path() != dir.path());
        match others.filter_map(|other| holder_in(other, number)).next() {
            Some(holder) => Err(held(holder)),
            None => Ok(InterfaceLock { _lock: lock }),
        }
    }

    /// The gateway that has locked the interface of this number, if there is one.
    pub fn holder(number: u32) -> Option<Holder> {
        RuntimeDir::find_all().iter().find_map(|dir| holder_in(dir, number))
    }
}

/// What the lock of an interface is called.
fn of(number: u32) -> String {
    format!("interface {number}")
}

/// Who holds the lock in a directory. What we may not read is nobody's.
fn holder_in(dir: &RuntimeDir, number: u32) -> Option<Holder> {
    let file = File::open(dir.file(&of(number), "lock").ok()?).ok()?;
    match Flock::lock(file, FlockArg::LockSharedNonblock) {
        Err((file, Errno::EWOULDBLOCK)) => Some(Holder(name_in(&file).ok().flatten())),
        // What a killed one has left.
        _ => None,
    }
}

fn name_in(file: &File) -> io::Result<Option<String>> {
    let mut name = String::new();
    file.take(LONGEST).read_to_string(&mut name)?;
    Ok(Some(name).filter(|name| !name.is_empty() && !name.contains(char::is_control)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const SAT: (&str, u32) = ("sat0", 7);

    fn take(
        [own, other]: [&Path; 2],
        name: &str,
        interface: (&str, u32),
    ) -> Result<InterfaceLock, InterfaceLockError> {
        let [dir, other] = [own, other].map(|place| RuntimeDir::create_in(place).unwrap());
        let all = [dir.clone(), other];
        InterfaceLock::take_in(&dir, &all, name, interface, Duration::ZERO)
    }

    #[test]
    fn an_interface_has_one_gateway_and_others_are_told_which() {
        let [one, two] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let (one, two) = (one.path(), two.path());
        let first = take([one, two], "bentpipe gateway", SAT).unwrap();
        // In the same directory, and in one of its own.
        for places in [[one, two], [two, one]] {
            assert_eq!(
                take(places, "bentpipe gateway b", SAT).unwrap_err().to_string(),
                "another gateway (\"bentpipe gateway\") takes packets at sat0 already: stop it, or give this \
                 one a satellite interface of its own"
            );
        }
        let other = take([two, one], "bentpipe gateway b", ("sat1", 8)).unwrap();
        drop(first);
        drop(take([two, one], "bentpipe gateway b", SAT).unwrap());
        take([one, two], "bentpipe gateway", SAT).unwrap();
        drop(other);
    }

    #[test]
    fn a_lock_that_a_killed_gateway_has_left_is_nobodys() {
        let [one, two] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let dir = RuntimeDir::create_in(one.path()).unwrap();
        std::fs::write(dir.file(&of(SAT.1), "lock").unwrap(), "bentpipe gateway").unwrap();
        assert_eq!(holder_in(&dir, SAT.1), None);
        for places in [[two.path(), one.path()], [one.path(), two.path()]] {
            take(places, "bentpipe gateway b", SAT).unwrap();
        }
    }
}

//! At most one instance of a service in each network namespace.
//!
//! The lock is an abstract Unix socket name: the kernel keeps those apart by network namespace,
//! and frees them when the process dies, however it dies.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::thread;
use std::time::Duration;

/// Why the lock was not had.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    /// Somebody holds it.
    #[error("another {0} already runs in this network namespace")]
    Running(String),
    /// The system did not let us ask.
    #[error("cannot tell whether another {name} runs: {source}")]
    Io {
        /// What was to be locked.
        name: String,
        /// Why not.
        source: io::Error,
    },
}

/// The right to be the only `name` in this network namespace, until dropped.
#[derive(Debug)]
pub struct Instance {
    _socket: UnixListener,
}

impl Instance {
    /// Becomes the only `name`, which may hold spaces ("bentpipe gateway") for the message's sake.
    ///
    /// # Errors
    /// [`InstanceError`] when there is one already.
    pub fn lock(name: &str) -> Result<Instance, InstanceError> {
        let io = |source| InstanceError::Io { name: name.to_owned(), source };
        let address = SocketAddr::from_abstract_name(name.replace(' ', "-")).map_err(io)?;
        match UnixListener::bind_addr(&address) {
            Ok(socket) => Ok(Instance { _socket: socket }),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                Err(InstanceError::Running(name.to_owned()))
            }
            Err(error) => Err(io(error)),
        }
    }

    /// The same, waiting for `patience` for another one to end.
    ///
    /// # Errors
    /// [`InstanceError`] when there is still one.
    pub fn lock_within(name: &str, patience: Duration) -> Result<Instance, InstanceError> {
        const LOOK: Duration = Duration::from_millis(20);
        let mut waited = Duration::ZERO;
        loop {
            match Instance::lock(name) {
                Err(InstanceError::Running(_)) if waited < patience => thread::sleep(LOOK),
                result => return result,
            }
            waited += LOOK;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_refused_until_the_first_is_gone() {
        let first = Instance::lock("bentpipe test instance").unwrap();
        let message = Instance::lock("bentpipe test instance").unwrap_err().to_string();
        assert_eq!(
            message,
            "another bentpipe test instance already runs in this network namespace"
        );
        let freed = thread::spawn(|| {
            Instance::lock_within("bentpipe test instance", Duration::from_secs(5)).map(drop)
        });
        drop(first);
        freed.join().unwrap().unwrap();
    }
}

//! At most one instance of a service in each network namespace.
//!
//! The lock is on a file of the service's user (flock(2)), apart by network namespace: the kernel
//! frees it when the process dies, however it dies. The file goes with who has locked it; what a
//! killed process leaves is locked by the next one.

use crate::runtime_dir::{RuntimeDir, RuntimeDirError};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Why the lock was not had.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    /// Somebody holds it.
    #[error("another {0} already runs in this network namespace")]
    Running(String),
    /// There is no place for it.
    #[error(transparent)]
    Directory(#[from] RuntimeDirError),
    /// The system did not let us ask.
    #[error(
        "cannot tell whether another {name} runs: {source}; /run (or $RUNTIME_DIRECTORY, $XDG_RUNTIME_DIR) has to be \
         writable: in a container, mount a tmpfs there"
    )]
    Io {
        /// What was to be locked.
        name: String,
        /// Why not.
        source: io::Error,
    },
}

/// The right to be our user's only `name` in this network namespace, until dropped.
#[derive(Debug)]
pub struct Instance {
    name: String,
    path: PathBuf,
    lock: Flock<File>,
}

impl Instance {
    /// Becomes the only `name`, which may hold spaces ("bentpipe gateway") for the message's sake.
    ///
    /// # Errors
    /// [`InstanceError`] when there is one already.
    pub fn lock(name: &str) -> Result<Instance, InstanceError> {
        Self::lock_in(&RuntimeDir::create()?, name)
    }

    /// The same, waiting for `patience` for another one to end.
    ///
    /// # Errors
    /// [`InstanceError`] when there is still one.
    pub fn lock_within(name: &str, patience: Duration) -> Result<Instance, InstanceError> {
        Self::lock_in_within(&RuntimeDir::create()?, name, patience)
    }

    /// Becomes the only `name` of those that lock in `dir`.
    ///
    /// # Errors
    /// [`InstanceError`].
    pub(crate) fn lock_in(dir: &RuntimeDir, name: &str) -> Result<Instance, InstanceError> {
        let failed = |source| InstanceError::Io { name: name.to_owned(), source };
        let path = dir.file(name, "lock").map_err(failed)?;
        loop {
            let file = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(OFlag::O_NOFOLLOW.bits())
                .open(&path)
                .map_err(failed)?;
            let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(
                |(_, errno)| match errno {
                    Errno::EWOULDBLOCK => InstanceError::Running(name.to_owned()),
                    errno => failed(errno.into()),
                },
            )?;
            // Its last holder may have removed the file between the two.
            if is_at(&lock, &path).map_err(failed)? {
                return Ok(Instance { name: name.to_owned(), path, lock });
            }
        }
    }

    /// The same, waiting for `patience` for another one to end.
    ///
    /// # Errors
    /// [`InstanceError`] when there is still one.
    pub(crate) fn lock_in_within(
        dir: &RuntimeDir,
        name: &str,
        patience: Duration,
    ) -> Result<Instance, InstanceError> {
        Self::wait(patience, || Self::lock_in(dir, name))
    }

    /// Leaves a text in the file, for those that find it locked.
    ///
    /// # Errors
    /// [`InstanceError::Io`].
    pub(crate) fn note(&self, text: &str) -> Result<(), InstanceError> {
        let noted = self.lock.set_len(0).and_then(|()| self.lock.write_all_at(text.as_bytes(), 0));
        noted.map_err(|source| InstanceError::Io { name: self.name.clone(), source })
    }

    fn wait(
        patience: Duration,
        lock: impl Fn() -> Result<Instance, InstanceError>,
    ) -> Result<Instance, InstanceError> {
        const LOOK: Duration = Duration::from_millis(20);
        let mut waited = Duration::ZERO;
        loop {
            match lock() {
                Err(InstanceError::Running(_)) if waited < patience => thread::sleep(LOOK),
                result => return result,
            }
            waited += LOOK;
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // While it is locked: nobody else has it.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether `file` is what stands at `path`.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    const NAME: &str = "bentpipe test";

    #[test]
    fn the_second_is_refused_until_the_first_is_gone() {
        let place = tempfile::tempdir().unwrap();
        let dir = RuntimeDir::create_in(place.path()).unwrap();
        let first = Instance::lock_in(&dir, NAME).unwrap();
        let message = Instance::lock_in(&dir, NAME).unwrap_err().to_string();
        assert_eq!(message, "another bentpipe test already runs in this network namespace");
        let other = Instance::lock_in(&dir, "bentpipe other").unwrap();
        let patience = Duration::from_secs(30);
        thread::scope(|scope| {
            let freed = scope.spawn(|| Instance::wait(patience, || Instance::lock_in(&dir, NAME)));
            drop((first, other));
            drop(freed.join().unwrap().unwrap());
        });
        let left = fs::read_dir(place.path().join("bentpipe")).unwrap().count();
        assert_eq!(left, 0, "what is not locked any more is removed");
    }

    #[test]
    fn what_a_killed_one_has_left_is_no_obstacle() {
        let place = tempfile::tempdir().unwrap();
        let dir = RuntimeDir::create_in(place.path()).unwrap();
        fs::write(dir.file(NAME, "lock").unwrap(), "").unwrap();
        Instance::lock_in(&dir, NAME).unwrap();
    }

    #[test]
    fn however_they_come_and_go_there_is_one() {
        let place = tempfile::tempdir().unwrap();
        let dir = RuntimeDir::create_in(place.path()).unwrap();
        let (there, had) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let Ok(lock) = Instance::lock_in(&dir, NAME) else { continue };
                        assert_eq!(there.fetch_add(1, Ordering::SeqCst), 0, "two at a time");
                        thread::yield_now();
                        there.fetch_sub(1, Ordering::SeqCst);
                        had.fetch_add(1, Ordering::SeqCst);
                        drop(lock);
                    }
                });
            }
        });
        assert!(had.into_inner() > 0);
    }
}

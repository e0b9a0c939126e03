//! Where a service keeps its lock and its socket: in a directory that only its user can write, so
//! that nobody else can take a name in it first, or stand in for who has one. (Abstract socket
//! names have no owner: whoever comes first has them.)
//!
//! Root's is `/run/bentpipe`, that of another user `bentpipe` in `$XDG_RUNTIME_DIR`. A service
//! manager may name one (`$RUNTIME_DIRECTORY`, systemd.exec(5)): for a service that has a user of
//! its own, below root's. The group that such a directory lets in may ask the service.
//!
//! The files' names begin with the number of the network namespace, which no two that live share.

use nix::unistd::{Uid, geteuid};
use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Root's directory for what lasts until the machine is started again (file-hierarchy(7)).
const RUN: &str = "/run";
/// Ours, in that one or in another user's.
const NAME: &str = "bentpipe";
/// Write permission for others than the owner.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// Permissions of the group and of all others.
const GROUP: u32 = 0o050;
const OTHERS: u32 = 0o007;

/// Why there is no such directory.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeDirError {
    /// The user has none of its own.
    #[error(
        "no place for a lock: run as root, or set XDG_RUNTIME_DIR to a directory that belongs to user {0}"
    )]
    NoPlace(Uid),
    /// Something else has its name: a file, or a link to elsewhere.
    #[error("{0} is no directory: remove it")]
    NoDirectory(PathBuf),
    /// Somebody else has made it.
    #[error(
        "{path} belongs to user {owner}, not to user {own}, and is not to be trusted: run `chown {own} {path}`"
    )]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Who we are.
        own: Uid,
    },
    /// Others may put something there.
    #[error(
        "{0} can be written by others than its owner, who could put something in our files' places: run \
         `chmod go-w {0}`"
    )]
    Open(PathBuf),
    /// The system did not let us.
    #[error(
        "cannot use {path}: {source}; it (or $RUNTIME_DIRECTORY, $XDG_RUNTIME_DIR) has to be a directory that can be \
         written: in a container, mount a tmpfs at /run"
    )]
    Io {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// Our directory.
#[derive(Debug, Clone)]
pub struct RuntimeDir {
    path: PathBuf,
}

impl RuntimeDir {
    /// The one that a service manager has made, or our user's, made if need be.
    ///
    /// # Errors
    /// [`RuntimeDirError`], also if somebody else could write there.
    pub fn create() -> Result<RuntimeDir, RuntimeDirError> {
        match given() {
            Some(path) => Self::given(path),
            None => Self::create_in(&place()?),
        }
    }

    fn given(path: PathBuf) -> Result<RuntimeDir, RuntimeDirError> {
        match fs::symlink_metadata(&path) {
            Ok(found) => check(&path, &found)?,
            Err(source) => return Err(RuntimeDirError::Io { path, source }),
        }
        Ok(RuntimeDir { path })
    }

    /// The same in `place`, which must be our user's.
    ///
    /// # Errors
    /// [`RuntimeDirError`].
    pub fn create_in(place: &Path) -> Result<RuntimeDir, RuntimeDirError> {
        let path = place.join(NAME);
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| RuntimeDirError::Io { path, source }
        };
        // Once the place is ours alone, nobody can exchange what we look at.
        check(place, &fs::metadata(place).map_err(io(place))?)?;
        // Others pass through root's, to what it has given them below.
        match DirBuilder::new().mode(0o755).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(io(&path)(error)),
            _ => Ok(()),
        }?;
        check(&path, &fs::symlink_metadata(&path).map_err(io(&path))?)?;
        Ok(RuntimeDir { path })
    }

    /// Our user's directory, whether it is there or not: for who only asks.
    ///
    /// # Errors
    /// [`RuntimeDirError::NoPlace`].
    pub fn find() -> Result<RuntimeDir, RuntimeDirError> {
        Ok(RuntimeDir { path: place()?.join(NAME) })
    }

    /// Our user's directory, and those that root has given to others.
    ///
    /// A service that our user can ask is in one of them.
    pub fn find_all() -> Vec<RuntimeDir> {
        let given = fs::read_dir(Path::new(RUN).join(NAME)).into_iter().flatten().flatten();
        let given = given.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let given = given.map(|entry| RuntimeDir { path: entry.path() });
        RuntimeDir::find().into_iter().chain(given).collect()
    }

    /// The user to whom it belongs.
    pub(crate) fn owner(&self) -> Option<u32> {
        fs::symlink_metadata(&self.path).ok().map(|found| found.uid())
    }

    /// Whether its owner has let its group in, and nobody else.
    pub(crate) fn is_shared_with_its_group(&self) -> bool {
        fs::symlink_metadata(&self.path)
            .is_ok_and(|found| found.mode() & GROUP == GROUP && found.mode() & OTHERS == 0)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file of this `kind` that `name`, which may hold spaces, has in our network namespace.
    ///
    /// # Errors
    /// When the namespace's number is not to be had.
    pub fn file(&self, name: &str, kind: &str) -> io::Result<PathBuf> {
        // The thread's, which need not be the process's.
        let namespace = fs::metadata("/proc/thread-self/ns/net")?.ino();
        Ok(self.path.join(format!("{namespace}-{}.{kind}", name.replace(' ', "-"))))
    }
}

/// Where our user's directory is. A user namespace's root is not the one to whom `/run` belongs.
fn place() -> Result<PathBuf, RuntimeDirError> {
    let own = geteuid();
    if fs::metadata(RUN).is_ok_and(|run| run.uid() == own.as_raw()) {
        return Ok(RUN.into());
    }
    let given = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    given.filter(|path| path.is_absolute()).ok_or(RuntimeDirError::NoPlace(own))
}

/// The first of those that a service manager has made for us.
fn given() -> Option<PathBuf> {
    let all = std::env::var("RUNTIME_DIRECTORY").ok()?;
    all.split(':').next().filter(|path| path.starts_with('/')).map(PathBuf::from)
}

/// A directory, our user's, and nobody else's to write.
fn check(path: &Path, found: &Metadata) -> Result<(), RuntimeDirError> {
    let (path, owner, own) = (path.to_owned(), found.uid(), geteuid());
    if !found.is_dir() {
        return Err(RuntimeDirError::NoDirectory(path));
    }
    if owner != own.as_raw() {
        return Err(RuntimeDirError::Foreign { path, owner, own });
    }
    if found.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(RuntimeDirError::Open(path));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    #[test]
    fn it_is_made_for_its_user_alone_and_found_again() {
        let place = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let made = RuntimeDir::create_in(place.path()).unwrap();
            assert_eq!(fs::metadata(&made.path).unwrap().mode() & WRITABLE_BY_OTHERS, 0);
            assert!(!made.is_shared_with_its_group());
            let file = made.file("bentpipe gateway", "lock").unwrap();
            let name = file.file_name().unwrap().to_str().unwrap();
            let (namespace, rest) = name.split_once('-').unwrap();
            assert!(namespace.parse::<u64>().is_ok() && rest == "bentpipe-gateway.lock", "{name}");
        }
    }

    #[test]
    fn one_that_a_manager_gives_may_let_its_group_in() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("gateway");
        assert!(matches!(RuntimeDir::given(path.clone()), Err(RuntimeDirError::Io { .. })));
        fs::create_dir(&path).unwrap();
        let given = || RuntimeDir::given(path.clone());
        for (mode, is_shared) in [(0o750, Some(true)), (0o700, Some(false)), (0o770, None)] {
            fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            let found = given().ok().map(|dir| dir.is_shared_with_its_group());
            assert_eq!(found, is_shared, "{mode:o}");
        }
    }

    #[test]
    fn what_others_can_write_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(NAME);
        let refused = || RuntimeDir::create_in(place.path()).unwrap_err().to_string();

        fs::write(&path, "").unwrap();
        assert!(refused().ends_with("is no directory: remove it"), "{}", refused());
        fs::remove_file(&path).unwrap();

        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), &path).unwrap();
        assert!(refused().contains("is no directory"), "{}", refused());
        fs::remove_file(&path).unwrap();

        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o777)).unwrap();
        assert!(refused().contains("can be written by others"), "{}", refused());
        fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
        if geteuid().is_root() {
            chown(&path, Some(65534), None).unwrap();
            assert!(refused().contains("belongs to user 65534"), "{}", refused());
            chown(&path, Some(0), None).unwrap();
        }
        RuntimeDir::create_in(place.path()).unwrap();

        fs::set_permissions(place.path(), PermissionsExt::from_mode(0o777)).unwrap();
        assert!(refused().contains("can be written by others"), "{}", refused());
    }
}

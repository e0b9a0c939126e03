//! What a gateway leaves for the next one: the connections that it has handed back when it was
//! stopped, with what their hosts have agreed on, in a file of its runtime directory.
//!
//! The next gateway takes the file away as it reads it. So what it has recorded was forwarded
//! since, by the kernel: a gateway that crashes leaves nothing, as nobody knows what it had
//! promised. What is old, not ours or not as it was written is not used.
//!
//! A namespace's number is used again as soon as it is gone, and what its gateway has left is
//! nothing to the next one: its cookie, which is not (socket(7), `SO_NETNS_COOKIE`), is part of the
//! file's name.

use crate::own_file::{self, OwnFileError};
use bentpipe_gateway::{
    SessionRecord, SessionRecordError, parse_session_records, write_session_records,
};
use bentpipe_linux::instance::InstanceError;
use bentpipe_linux::netns::cookie;
use bentpipe_linux::runtime_dir::RuntimeDir;
use nix::time::{ClockId, clock_gettime};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Far more than the records of all flows that a gateway may have.
const MAX_LEN: u64 = 1 << 28;

/// After so many seconds ports may be used again, and the connections of others be called the same
/// (RFC 9293, 3.4.2: half of 2 MSL as most systems have it).
const MAX_AGE: u64 = 60;

/// Why what was left is not used.
#[derive(Debug, thiserror::Error)]
pub enum SessionRecordFileError {
    /// It cannot be read, or is not ours.
    #[error(transparent)]
    File(#[from] OwnFileError),
    /// It is none of ours, or broken.
    #[error(transparent)]
    Records(#[from] SessionRecordError),
    /// Its connections may be others by now.
    #[error("it is {0} s old")]
    Old(u64),
    /// By a clock that did not run yet.
    #[error("it was not written since this machine was started")]
    Future,
}

/// The file of a service in our network namespace.
#[derive(Debug)]
pub struct SessionRecordFile {
    path: PathBuf,
}

impl SessionRecordFile {
    /// Of the service `name`.
    ///
    /// # Errors
    /// [`InstanceError`], when there is no place for it.
    pub fn of(name: &str) -> Result<SessionRecordFile, InstanceError> {
        SessionRecordFile::in_dir(&RuntimeDir::create()?, name)
    }

    fn in_dir(dir: &RuntimeDir, name: &str) -> Result<SessionRecordFile, InstanceError> {
        let failed = |source| InstanceError::Io { name: name.to_owned(), source };
        let kind = match cookie::of_this_thread() {
            Some(cookie) => &format!("{cookie}.records"),
            None => "records",
        };
        Ok(SessionRecordFile { path: dir.file(name, kind).map_err(failed)? })
    }

    /// Reads what was left, if anything was, and takes it away, whatever it is.
    ///
    /// # Errors
    /// [`SessionRecordFileError`], if it is not to be used.
    pub fn take(&self) -> Result<Vec<SessionRecord>, SessionRecordFileError> {
        self.remove_old();
        let file = own_file::open(&self.path);
        let removed = fs::remove_file(&self.path);
        let Some(file) = file? else { return Ok(Vec::new()) };
        // What stays would be read again.
        removed.map_err(OwnFileError::from)?;
        let bytes = own_file::read(file, MAX_LEN)?;
        let (at, records) = parse_session_records(&String::from_utf8_lossy(&bytes))?;
        match seconds().checked_sub(at) {
            None => Err(SessionRecordFileError::Future),
            Some(age) if age > MAX_AGE => Err(SessionRecordFileError::Old(age)),
            Some(_) => Ok(records),
        }
    }

    /// Removes what nobody reads any more, as its namespace is gone, or nobody may use.
    fn remove_old(&self) {
        let files = self.path.parent().and_then(|dir| fs::read_dir(dir).ok());
        for file in files.into_iter().flatten().flatten().filter(|file| file.path() != self.path) {
            let is_one = file.path().extension().is_some_and(|kind| kind == "records");
            let written = file.metadata().and_then(|about| about.modified());
            let age = written.ok().and_then(|at| at.elapsed().ok());
            if is_one && age.is_some_and(|age| age.as_secs() > MAX_AGE) {
                let _ = fs::remove_file(file.path());
            }
        }
    }

    /// Leaves these to the next one.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn leave(&self, records: impl IntoIterator<Item = SessionRecord>) -> io::Result<()> {
        let text = write_session_records(seconds(), records);
        let new = self.path.with_extension("records-new");
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&new)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| fs::rename(&new, &self.path));
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written
    }

    /// The file's place.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Since the machine was started, its sleep included.
fn seconds() -> u64 {
    clock_gettime(ClockId::CLOCK_BOOTTIME)
        .map_or(0, |time| u64::try_from(time.tv_sec()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sched::{CloneFlags, unshare};
    use nix::unistd::geteuid;
    use std::os::unix::fs::{MetadataExt, symlink};
    use std::thread;
    use std::time::{Duration, SystemTime};

    const RECORD: &str = "10.0.0.1:4000 10.9.9.9:80 lan 0 1000:1460:7:st:52001 77000:1460:9:st:1";

    fn place() -> (tempfile::TempDir, SessionRecordFile) {
        let place = tempfile::tempdir().unwrap();
        let dir = RuntimeDir::create_in(place.path()).unwrap();
        let file = SessionRecordFile::in_dir(&dir, "bentpipe test").unwrap();
        (place, file)
    }

    fn why(file: &SessionRecordFile, text: &str) -> String {
        fs::write(&file.path, text).unwrap();
        let why = file.take().unwrap_err().to_string();
        assert!(!file.path.exists());
        why
    }

    #[test]
    fn what_is_left_is_taken_once() {
        let (_place, file) = place();
        let record: SessionRecord = RECORD.parse().unwrap();
        assert_eq!(file.take().unwrap(), []);
        for _ in 0..2 {
            file.leave([record]).unwrap();
            assert_eq!(fs::metadata(&file.path).unwrap().mode() & 0o777, 0o600);
        }
        assert_eq!(file.take().unwrap(), [record]);
        // A gateway that has read it and crashes leaves nothing to the next one.
        assert_eq!(file.take().unwrap(), []);
    }

    #[test]
    fn what_another_namespace_has_left_is_not_read() {
        if !geteuid().is_root() || cookie::of_this_thread().is_none() {
            return;
        }
        let (place, file) = place();
        file.leave([RECORD.parse().unwrap()]).unwrap();
        let elsewhere = thread::scope(|scope| {
            let thread = scope.spawn(|| {
                unshare(CloneFlags::CLONE_NEWNET).unwrap();
                SessionRecordFile::in_dir(
                    &RuntimeDir::create_in(place.path()).unwrap(),
                    "bentpipe test",
                )
                .unwrap()
            });
            thread.join().unwrap()
        });
        // Its number would be that of the file's namespace, had that one ended.
        let name = |file: &SessionRecordFile| {
            let name = file.path.file_name().unwrap().to_str().unwrap();
            name.split_once('-').unwrap().1.to_owned()
        };
        assert_ne!(name(&elsewhere), name(&file));
        assert_eq!(elsewhere.take().unwrap(), []);
        // It is not removed before it is of no use any more.
        assert!(file.path.exists());
        let written = SystemTime::now() - Duration::from_secs(MAX_AGE + 2);
        File::options().write(true).open(&file.path).unwrap().set_modified(written).unwrap();
        assert_eq!(elsewhere.take().unwrap(), []);
        assert!(!file.path.exists());
    }

    #[test]
    fn what_is_old_or_broken_is_not_used() {
        let (place, file) = place();
        let record = || [RECORD.parse::<SessionRecord>().unwrap()];
        let now = seconds();
        if let Some(old) = now.checked_sub(MAX_AGE + 2) {
            assert!(why(&file, &write_session_records(old, record())).ends_with("s old"));
        }
        let ahead = why(&file, &write_session_records(now + 100, record()));
        assert_eq!(ahead, "it was not written since this machine was started");
        assert_eq!(why(&file, ""), "it is not complete");
        assert_eq!(
            why(&file, &write_session_records(now, record()).replace("lan", "wan")),
            "line 2 is no record"
        );
        fs::write(&file.path, [0xff; 100]).unwrap();
        assert!(file.take().is_err());
        // Nor is what somebody else may change.
        let elsewhere = place.path().join("elsewhere");
        fs::write(&elsewhere, write_session_records(now, record())).unwrap();
        symlink(&elsewhere, &file.path).unwrap();
        assert_eq!(file.take().unwrap_err().to_string(), "it is not a file of ours");
        assert!(elsewhere.exists() && !file.path.exists());
        nix::unistd::mkfifo(&file.path, nix::sys::stat::Mode::S_IRUSR).unwrap();
        assert_eq!(file.take().unwrap_err().to_string(), "it is not a file of ours");
    }
}

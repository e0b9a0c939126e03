//! The links that a gateway has found, in a file of its state directory.
//!
//! The next gateway begins with them. A service manager names that directory (`$STATE_DIRECTORY`,
//! systemd.exec(5)). Without one nothing is kept: a gateway that is tried by hand leaves no files.
//! A file that is broken or not ours is not used: then links are found as if for the first time.

use crate::own_file::{self, OwnFileError};
use bentpipe_core::time::Duration;
use bentpipe_core::units::Rate;
use bentpipe_gateway::RememberedLink;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// Far more than what is remembered of 1,024 remotes and 4,096 hosts.
const MAX_LEN: u64 = 1 << 22;

/// Of the file.
const VERSION: u32 = 1;

/// What is written before the clock was set has this age, in seconds: it counts as old.
const UNKNOWN_AGE: u64 = 3_600;

/// What a link may be, in bits a second and in milliseconds.
const MAX_RATE: u64 = 1_000_000_000_000;
const MAX_ROUND_TRIP: u64 = 60_000;

/// Why what is remembered is not used.
#[derive(Debug, thiserror::Error)]
pub enum LinkMemoryError {
    /// It cannot be read, or is not ours.
    #[error(transparent)]
    File(#[from] OwnFileError),
    /// It was not written by this program, or is broken.
    #[error("it is broken: {0}")]
    Broken(#[from] serde_json::Error),
    /// Another version has written it.
    #[error("it is of version {0}")]
    Version(u32),
}

/// Why what was found of links is not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The disk, or what this user may have of it, is full.
    #[error("no space is left at {}: make room; it is tried again", .0.display())]
    Full(PathBuf),
    /// It cannot be written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// The file as it is written.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Written {
    version: u32,
    /// Seconds since 1970.
    written: u64,
    links: Vec<WrittenLink>,
}

/// A link in it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct WrittenLink {
    identity: u32,
    hosts: Vec<IpAddr>,
    bits_per_second: u64,
    round_trip_ms: u64,
    arriving_bits_per_second: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    guess_bits_per_second: Option<u64>,
    age_s: u64,
}

/// The file of a service.
#[derive(Debug, Clone)]
pub struct LinkMemory {
    path: PathBuf,
}

impl LinkMemory {
    /// Of the service `name`, if it has a state directory.
    pub fn of(name: &str) -> Option<LinkMemory> {
        // Several are separated by colons.
        let given = std::env::var_os("STATE_DIRECTORY")?;
        let dir = std::env::split_paths(&given).next().filter(|dir| dir.is_absolute())?;
        Some(LinkMemory { path: dir.join(format!("{name}-links.json")) })
    }

    /// Reads the links that are remembered; none, if none ever was.
    ///
    /// # Errors
    /// [`LinkMemoryError`], if what is there is not to be used.
    pub fn read(&self) -> Result<Vec<RememberedLink>, LinkMemoryError> {
        let Some(file) = own_file::open(&self.path)? else { return Ok(Vec::new()) };
        let written: Written = serde_json::from_slice(&own_file::read(file, MAX_LEN)?)?;
        if written.version != VERSION {
            return Err(LinkMemoryError::Version(written.version));
        }
        let since = seconds().checked_sub(written.written).unwrap_or(UNKNOWN_AGE);
        Ok(written.links.into_iter().filter_map(|link| link.read(since)).collect())
    }

    /// Writes the links that are to be remembered; without any, there is no file.
    ///
    /// # Errors
    /// [`WriteError`]: what was remembered stays.
    pub fn write(&self, links: &[RememberedLink]) -> Result<(), WriteError> {
        self.try_to_write(links).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> WriteError {
        let path = self.path.clone();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => WriteError::Full(path),
            _ => WriteError::File { path, source },
        }
    }

    fn try_to_write(&self, links: &[RememberedLink]) -> io::Result<()> {
        if links.is_empty() {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let links = links.iter().map(WrittenLink::of).collect();
        let written = Written { version: VERSION, written: seconds(), links };
        let new = self.path.with_extension("new");
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&new)?;
        let done = file
            .write_all(serde_json::to_string(&written)?.as_bytes())
            .and_then(|()| fs::rename(&new, &self.path));
        if done.is_err() {
            // Half a file takes room that is short. That it stays is no harm.
            let _ = fs::remove_file(&new);
        }
        done
    }
}

impl WrittenLink {
    fn of(link: &RememberedLink) -> WrittenLink {
        WrittenLink {
            identity: link.identity,
            hosts: link.hosts.clone(),
            bits_per_second: link.rate.bits_per_sec(),
            round_trip_ms: (link.round_trip.as_nanos() / 1_000_000) as u64,
            arriving_bits_per_second: link.arriving.bits_per_sec(),
            guess_bits_per_second: link.guess.map(Rate::bits_per_sec),
            age_s: link.age.as_secs(),
        }
    }

    /// The link so many seconds after it was written; None, if there is no such link.
    fn read(self, since: u64) -> Option<RememberedLink> {
        let may_be = (1..=MAX_RATE).contains(&self.bits_per_second)
            && (1..=MAX_ROUND_TRIP).contains(&self.round_trip_ms)
            && self.arriving_bits_per_second <= MAX_RATE;
        may_be.then(|| RememberedLink {
            identity: self.identity,
            hosts: self.hosts,
            rate: Rate::from_bits_per_sec(self.bits_per_second),
            round_trip: Duration::from_millis(self.round_trip_ms),
            arriving: Rate::from_bits_per_sec(self.arriving_bits_per_second),
            guess: self.guess_bits_per_second.map(Rate::from_bits_per_sec),
            age: Duration::from_secs(self.age_s.saturating_add(since).min(u64::from(u32::MAX))),
        })
    }
}

/// Since 1970, by a clock that may not be set yet.
fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt as _, symlink};

    fn link(identity: u32) -> RememberedLink {
        RememberedLink {
            identity,
            hosts: vec![[10, 0, 0, 7].into(), "2001:db8::7".parse().unwrap()],
            rate: Rate::from_bits_per_sec(8_000_000),
            round_trip: Duration::from_millis(512),
            arriving: Rate::from_bits_per_sec(250_000),
            guess: Some(Rate::from_bits_per_sec(6_000_000)),
            age: Duration::from_secs(5),
        }
    }

    #[test]
    fn what_is_written_is_read_and_ages() {
        let place = tempfile::tempdir().unwrap();
        let memory = LinkMemory { path: place.path().join("links.json") };
        assert_eq!(memory.read().unwrap(), []);
        memory.write(&[link(1), link(2)]).unwrap();
        memory.write(&[link(3)]).unwrap();
        assert_eq!(fs::metadata(&memory.path).unwrap().mode() & 0o777, 0o600);
        memory.write(&[]).unwrap();
        assert!(!memory.path.exists());
        memory.write(&[link(3)]).unwrap();
        let [read] = &memory.read().unwrap()[..] else { panic!("one was written") };
        assert!(read.age.as_secs() < 60);
        assert_eq!(RememberedLink { age: link(3).age, ..read.clone() }, link(3));
        let age = |written: u64| {
            let links = vec![WrittenLink::of(&link(3))];
            let text = Written { version: VERSION, written, links };
            fs::write(&memory.path, serde_json::to_string(&text).unwrap()).unwrap();
            memory.read().unwrap()[0].age.as_secs()
        };
        assert!((7_205..7_265).contains(&age(seconds() - 7_200)));
        // By a clock that is not set yet.
        assert_eq!(age(seconds() + 1_000_000), 5 + UNKNOWN_AGE);
    }

    /// Each in one line, which names the file and what is to be done.
    #[test]
    fn full_disk_is_said_with_the_file() {
        let memory = LinkMemory { path: PathBuf::from("/var/lib/bentpipe/gateway/links.json") };
        let says = |errno: i32| memory.failed(io::Error::from_raw_os_error(errno)).to_string();
        let full = "no space is left at /var/lib/bentpipe/gateway/links.json: make room; it is tried again";
        assert_eq!([says(28), says(122)], [full, full], "ENOSPC, EDQUOT");
        assert!(says(30).starts_with("/var/lib/bentpipe/gateway/links.json: Read-only"), "EROFS");
    }

    #[test]
    fn what_is_not_ours_or_is_broken_is_not_used() {
        let place = tempfile::tempdir().unwrap();
        let memory = LinkMemory { path: place.path().join("links.json") };
        let why = |text: &str| {
            fs::write(&memory.path, text).unwrap();
            memory.read().map_err(|error| error.to_string())
        };
        assert!(why("").unwrap_err().starts_with("it is broken"));
        assert!(why("[1, 2").unwrap_err().starts_with("it is broken"));
        let file = |version: u32, rate: u64, round_trip: u64| {
            format!(
                r#"{{"version":{version},"written":0,"links":[{{"identity":7,"hosts":[],"bits-per-second":{rate},"round-trip-ms":{round_trip},"arriving-bits-per-second":0,"age-s":18446744073709551615}}]}}"#
            )
        };
        assert_eq!(why(&file(2, 1, 1)).unwrap_err(), "it is of version 2");
        assert_eq!(why(&file(1, 1, 1)).unwrap().len(), 1);
        for (rate, round_trip) in [(0, 1), (1, 0), (u64::MAX, 1), (1, u64::MAX)] {
            assert_eq!(why(&file(1, rate, round_trip)).unwrap(), [], "{rate} {round_trip}");
        }
        fs::remove_file(&memory.path).unwrap();
        symlink("/etc/hostname", &memory.path).unwrap();
        assert!(memory.read().is_err());
    }
}

//! Messages of a service to the manager that has started it (systemd's sd_notify(3)).
//!
//! No library, as those wait where the manager does not read: a gateway waits for nobody. A message
//! that finds no room is left out.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::PathBuf;
use std::time::Duration;

/// The manager's socket, if there is a manager.
#[derive(Debug, Default)]
pub struct ServiceManager {
    socket: Option<UnixDatagram>,
    /// From beat to beat, if it expects any.
    beat: Option<Duration>,
}

impl ServiceManager {
    /// The one of which the environment tells. None is no error, and neither is one that is gone.
    pub fn of_environment() -> ServiceManager {
        let socket = env::var_os("NOTIFY_SOCKET").and_then(|name| connect(&name).ok());
        let ours =
            env::var("WATCHDOG_PID").map_or(true, |pid| pid == std::process::id().to_string());
        let patience = env::var("WATCHDOG_USEC").ok().filter(|_| ours);
        let patience = patience.and_then(|micros| micros.parse().ok()).map(Duration::from_micros);
        // Two may be lost.
        ServiceManager { socket, beat: patience.map(|patience| patience / 3) }
    }

    /// Says that it has begun.
    pub fn ready(&self, status: &str) {
        self.say(&format!("READY=1\nSTATUS={status}"));
    }

    /// Says how it stands, in a line for people.
    pub fn stands(&self, status: &str) {
        self.say(&format!("STATUS={status}"));
    }

    /// Says that it ends, which may take so long.
    pub fn stopping(&self, within: Duration) {
        self.say(&format!(
            "STOPPING=1\nSTATUS=delivers what it holds\nEXTEND_TIMEOUT_USEC={}",
            within.as_micros()
        ));
    }

    /// The time from one [beat](Self::beat) to the next, if any are expected.
    pub fn beat_interval(&self) -> Option<Duration> {
        self.beat.filter(|_| self.socket.is_some())
    }

    /// Says that it lives.
    pub fn beat(&self) {
        self.say("WATCHDOG=1");
    }

    fn say(&self, text: &str) {
        if let Some(socket) = &self.socket
            && let Err(error) = socket.send(text.as_bytes())
        {
            tracing::debug!(%error, "the service manager does not hear");
        }
    }
}

/// The socket of this name: a path, or an abstract one behind `@`.
fn connect(name: &OsStr) -> io::Result<UnixDatagram> {
    let address = match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(PathBuf::from(name))?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.connect_addr(&address)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A manager that reads, or not, and who talks to it.
    fn pair() -> (tempfile::TempDir, UnixDatagram, ServiceManager) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("notify");
        let manager = UnixDatagram::bind(&path).unwrap();
        manager.set_nonblocking(true).unwrap();
        let socket = Some(connect(path.as_os_str()).unwrap());
        (place, manager, ServiceManager { socket, beat: None })
    }

    fn hears(manager: &UnixDatagram) -> String {
        let mut buffer = [0; 512];
        let len = manager.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..len]).into_owned()
    }

    #[test]
    fn what_is_said_arrives_as_sd_notify_has_it() {
        let (_place, manager, service) = pair();
        service.ready("splits");
        assert_eq!(hears(&manager), "READY=1\nSTATUS=splits");
        service.stopping(Duration::from_secs(3));
        assert!(hears(&manager).ends_with("EXTEND_TIMEOUT_USEC=3000000"));
        service.stands("splits");
        assert_eq!(hears(&manager), "STATUS=splits");
        service.beat();
        assert_eq!(hears(&manager), "WATCHDOG=1");
    }

    /// What a manager that does not read could do to a gateway.
    #[test]
    fn a_manager_that_does_not_read_holds_nobody_up() {
        let (place, manager, service) = pair();
        (0..10_000).for_each(|_| service.beat());
        drop((manager, place));
        service.beat();
        ServiceManager::default().ready("nobody hears it");
    }

    #[test]
    fn an_abstract_name_is_none_of_the_file_system() {
        let name = format!("@bentpipe-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name[1..]).unwrap();
        let manager = UnixDatagram::bind_addr(&address).unwrap();
        let socket = Some(connect(OsStr::new(&name)).unwrap());
        ServiceManager { socket, beat: None }.beat();
        assert_eq!(hears(&manager), "WATCHDOG=1");
    }
}

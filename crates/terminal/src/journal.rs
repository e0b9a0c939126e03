//! The log as entries with fields in systemd's journal, where standard error leads there.
//!
//! Not by a library, as those wait where the journal does not read, and a gateway waits for nobody.
//! An entry that finds no room is counted. A `key=value` of a line is a field of its own, too, so
//! that `journalctl BENTPIPE_CLIENT=10.0.0.7:4000` finds a connection.

use nix::sys::stat::fstat;
use std::fmt::{self, Write};
use std::io;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Where the journal listens (systemd's "Native Journal Protocol").
const SOCKET: &str = "/run/systemd/journal/socket";

/// What stands before the name of a field of ours.
const PREFIX: &str = "BENTPIPE_";

/// The journal, for the log of one program.
#[derive(Debug)]
pub(crate) struct Journal {
    socket: UnixDatagram,
    program: &'static str,
    lost: Arc<AtomicU64>,
}

impl Journal {
    /// The one that standard error leads to. None if it leads elsewhere.
    pub(crate) fn of_standard_error(program: &'static str) -> Option<Journal> {
        let named = std::env::var("JOURNAL_STREAM").ok()?;
        let there = fstat(io::stderr()).ok()?;
        if named != format!("{}:{}", there.st_dev, there.st_ino) {
            return None;
        }
        Journal::at(SOCKET, program).ok()
    }

    fn at(path: &str, program: &'static str) -> io::Result<Journal> {
        let socket = UnixDatagram::unbound()?;
        socket.connect(path)?;
        socket.set_nonblocking(true)?;
        Ok(Journal { socket, program, lost: Arc::default() })
    }

    /// Entries that were lost so far.
    pub(crate) fn lost(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.lost)
    }

    /// Writes an entry of this syslog(3) priority.
    fn put(&self, priority: u8, place: &str, text: &str) {
        let mut entry = String::new();
        for (name, value) in [
            ("PRIORITY", priority.to_string().as_str()),
            ("SYSLOG_IDENTIFIER", self.program),
            ("TARGET", place),
            ("MESSAGE", text),
        ] {
            add(&mut entry, name, value);
        }
        for (key, value) in pairs(text) {
            add(&mut entry, &format!("{PREFIX}{}", key.to_ascii_uppercase()), value);
        }
        if self.socket.send(entry.as_bytes()).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A field. None of ours has lines in its value, which would have another form: they become words.
fn add(entry: &mut String, name: &str, value: &str) {
    let _ = writeln!(entry, "{name}={}", value.replace(['\n', '\0'], " "));
}

/// What a line says as `key=value`, as the log has it of connections.
fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_key =
        |key: &&str| !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    text.split_whitespace()
        .filter_map(|word| word.split_once('='))
        .filter(move |(key, value)| is_key(key) && !key.starts_with('_') && !value.is_empty())
        .map(|(key, value)| (key, value.trim_end_matches([',', ';', ':'])))
}

impl<S: Subscriber> Layer<S> for Journal {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let priority = match *event.metadata().level() {
            Level::ERROR => 3,
            Level::WARN => 4,
            Level::INFO => 6,
            _ => 7,
        };
        let mut line = Line::default();
        event.record(&mut line);
        self.put(priority, event.metadata().target(), line.text().trim_end());
    }
}

/// An event's message, and its fields behind it.
#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Line {
    fn text(self) -> String {
        self.message + &self.fields
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let _ = match field.name() {
            "message" => write!(self.message, "{value}"),
            name => write!(self.fields, " {name}={value}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_its_text_and_its_fields() {
        let path = std::env::temp_dir().join(format!("bentpipe-journal-{}", std::process::id()));
        let reader = UnixDatagram::bind(&path).unwrap();
        let journal = Journal::at(path.to_str().unwrap(), "bentpipe-gateway").unwrap();
        journal.put(
            4,
            "a::place",
            "flow not split client=10.0.0.7:40 server=192.0.2.1:80 reason=policy",
        );
        let mut buffer = [0; 1024];
        let len = reader.recv(&mut buffer).unwrap();
        let text = String::from_utf8_lossy(&buffer[..len]).into_owned();
        let expected = "PRIORITY=4\nSYSLOG_IDENTIFIER=bentpipe-gateway\nTARGET=a::place\nMESSAGE=flow not split \
             client=10.0.0.7:40 server=192.0.2.1:80 reason=policy\nBENTPIPE_CLIENT=10.0.0.7:40\n\
             BENTPIPE_SERVER=192.0.2.1:80\nBENTPIPE_REASON=policy\n";
        assert_eq!(text, expected);
        // Nobody reads: nothing waits.
        (0..10_000).for_each(|_| journal.put(6, "a", "b"));
        assert!(journal.lost.load(Ordering::Relaxed) > 0);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_others_say_makes_no_fields_of_its_own() {
        let forged = "a reason\nPRIORITY=0\nX=1 client=1.2.3.4";
        let mut entry = String::new();
        add(&mut entry, "MESSAGE", forged);
        assert_eq!(entry.lines().count(), 1, "{entry}");
        assert_eq!(pairs("net.ipv4.ip_forward=1 A=b =c d=").count(), 0);
        assert_eq!(
            pairs("held_bytes=5, x=1").collect::<Vec<_>>(),
            [("held_bytes", "5"), ("x", "1")]
        );
    }
}

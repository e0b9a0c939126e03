//! The configuration read again while the gateway runs, upon SIGHUP.
//!
//! A thread without privileges reads the file: the loop that carries packets does not wait for a
//! disk. What the file says is taken as a whole or not at all, so that a gateway is always as one
//! file says.

use super::config;
use crate::control::{ControlClient, Reconfiguration};
use bentpipe_config::gateway::GatewayFile;
use bentpipe_linux::privileges;
use serde_json::{Value, json};
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::SystemTime;

/// What came of the latest SIGHUP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reloaded {
    pub(super) at: SystemTime,
    /// The tables that have changed, or why nothing has.
    pub(super) outcome: Result<Vec<&'static str>, String>,
}

/// The same for those who ask; None before the first.
pub(super) type LastReload = Arc<Mutex<Option<Reloaded>>>;

/// Reads the file at `path`, of which `running` is what the gateway runs by, whenever it is asked
/// to.
pub(super) fn begin(
    path: PathBuf,
    running: GatewayFile,
    client: ControlClient,
    last: LastReload,
) -> io::Result<SyncSender<()>> {
    let (ask, asked) = sync_channel(1);
    let reload = Reload { path, running, client, last };
    thread::Builder::new().name("bp-reload".into()).spawn(move || reload.serve(&asked))?;
    Ok(ask)
}

struct Reload {
    path: PathBuf,
    running: GatewayFile,
    client: ControlClient,
    last: LastReload,
}

impl Reload {
    fn serve(mut self, asked: &Receiver<()>) {
        if let Err(error) = privileges::give_up_all_of_this_thread() {
            tracing::error!(%error, "the configuration is not read again");
            return;
        }
        while asked.recv().is_ok() {
            let outcome = self.reload();
            let reloaded = Reloaded { at: SystemTime::now(), outcome: outcome.clone() };
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(reloaded);
            let path = self.path.display();
            match outcome {
                Ok(changed) if changed.is_empty() => {
                    tracing::info!("{path} read again: nothing has changed");
                }
                Ok(changed) => tracing::info!("{path} read again: {} changed", changed.join(", ")),
                Err(why) => tracing::error!("{why}: nothing is changed"),
            }
        }
    }

    /// The tables that have changed, or why nothing has.
    fn reload(&mut self) -> Result<Vec<&'static str>, String> {
        let new = config::read(&self.path).map_err(|error| match error.is_forbidden() {
            // At the start root could read it all the same.
            true => format!("{error}; the gateway has given up root's right to read any file"),
            false => error.to_string(),
        })?;
        let fixed = self.running.fixed_keys_changed(&new);
        if !fixed.is_empty() {
            let (path, keys) = (self.path.display(), fixed.join(", "));
            return Err(format!("{path}: {keys} cannot change while the gateway runs, restart it"));
        }
        // A file that is read again as a firewall was reloaded is not to end what an operator has
        // begun by hand.
        let turns = new.config.policy.observe != self.running.config.policy.observe;
        let (drain, log_every) = (new.drain, new.log_every);
        let config = Reconfiguration { config: new.config.clone(), turns, drain, log_every };
        self.client.reconfigure(config).map_err(|error| error.to_string())?;
        let changed = self.running.tables_changed(&new);
        self.running = new;
        Ok(changed)
    }
}

impl Reloaded {
    /// For people, as seen `now`.
    pub(super) fn words(&self, now: SystemTime) -> String {
        let ago = super::flows::span(now.duration_since(self.at).unwrap_or_default());
        match &self.outcome {
            Ok(changed) if changed.is_empty() => {
                format!("read again {ago} ago, nothing had changed")
            }
            Ok(changed) => format!("read again {ago} ago, {} changed", changed.join(", ")),
            Err(why) => format!("refused {ago} ago, nothing was changed: {why}"),
        }
    }

    /// For machines.
    pub(super) fn json(&self) -> Value {
        json!({
            "at": humantime::format_rfc3339_millis(self.at).to_string(),
            "changed": self.outcome.as_ref().ok(),
            "error": self.outcome.as_ref().err(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_came_of_it_is_told() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let of = |outcome| Reloaded { at, outcome };
        let words = |outcome| of(outcome).words(at + Duration::from_secs(75));
        assert_eq!(
            words(Ok(vec!["limits", "policy"])),
            "read again 1min15s ago, limits, policy changed"
        );
        assert_eq!(words(Ok(vec![])), "read again 1min15s ago, nothing had changed");
        let refused = words(Err("g.toml:3:1: no".into()));
        assert_eq!(refused, "refused 1min15s ago, nothing was changed: g.toml:3:1: no");
        assert_eq!(
            of(Err("no".into())).json(),
            json!({ "at": "2001-09-09T01:46:40.000Z", "changed": null, "error": "no" })
        );
    }
}

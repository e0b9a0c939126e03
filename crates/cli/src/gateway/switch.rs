//! `bentpipe gateway enable` and `disable`: a gateway that observes splits from now on, for good or on trial, and back.
//!
//! On trial it goes back by itself unless somebody confirms: who has shut himself out need only wait. What the file says of
//! `observe` counts again once it is read again.

use super::flows::span;
use super::reload::LastReload;
use super::{Error, answers};
use bentpipe_net::control::ControlClient;
use bentpipe_net::privileges;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// To split; for so long, unless that is confirmed.
    Enable(Option<Duration>),
    /// To observe.
    Disable,
}

impl Wish {
    fn line(self) -> String {
        match self {
            Wish::Enable(None) => "enable".to_owned(),
            Wish::Enable(Some(trial)) => format!("enable {}", trial.as_millis()),
            Wish::Disable => "disable".to_owned(),
        }
    }

    /// What a line wishes.
    pub(super) fn parse(line: &str) -> Option<Wish> {
        match line.split_once(' ') {
            None if line == "enable" => Some(Wish::Enable(None)),
            None if line == "disable" => Some(Wish::Disable),
            Some(("enable", trial)) => {
                let trial = Duration::from_millis(trial.parse().ok()?);
                Some(Wish::Enable(Some(trial)))
            }
            _ => None,
        }
    }
}

/// Has the gateway that runs here do it.
pub(super) fn run(wish: Wish) -> Result<ExitCode, Error> {
    io::stdout().write_all(&answers::wish(&wish.line())?)?;
    Ok(ExitCode::SUCCESS)
}

/// A trial that lasts.
#[derive(Debug, Clone, Copy)]
struct Trial {
    until: Instant,
    began: SystemTime,
}

/// Turns it on and off. Clones turn the same gateway.
#[derive(Clone)]
pub(super) struct Switch {
    client: ControlClient,
    trial: Arc<Mutex<Option<Trial>>>,
    changed: SyncSender<()>,
}

impl Switch {
    /// Of a gateway whose file was read again as `last` says.
    pub(super) fn begin(client: ControlClient, last: LastReload) -> io::Result<Switch> {
        let (changed, changes) = sync_channel(1);
        let switch = Switch { client, trial: Arc::default(), changed };
        let watch = Watch { client: switch.client.clone(), trial: Arc::clone(&switch.trial), last };
        thread::Builder::new().name("bp-trial".into()).spawn(move || watch.serve(&changes))?;
        Ok(switch)
    }

    /// Does what is wished, and says so. None where the loop does not answer.
    pub(super) fn turn(&self, wish: Wish) -> Option<String> {
        // Before, lest its end come between.
        *lock(&self.trial) = None;
        self.client.only_observe(wish == Wish::Disable).ok()?;
        let said = match wish {
            Wish::Enable(None) => "connections that begin now are split, until the gateway ends or reads its file again; to keep \
                                   it so, set `observe = false` in [policy]"
                .to_owned(),
            Wish::Enable(Some(trial)) => {
                let (until, began) = (Instant::now() + trial, SystemTime::now());
                *lock(&self.trial) = Some(Trial { until, began });
                format!(
                    "connections that begin now are split for {}, and no longer unless you run: bentpipe gateway enable",
                    span(trial)
                )
            }
            Wish::Disable => "nothing is split any more; what would be is counted".to_owned(),
        };
        // The other end looks again; if it has a look to come it need not be told twice.
        let _ = self.changed.try_send(());
        tracing::info!("{said}");
        Some(said + "\n")
    }

    /// How long a trial lasts yet.
    fn left(&self) -> Option<Duration> {
        lock(&self.trial).map(|trial| trial.until.saturating_duration_since(Instant::now()))
    }

    /// For people, nothing if all is as the file says.
    pub(super) fn words(&self) -> String {
        self.left().map_or_else(String::new, |left| {
            format!(
                "splitting on trial for {} more; to go on: bentpipe gateway enable\n",
                span(left)
            )
        })
    }

    /// For machines.
    pub(super) fn json(&self) -> Value {
        json!({ "left_s": self.left().map(|left| left.as_secs_f64()) })
    }
}

/// Ends trials.
struct Watch {
    client: ControlClient,
    trial: Arc<Mutex<Option<Trial>>>,
    last: LastReload,
}

impl Watch {
    fn serve(&self, changes: &Receiver<()>) {
        if let Err(error) = privileges::give_up_all_of_this_thread() {
            tracing::error!(%error, "no trial ends by itself");
            return;
        }
        loop {
            let until = lock(&self.trial).map(|trial| trial.until);
            let woken = match until {
                Some(until) => {
                    changes.recv_timeout(until.saturating_duration_since(Instant::now()))
                }
                None => changes.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match woken {
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) | Ok(()) => self.end_what_is_over(),
            }
        }
    }

    fn end_what_is_over(&self) {
        let mut trial = lock(&self.trial);
        let Some(Trial { began, .. }) = trial.take_if(|trial| trial.until <= Instant::now()) else {
            return;
        };
        drop(trial);
        let last = lock(&self.last);
        let reread = last.as_ref().is_some_and(|it| it.at >= began && it.outcome.is_ok());
        drop(last);
        if reread {
            tracing::info!(
                "the trial is over: it is split or not as the file says, which was read again"
            );
        } else if self.client.only_observe(true).is_ok() {
            tracing::warn!(
                "the trial is over, and nobody has confirmed it: nothing is split any more"
            );
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_read_as_it_was_written() {
        let trial = Some(Duration::from_secs(300));
        for wish in [Wish::Enable(None), Wish::Enable(trial), Wish::Disable] {
            assert_eq!(Wish::parse(&wish.line()), Some(wish));
        }
        for wrong in ["", "enable ", "enable x", "enable -1", "disable 5", "flows"] {
            assert_eq!(Wish::parse(wrong), None, "{wrong}");
        }
    }
}

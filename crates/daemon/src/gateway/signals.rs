//! The signals to a running gateway: it ends in order, reads its configuration again, or does
//! nothing.

use super::LiveGateway;
use crate::control::Reconfiguration;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_linux::signals::{self, Signal};
use std::sync::mpsc::{SyncSender, TrySendError};

/// From one line about a signal without a meaning to the next: whoever sends them may do so all the
/// time.
const BETWEEN_LINES: Duration = Duration::from_secs(1);

impl LiveGateway {
    /// Asks there, upon SIGHUP, for its configuration to be read again. Whoever does so on a thread
    /// of its own [reconfigures](crate::control::ControlClient::reconfigure) it.
    pub fn reloaded_by(&mut self, asked: SyncSender<()>) {
        self.reload = Some(asked);
    }

    /// Whether `signal` is to end it, and does what else it is for. `draining`: one has come
    /// before.
    pub(super) fn ends_by(&mut self, signal: Signal, draining: bool) -> bool {
        match signal {
            Signal::Interrupt | Signal::Terminate | Signal::Quit | Signal::Restart => {
                self.restarts = signal == Signal::Restart;
                return true;
            }
            Signal::Hangup if draining => {
                tracing::info!("SIGHUP: it is draining, and reads no configuration any more");
            }
            Signal::Hangup => match self.reload.as_ref().map(|asked| asked.try_send(())) {
                Some(Ok(())) => {}
                // The file may have changed since that began.
                Some(Err(TrySendError::Full(()))) => {
                    tracing::warn!("SIGHUP: the configuration is being read; send it again later");
                }
                Some(Err(TrySendError::Disconnected(()))) | None => {
                    tracing::warn!("SIGHUP: there is no configuration to be read again");
                }
            },
            Signal::Meaningless(number) => self.tell_meaningless(number),
        }
        false
    }

    fn tell_meaningless(&mut self, number: i32) {
        let now = self.clock.now();
        if self.next_meaningless <= now {
            self.next_meaningless = now + BETWEEN_LINES;
            let name = signals::name(number);
            tracing::warn!(
                "{name} is ignored: SIGTERM ends it in order, SIGHUP reads its file again"
            );
        }
    }

    /// Splits nothing new, and delivers what it holds.
    pub(super) fn drain(&mut self, now: Instant) {
        self.report_stop();
        self.gateway.drain(now);
        let (flows, bytes, drain) = (self.gateway.flows(), self.gateway.held(), self.drain);
        tracing::info!(flows, bytes, ?drain, "draining; another signal ends it at once");
    }

    /// Goes on with other parameters. Connections stay as they are.
    pub(super) fn reconfigure(&mut self, new: Reconfiguration) {
        let Reconfiguration { mut config, turns, drain, log_every } = new;
        if !turns {
            config.policy.observe = self.gateway.observes();
        } else if self.trial.take().is_some() {
            tracing::info!("the trial is over: whether it splits is as its file says now");
        }
        self.gateway.reconfigure(config);
        self.take_or_look_on();
        self.drain = drain;
        self.log_every(log_every);
    }
}

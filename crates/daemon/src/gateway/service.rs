//! The loop's reports to the service manager: it lives, how it stands, it ends.

use super::LiveGateway;
use crate::bump::device_events::DeviceEvents;
use bentpipe_core::time::{Duration, Instant, earliest};
use bentpipe_linux::service_manager::ServiceManager;

/// From one line about how it stands to the next.
const STATUS: Duration = Duration::from_secs(10);

/// The manager, and when it hears something again.
#[derive(Debug)]
pub(super) struct Reports {
    manager: ServiceManager,
    /// From beat to beat, if it expects any.
    beat: Option<Duration>,
    next_beat: Instant,
    next_status: Instant,
    said: String,
}

impl Reports {
    fn new(manager: ServiceManager, now: Instant) -> Reports {
        let beat = manager.beat_interval();
        Reports { manager, beat, next_beat: now, next_status: now, said: String::new() }
    }

    pub(super) fn next(&self) -> Option<Instant> {
        earliest(self.beat.map(|_| self.next_beat), Some(self.next_status))
    }

    /// Says that it lives, when it is time.
    fn beat(&mut self, now: Instant) {
        if let Some(every) = self.beat.filter(|_| self.next_beat <= now) {
            self.next_beat = now + every;
            self.manager.beat();
        }
    }

    /// Says how it stands, when it is time and that is new.
    fn stand(&mut self, now: Instant, status: impl FnOnce() -> String) {
        if self.next_status <= now {
            self.next_status = now + STATUS;
            let status = status();
            if status != self.said {
                self.manager.stands(&status);
                self.said = status;
            }
        }
    }
}

impl LiveGateway {
    /// Says to `manager` that it is ready, and then how it stands, while it
    /// [runs](LiveGateway::run).
    pub fn reports_to(&mut self, manager: ServiceManager) {
        manager.ready(&self.standing());
        self.reports = Some(Reports::new(manager, self.clock.now()));
    }

    pub(super) fn report(&mut self, now: Instant) {
        let Some(mut reports) = self.reports.take() else { return };
        reports.beat(now);
        reports.stand(now, || self.standing());
        self.reports = Some(reports);
    }

    pub(super) fn report_stop(&self) {
        if let Some(reports) = &self.reports {
            // As long again for what is not the loop's.
            let within = self.drain + Duration::from_secs(10);
            reports.manager.stopping(within);
        }
    }

    /// A line for people, such as `splits 12 connections; 3400 so far`.
    fn standing(&self) -> String {
        let asleep = self.device_events.as_ref().is_some_and(DeviceEvents::is_asleep);
        let (now, ever) = (self.gateway.flows(), self.gateway.summary().split);
        if asleep {
            "NOTHING IS SPLIT, as something is in the way: see `bentpipe-gateway check`".to_owned()
        } else if self.gateway.observes() {
            "observes, and splits nothing: see `bentpipe-gateway enable --help`".to_owned()
        } else {
            format!("splits {now} connections; {ever} so far")
        }
    }
}

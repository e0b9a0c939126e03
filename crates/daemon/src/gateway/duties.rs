//! What the loop does now and then, beside the packets: beats for the watchdog and the kernel,
//! events of devices, the ends of trials, lines of totals, memory that goes back
//! to the kernel.

use super::LiveGateway;
use super::diversion::Diversion;
use super::service::Reports;
use crate::bump::device_events::{DeviceEvent, DeviceEvents};
use crate::link_memory::LinkMemory;
use crate::watchdog::Watchdog;
use bentpipe_core::time::{Duration, Instant, earliest};
use bentpipe_gateway::{RememberedLink, Side, Summary};
use bentpipe_linux::heap;
use bentpipe_linux::receive_steering::Steering;
use std::thread;
use std::time::UNIX_EPOCH;

/// How long a device that was deleted is waited for.
const DEVICE_WAIT: Duration = Duration::from_secs(10);

/// A line of totals in the log, again and again.
#[derive(Debug)]
pub(super) struct Log {
    every: Duration,
    next: Instant,
}

/// The time from one writing of the links that were found to the next.
const KEEP_LINKS_EVERY: Duration = Duration::from_secs(600);

/// The time from one look at the wall clock to the next, and what it has been set by at least.
const CLOCKS_EVERY: Duration = Duration::from_secs(1);
const CLOCKS_DIFFER: Duration = Duration::from_millis(10);

impl LiveGateway {
    /// Begins with the links of an earlier gateway, and keeps its own there.
    pub fn remembers_links_in(&mut self, memory: LinkMemory) {
        let now = self.clock.now();
        match memory.read() {
            Ok(links) if links.is_empty() => {}
            Ok(links) => {
                tracing::info!(links = links.len(), "begins with what was found of links before");
                self.gateway.remember_links(now, &links);
            }
            Err(error) => tracing::warn!(%error, "what was remembered of links is not used"),
        }
        self.links = Some((memory, now + KEEP_LINKS_EVERY));
    }

    /// Writes down what was found of links, when packets are taken no more.
    pub fn keep_links(&mut self) {
        if let Some((memory, _)) = &self.links {
            write_links(memory, &self.gateway.links_to_remember(self.clock.now()));
        }
    }

    /// The same in between, by a thread: a disk that hangs does not hold up packets.
    fn keep_links_meanwhile(&mut self, now: Instant) {
        let Some((memory, next)) = self.links.as_mut().filter(|(_, next)| *next <= now) else {
            return;
        };
        *next = now + KEEP_LINKS_EVERY;
        if self.link_writer.as_ref().is_some_and(|writer| !writer.is_finished()) {
            return;
        }
        let (memory, links) = (memory.clone(), self.gateway.links_to_remember(now));
        let writer = thread::Builder::new().name("links".to_owned());
        self.link_writer = writer.spawn(move || write_links(&memory, &links)).ok();
    }

    /// Writes a line of totals into the log every so often, or none.
    pub fn log_every(&mut self, every: Option<Duration>) {
        if self.log.as_ref().map(|log| log.every) != every {
            let next = |every| Log { every, next: self.clock.now() + every };
            self.log = every.map(next);
        }
    }

    /// What is to be done now and then, beside the packets; returns when it is due again.
    pub(super) fn attend_to_duties(&mut self, now: Instant) -> Option<Instant> {
        self.write_log(now);
        self.end_trial(now);
        self.report(now);
        self.note_peer();
        self.handle_device_events(now);
        self.vouch(now);
        if let Some(Err(error)) = self.watchdog.as_mut().map(|watchdog| watchdog.beat(now)) {
            tracing::warn!(%error, "the watchdog is gone: nobody notices if this process hangs");
            self.watchdog = None;
        }
        self.keep_links_meanwhile(now);
        self.steer(now);
        self.compare_clocks(now);
        if self.heap.is_due(now, self.gateway.footprint()) {
            self.gateway.shrink();
            heap::trim();
        }
        let trial = self.trial;
        let log = earliest(self.log.as_ref().map(|log| log.next), self.heap.next());
        let vouching = self.diversion.as_ref().map(Diversion::next);
        let watchdog = self.watchdog.as_ref().map(Watchdog::next);
        let reports = self.reports.as_ref().and_then(Reports::next);
        let links = self.links.as_ref().map(|(_, next)| *next);
        let due = [log, vouching, trial, watchdog, reports, links];
        due.into_iter().flatten().min()
    }

    /// Keeps received packets off this thread's processor. It is not due by itself: a loop that
    /// waits is not busy.
    fn steer(&mut self, now: Instant) {
        let (steering, next) = &mut self.steering;
        if *next <= now {
            *next = now + Steering::EVERY;
            steering.follow([self.tuns[0].name(), self.tuns[1].name()], self.work.written());
        }
    }

    /// Says what the wall clock says: it is set now and then, and hardly any router has one that
    /// goes on while it is off. Pairs that share a carrier go by it. It is not due by itself,
    /// either.
    fn compare_clocks(&mut self, now: Instant) {
        let (said, next) = &mut self.wall_clock;
        if *next > now {
            return;
        }
        *next = now + CLOCKS_EVERY;
        let zero = self.clock.zero().duration_since(UNIX_EPOCH).unwrap_or_default();
        if zero.abs_diff(*said) >= CLOCKS_DIFFER {
            *said = zero;
            self.gateway.set_wall_clock(zero);
        }
    }

    /// Handles what the monitor has repaired of the devices.
    fn handle_device_events(&mut self, now: Instant) {
        while let Some(event) = self.device_events.as_ref().and_then(DeviceEvents::next) {
            match event {
                DeviceEvent::Replaced { side, tun } => {
                    self.tuns[side] = tun;
                    self.deleted[side] = None;
                }
                DeviceEvent::PacketsMissed => {
                    // What went by, however little, the gateway would wait for: nothing tells it
                    // where hosts have no timestamps.
                    let flows = self.gateway.flows();
                    tracing::warn!(
                        flows,
                        "packets may have gone by: the connections that there are will be released"
                    );
                    self.gateway.release_all(now);
                    self.transmit(now);
                }
                DeviceEvent::Mtus(mtus) => {
                    if self.gateway.set_mtus(mtus) {
                        let [lan, satellite] = mtus;
                        tracing::info!(lan, satellite, "the interfaces' MTUs are others now");
                    }
                }
                DeviceEvent::FallingAsleep => {
                    self.gateway.release_all(now);
                    self.transmit(now);
                }
            }
        }
    }

    /// The device of `side` does not exist any more. False if nobody makes it again.
    pub(super) fn wait_for_device(&mut self, side: Side, now: Instant) -> bool {
        if self.device_events.is_none() {
            return false;
        }
        let device = self.tuns[side as usize].name();
        tracing::error!(
            device,
            "the device was deleted: what is held waits for it to be made again"
        );
        self.deleted[side as usize] = Some(now + DEVICE_WAIT);
        true
    }

    pub(super) fn is_given_up(&self, side: Side, now: Instant) -> bool {
        self.deleted[side as usize].is_some_and(|until| until <= now)
    }

    /// Says once that another gateway answers over the satellite.
    fn note_peer(&mut self) {
        if !self.peer_said && self.gateway.peer_known() {
            self.peer_said = true;
            tracing::info!("another gateway answers over the satellite");
        }
    }

    /// Writes the line of totals when it is time.
    fn write_log(&mut self, now: Instant) {
        let Some(log) = self.log.as_mut().filter(|log| log.next <= now) else { return };
        log.next = now + log.every;
        let Summary { split, closed, reset, lost_bytes, split_traffic, .. } =
            self.gateway.summary();
        let forwarded = self.gateway.summary().all_forwarded();
        tracing::info!(
            flows = self.gateway.flows(),
            held_bytes = self.gateway.held(),
            split,
            closed,
            reset,
            lost_bytes,
            split_bytes = split_traffic.bytes,
            forwarded_bytes = forwarded.bytes,
            "totals"
        );
    }
}

fn write_links(memory: &LinkMemory, links: &[RememberedLink]) {
    if let Err(error) = memory.write(links) {
        tracing::warn!(%error, "what was found of links is not remembered");
    }
}

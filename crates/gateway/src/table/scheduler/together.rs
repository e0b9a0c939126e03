//! A remote's link, which its flows find together: its beginning, its memory and its end.

use super::arrived::Arrived;
use super::estimate::{Estimate, Memory};
use super::paths::Paths;
use super::rate_control::RateControl;
use super::{DrrEntry, FOUND_QUANTUM, LinkScheduler, QUANTUM, lesser};
use crate::announce::Report;
use crate::config::LegConfig;
use bentpipe_core::tcp::pacing::BURST;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Rate};

/// How long flows that have several paths find each its own window.
const APART: Duration = Duration::from_secs(600);

impl LinkScheduler {
    /// The link behind a leg to one remote, whose flows find its rate together.
    pub(in crate::table) fn of_remote(leg: &LegConfig) -> LinkScheduler {
        match leg.guess {
            Some(rate) => Self::remembering(leg, Memory::guess(rate, leg.round_trip), 0.0),
            None => LinkScheduler::new(leg).finding(Estimate::new()),
        }
    }

    /// The same, whose rate is found from here.
    fn finding(self, estimate: Estimate) -> LinkScheduler {
        LinkScheduler { estimate: Some(self.on_carrier(estimate)), ..self }
    }

    fn on_carrier(&self, estimate: Estimate) -> Estimate {
        match self.shared_carrier {
            Some(wall_clock) => estimate.on_shared_carrier(wall_clock),
            None => estimate,
        }
    }

    /// Goes by a wall clock that was set: it said this at the moment zero.
    pub(in crate::table) fn set_wall_clock(&mut self, wall_clock: Duration) {
        if let Some(clock) = &mut self.shared_carrier {
            *clock = wall_clock;
        }
        if let Some(estimate) = &mut self.estimate {
            estimate.set_wall_clock(wall_clock);
        }
    }

    /// The same, where something is remembered of that link: also how many bytes a second came.
    pub(in crate::table) fn remembering(
        leg: &LegConfig,
        memory: Memory,
        arriving: f64,
    ) -> LinkScheduler {
        let estimate = Estimate::beginning_with(memory);
        let rate = lesser(estimate.rate(), leg.max_rate);
        let arrived = Arrived::remembering(arriving);
        LinkScheduler { rate, arrived, ..LinkScheduler::new(leg) }.finding(estimate)
    }

    /// A flow begins, over whose path a round trip has taken so long.
    pub(in crate::table) fn begin(&mut self, now: Instant, round_trip: Duration) {
        if self.apart.take_if(|until| *until <= now).is_some() {
            self.estimate = Some(self.on_carrier(Estimate::new()));
        }
        if let Some(estimate) = &mut self.estimate {
            estimate.on_handshake(now, round_trip.as_secs_f64());
            self.rate = lesser(estimate.rate(), self.max_rate);
        }
    }

    /// What of it is to be remembered: its rate, round trip and age.
    pub(in crate::table) fn to_remember(&self, now: Instant) -> Option<(Rate, Duration, Duration)> {
        self.estimate.as_ref()?.to_remember(now)
    }

    /// A flow whose other end is the remote has measured a round trip. Whether it is sure that the
    /// remote's flows have several paths.
    pub(in crate::table) fn has_paths(
        &mut self,
        now: Instant,
        turn: &mut DrrEntry,
        rtt: Duration,
    ) -> bool {
        let base = self.estimate.as_ref().and_then(Estimate::round_trip);
        base.is_some_and(|base| self.paths.on_rtt(now, turn, rtt.as_secs_f64(), base))
    }

    /// Its flows have several paths: they do not find it together for a while.
    pub(in crate::table) fn set_apart(&mut self, now: Instant) {
        self.apart = Some(now + APART);
        self.paths = Paths::default();
        self.estimate = None;
        self.rate = lesser(self.control.as_ref().and_then(RateControl::rate), self.max_rate);
    }

    /// The gateway at its other end has reported something.
    pub(in crate::table) fn on_peer_report(&mut self, now: Instant, report: Report) {
        if let Some(estimate) = &mut self.estimate {
            estimate.on_peer_report(now, report);
            self.follow(now);
        }
    }

    /// Whether its flows have one window together: they need none of their own.
    pub(in crate::table) fn has_window(&self) -> bool {
        self.estimate.is_some()
    }

    /// Takes the rate that is found now. At a higher one there is no debt from a lower one.
    pub(super) fn follow(&mut self, now: Instant) {
        let found = self.estimate.as_ref().and_then(Estimate::rate);
        let before = std::mem::replace(&mut self.rate, lesser(found, self.max_rate));
        if let (Some(before), Some(rate)) = (before, self.rate)
            && rate > before
        {
            self.pacer.hasten(now + rate.time_for(FOUND_QUANTUM as u64));
        }
    }

    /// How many bytes may leave in one burst of a flow, where flows have one window together: as
    /// many as the window lets, and a millisecond of the rate, but a turn in any case.
    pub(in crate::table) fn burst(&self, turn: &DrrEntry) -> Option<u64> {
        let estimate = self.estimate.as_ref()?;
        let room = estimate.room(self.in_flight.before(turn.is_unheard()));
        let paced = self.rate.map_or(u64::MAX, |rate| rate.bytes_in(BURST));
        Some(room.min(paced).max(self.quantum() as u64))
    }

    /// What a flow is given for one turn, in bytes.
    pub(super) fn quantum(&self) -> i32 {
        let found = self.estimate.as_ref().is_some_and(|estimate| !estimate.contends());
        if found { FOUND_QUANTUM } else { QUANTUM }
    }

    /// Whether what it loses is held to be its own.
    pub(in crate::table) fn loses_by_itself(&self) -> bool {
        self.estimate.as_ref().is_some_and(Estimate::loses_by_itself)
    }

    /// What fills it, if its flows have found that.
    pub(in crate::table) fn found_window(&self) -> Option<Bytes> {
        let found = self.estimate.as_ref().filter(|estimate| estimate.is_found())?;
        Some(Bytes::new(found.window()))
    }
}

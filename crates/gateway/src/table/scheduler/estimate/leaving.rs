//! The present room of a link, and its rate.

use super::super::WIRE;
use super::{Estimate, MIN_WINDOW, start};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Rate;

/// After so long without use the link may be another one: what comes back is checked.
const PAUSED: Duration = Duration::from_secs(10);

/// What was found so long ago is taken for half of it, and the rest a round trip later.
pub(super) const OLD: Duration = Duration::from_secs(600);

impl Estimate {
    /// Bytes that all flows may have in flight.
    pub(in super::super) fn window(&self) -> u64 {
        match self.draining.kept() {
            Some(kept) => self.window.min(self.held() * kept) as u64,
            None => self.window as u64,
        }
    }

    /// Bytes that may leave at once next to those `in_flight`: before anything has arrived, the
    /// rest of a train.
    pub(in super::super) fn room(&self, in_flight: u64) -> u64 {
        let room = self.window().saturating_sub(in_flight);
        let train =
            self.start.as_ref().filter(|_| !self.found).and_then(|start| start.train_left());
        train.map_or(room, |left| room.min(left as u64))
    }

    /// Whether as much is `in_flight` as may be; for a flow in a hurry a drain leaves some room.
    pub(in super::super) fn is_full(&self, in_flight: u64, hurries: bool) -> bool {
        in_flight >= self.window() && !(hurries && self.draining.spare() > 0.0)
    }

    /// A flow in a hurry has sent so many bytes, next to so many `in_flight`.
    pub(in super::super) fn note_hurried(&mut self, in_flight: u64, bytes: u64) {
        if in_flight >= self.window() {
            self.draining.note_added(bytes as f64);
        }
    }

    /// The rate at which they take turns, once the link is found or has lost something: a window in
    /// a round trip without the queue, so that it is the window that holds them back, and hardly
    /// any burst.
    pub(in super::super) fn rate(&self) -> Option<Rate> {
        if let Some(memory) = &self.memory {
            return Some(wire_rate(memory.begins_with()));
        }
        let base = self.path.base()?;
        if !self.found {
            return self.start.as_ref()?.repairs_at(base).map(wire_rate);
        }
        let bytes = self.rivals.rate().unwrap_or(self.window / base);
        Some(wire_rate(bytes))
    }

    /// Whether rivals keep the link's queue full.
    pub(in super::super) fn contends(&self) -> bool {
        self.rivals.are_there()
    }

    /// Something waits as all that may be in flight is.
    pub(in super::super) fn note_full(&mut self) {
        self.round.full = true;
    }

    /// A packet leaves, and with it so much is in flight. When the next one may at the earliest, if
    /// it is not to be of the same train.
    pub(in super::super) fn on_sent(
        &mut self,
        now: Instant,
        payload: u64,
        in_flight: u64,
    ) -> Option<Instant> {
        // Flows that were given up have left nothing.
        self.emptied |= in_flight <= payload;
        if self.found && self.emptied {
            let unused = now.saturating_since(self.used);
            if unused > OLD {
                self.window = (self.window / 2.0).max(MIN_WINDOW);
                self.used = now;
            }
            if unused.min(now.saturating_since(self.checked)) > PAUSED {
                self.settled = Some(now + Duration::from_secs_f64(self.base()));
                self.checked = now;
            }
        }
        self.draining.give_up(now);
        let ends = self.start.as_mut()?.on_sent(payload);
        (ends && !self.found).then(|| now + start::INTERVAL)
    }
}

/// The rate on the wire at which so many bytes of payload a second are sent.
pub(super) fn wire_rate(payload: f64) -> Rate {
    Rate::from_bits_per_sec(((payload * WIRE * 8.0) as u64).max(1))
}

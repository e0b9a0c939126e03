//! Lines that share a medium: each sends when it is its turn.

use super::{Egress, World, medium_element};
use crate::host::Application;
use bentpipe_core::link::{GatedLine, Medium};
use bentpipe_core::time::Instant;

impl GatedLine for Egress {
    fn advance(&mut self, now: Instant) {
        self.line.direction_mut().advance(now);
    }

    fn asks(&self) -> bool {
        self.line.direction().asks()
    }

    fn grant(&mut self, now: Instant) -> Option<Instant> {
        self.line.direction_mut().grant(now)
    }

    fn give_up(&mut self, now: Instant) {
        self.line.direction_mut().give_up(now);
    }
}

impl<A: Application> World<A> {
    /// Has the lines of `medium` share it from now on.
    pub(crate) fn share(&mut self, medium: Medium) {
        let id = self.media.len();
        for line in medium.lines() {
            let egress = &mut self.lines[line];
            assert_eq!(egress.medium.replace(id), None, "a line has one medium");
            egress.line.direction_mut().gate();
        }
        self.media.push(medium);
    }

    /// A line of medium `id` has something to send, or nothing any more.
    pub(super) fn contend(&mut self, id: usize) {
        let next = self.media[id].next(self.now, &self.lines);
        self.event_queue.set(medium_element(id), next.map(|at| at.max(self.now)));
    }

    /// Someone tries on medium `id`, or what was being sent has ended.
    pub(super) fn take_turns(&mut self, id: usize) {
        if let Some(line) = self.media[id].take_turn(self.now, &mut self.lines) {
            self.arm_line(line);
        }
        self.contend(id);
    }
}

//! Lines that share a medium: each sends when it is its turn.

use super::{LineId, World, medium_element};
use crate::host::Application;
use crate::medium::{Medium, Turn};

impl<A: Application> World<A> {
    /// Has the lines of `medium` share it from now on.
    pub(crate) fn share(&mut self, medium: Medium) {
        let id = self.media.len();
        for line in medium.lines() {
            let way = &mut self.lines[line];
            assert_eq!(way.medium.replace(id), None, "a line has one medium");
            way.line.gate();
        }
        self.media.push(medium);
    }

    /// A line of medium `id` has something to send, or nothing any more.
    pub(super) fn contend(&mut self, id: usize) {
        let (lines, medium) = (&self.lines, &self.media[id]);
        // The line that sends asks again when it has sent, which shows then.
        let next = match medium.free() {
            free if free > self.now => Some(free),
            _ => medium.next(|line| lines[line].line.asks()),
        };
        self.event_queue.set(medium_element(id), next.map(|at| at.max(self.now)));
    }

    /// Someone tries on medium `id`, or what was being sent has ended.
    pub(super) fn take_turns(&mut self, id: usize) {
        let now = self.now;
        let all: Vec<LineId> = self.media[id].lines().collect();
        for line in all {
            self.lines[line].line.refresh(now);
        }
        let lines = &self.lines;
        match self.media[id].turn(now, |line| lines[line].line.asks()) {
            Turn::Idle => {}
            Turn::Grant(line) => {
                if let Some(end) = self.lines[line].line.grant(now) {
                    self.media[id].taken(end);
                }
                self.arm_line(line);
            }
            Turn::Collision(given_up) => {
                for line in given_up {
                    self.lines[line].line.give_up(now);
                }
            }
        }
        self.contend(id);
    }
}

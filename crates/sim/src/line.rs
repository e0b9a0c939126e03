//! One direction of a cable between two nodes: a [`Direction`], and what a test puts behind it.

use crate::packet::Packet;
use bentpipe_core::link::{Count, Counters, Link, LinkConfig};
use bentpipe_core::time::{Instant, earliest};
use bentpipe_links::{Direction, DirectionConfig};
use std::fmt;

/// Something that packets pass behind a direction, such as faults.
pub(crate) trait Behind: fmt::Debug + Send {
    /// Takes a packet that has left the direction at `at`.
    fn push(&mut self, at: Instant, packet: Box<Packet>);

    /// The next packet that has come out by `now`.
    fn pop(&mut self, now: Instant) -> Option<Box<Packet>>;

    /// When to call [`pop`](Behind::pop) next.
    fn next(&self) -> Option<Instant>;

    /// Checks that what has been taken, which is `delivered`, is inside, has come out, or was made
    /// away with.
    ///
    /// # Errors
    /// What does not add up.
    fn check(&self, delivered: Count) -> Result<(), String>;
}

/// One direction of a cable.
#[derive(Debug)]
pub struct Line {
    direction: Direction<Box<Packet>>,
    behind: Option<Box<dyn Behind>>,
}

impl Line {
    /// A line like `link`.
    pub fn new(link: &LinkConfig) -> Line {
        Line::with_impairments(link.clone().into())
    }

    /// A scenario's line.
    pub(crate) fn with_impairments(config: DirectionConfig) -> Line {
        let mut direction = Direction::new(config);
        direction.keep_lost();
        Line { direction, behind: None }
    }

    /// The same line, with `behind` behind it.
    pub(crate) fn followed_by(self, behind: impl Behind + 'static) -> Line {
        Line { behind: Some(Box::new(behind)), ..self }
    }

    /// The direction.
    #[inline]
    pub(crate) fn direction(&self) -> &Direction<Box<Packet>> {
        &self.direction
    }

    /// The direction, to be changed. Packets come out by [`pop`](Line::pop).
    #[inline]
    pub(crate) fn direction_mut(&mut self) -> &mut Direction<Box<Packet>> {
        &mut self.direction
    }

    /// The link.
    pub fn link(&self) -> &Link<Box<Packet>> {
        self.direction.link()
    }

    /// The counters of packets: [`Direction::counters`].
    pub fn counters(&self) -> Counters {
        self.direction.counters()
    }

    /// The next packet that has arrived by `now`.
    #[inline]
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Box<Packet>> {
        let Some(behind) = &mut self.behind else {
            return self.direction.pop(now).map(|(_, packet)| packet);
        };
        while let Some((at, packet)) = self.direction.pop(now) {
            behind.push(at, packet);
        }
        behind.pop(now)
    }

    /// When to call [`Line::pop`] next.
    #[inline]
    pub(crate) fn next(&self) -> Option<Instant> {
        let next = self.direction.next();
        match &self.behind {
            None => next,
            Some(behind) => earliest(next, behind.next()),
        }
    }

    /// Checks that every packet and byte is accounted for: [`Direction::check`].
    ///
    /// # Errors
    /// What does not add up.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.direction.check()?;
        let delivered = self.link().counters().delivered;
        self.behind.as_ref().map_or(Ok(()), |behind| behind.check(delivered))
    }
}

//! Events of a connection, as they are recorded.

use bentpipe_core::tcp::cause::Cause;
use bentpipe_core::tcp::connection::State;
use bentpipe_core::tcp::limiter::Limiter;
use bentpipe_core::tcp::observation::{Observation, Phase};
use bentpipe_core::tcp::window_rule::WindowRule;
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{SeqNum, TcpHeader};
use std::net::SocketAddr;

/// One end of a connection: a host, or a gateway's leg in its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// In whose name it speaks.
    pub local: SocketAddr,
    /// To whom.
    pub remote: SocketAddr,
    /// Of a gateway's leg: the side towards which it sends.
    pub leg: Option<&'static str>,
}

/// The direction in which a segment passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the one who is watched.
    Sent,
    /// To the one who is watched.
    Received,
}

/// A segment that passes.
#[derive(Debug, Clone, Copy)]
pub struct Segment<'a> {
    /// Its direction.
    pub direction: Direction,
    /// Its header.
    pub tcp: &'a TcpHeader,
    /// Length of its payload in bytes; of a super-segment, of all of it.
    pub len: usize,
    /// Why it was sent, if that is known.
    pub cause: Option<Cause>,
}

/// A timer of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// The retransmission timer (RFC 6298).
    Retransmission,
    /// The persist timer (RFC 9293, 3.8.6.1).
    Persist,
    /// Recovery's own (RFC 8985).
    Recovery,
    /// The pacer's.
    Pacing,
    /// That of a delayed acknowledgment (RFC 1122, 4.2.3.2).
    DelayedAck,
}

impl Timer {
    /// Every timer.
    pub const ALL: [Timer; 5] =
        [Timer::Retransmission, Timer::Persist, Timer::Recovery, Timer::Pacing, Timer::DelayedAck];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Timer::Retransmission => "retransmission",
            Timer::Persist => "persist",
            Timer::Recovery => "recovery",
            Timer::Pacing => "pacing",
            Timer::DelayedAck => "delayed-ack",
        }
    }

    /// When it expires by an observation, while it runs.
    pub(crate) fn of(self, observation: &Observation) -> Option<Instant> {
        let timers = &observation.timers;
        match self {
            Timer::Retransmission => timers.retransmission,
            Timer::Persist => timers.persist,
            Timer::Recovery => timers.recovery,
            Timer::Pacing => timers.pacing,
            Timer::DelayedAck => timers.delayed_ack,
        }
    }
}

/// A change of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It runs, until then.
    Set(Instant),
    /// It has expired.
    Expired,
    /// It does not run any more.
    Cancelled,
}

/// Something that happened to a connection.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// It is seen for the first time.
    Started {
        /// The number of its own SYN, as far as known.
        local_isn: Option<SeqNum>,
        /// That of its peer's.
        remote_isn: Option<SeqNum>,
    },
    /// It has come to another state of RFC 9293, 3.3.2.
    State {
        /// The state before.
        old: Option<State>,
        /// The state now.
        new: State,
    },
    /// A segment has passed.
    Segment {
        /// It.
        segment: Segment<'a>,
        /// Its first offset in its sender's stream.
        seq: u64,
        /// What it acknowledges, as an offset in the other stream.
        ack: Option<u64>,
        /// The window that it offers, in bytes.
        window: u64,
        /// Its SACK blocks, as offsets.
        sack: &'a [[u64; 2]],
    },
    /// Figures have changed.
    Metrics {
        /// What was written of them last; None at the first time.
        old: Option<&'a Observation>,
        /// As they are now.
        new: &'a Observation,
        /// By which rule cwnd or ssthresh has changed, if one of them has.
        rule: Option<WindowRule>,
    },
    /// The sender holds the network for something else.
    Phase {
        /// For this before.
        old: Option<Phase>,
        /// For this now.
        new: Phase,
    },
    /// Something else keeps the next segment back; None: nothing does, segments leave.
    Limiter {
        /// What did before.
        old: Option<Limiter>,
        /// What does now.
        new: Limiter,
    },
    /// A timer was set, has expired or was stopped.
    Timer {
        /// Which.
        timer: Timer,
        /// What has become of it.
        change: Change,
    },
    /// So many events could not be written: whoever writes them was too slow.
    Lost {
        /// How many.
        count: u64,
    },
}

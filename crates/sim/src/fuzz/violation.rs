//! What must hold, and how it is said that it does not.

use bentpipe_core::time::Instant;
use std::fmt;

/// What must hold after every event, or when all is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// An application reads a prefix of what its peer wrote. (That each byte is the right one, it
    /// asserts as it reads.)
    Prefix,
    /// A direction that ends in order has brought all that was written.
    CleanEnd,
    /// Where nothing forbids it, every transfer completes.
    Whole,
    /// A FIN is acknowledged once the far host has it, or after `fin_hold`.
    FinEndToEnd,
    /// A reset comes behind what was acknowledged to whoever resets.
    ResetBehindData,
    /// What lines were offered they have dropped, lost, delivered or still hold.
    Conservation,
    /// A gateway holds no more than its pool and what rounding adds.
    Memory,
    /// A window's right edge does not move left, apart from the rounding of its field.
    RightEdge,
    /// A window promises no more than a stream may hold beyond what the far host has acknowledged.
    WindowWithinStream,
    /// A timestamp that is echoed came in order (RFC 7323, 4.3).
    EchoInOrder,
    /// What is sent looks no older than what was sent before, or what a gateway has forwarded of
    /// the host in whose name it speaks.
    TimestampOrder,
    /// A flow is released when all that was acknowledged has been delivered, FINs too.
    DeliveredFirst,
    /// It is over some time.
    Livelock,
    /// When all is over, gateways hold no flow and no byte.
    Leftover,
    /// A gateway that splits connections in mid-life does so when they have proved long, and not
    /// before.
    AdoptedLate,
    /// A gateway resets a connection that it forwards only if bytes of it are lost.
    NeedlessReset,
    /// Each segment with data has one cause, and it is one of new data, of a retransmission, or of
    /// a probe.
    Cause,
    /// While a sender sends nothing, exactly one thing limits it.
    Limiter,
}

impl Invariant {
    /// A word for messages and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Invariant::Prefix => "prefix",
            Invariant::CleanEnd => "clean-end",
            Invariant::Whole => "whole",
            Invariant::FinEndToEnd => "fin-end-to-end",
            Invariant::ResetBehindData => "reset-behind-data",
            Invariant::Conservation => "conservation",
            Invariant::Memory => "memory",
            Invariant::RightEdge => "right-edge",
            Invariant::WindowWithinStream => "window-within-stream",
            Invariant::EchoInOrder => "echo-in-order",
            Invariant::TimestampOrder => "timestamp-order",
            Invariant::DeliveredFirst => "delivered-first",
            Invariant::Livelock => "livelock",
            Invariant::Leftover => "leftover",
            Invariant::AdoptedLate => "adopted-late",
            Invariant::NeedlessReset => "needless-reset",
            Invariant::Cause => "cause",
            Invariant::Limiter => "limiter",
        }
    }
}

/// An invariant that did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// After what happened at this moment.
    pub at: Instant,
    /// Which one.
    pub invariant: Invariant,
    /// What was found.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { at, invariant, detail } = self;
        write!(f, "{} at {:.6} s: {detail}", invariant.name(), at.as_secs_f64())
    }
}

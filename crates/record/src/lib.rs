//! Recordings of what TCP connections do, and why.
//!
//! A program that runs a TCP of ours hands over each segment that passes, with its cause. It hands
//! over the connection's state whenever something may have changed. A [`Recorder`] finds out what
//! has, and gives it on as [`Event`]s, which [`qlog`] writes in the format that `docs/qlog-tcp.md`
//! specifies.
//!
//! Nothing of this is part of the TCP: a connection that nobody watches costs nothing more.
#![forbid(unsafe_code)]

pub mod event;
pub mod qlog;
mod recorder;

pub use event::{Change, Direction, Endpoint, Event, Segment, Timer};
pub use recorder::{ObservedConnection, Recorder, Sink};

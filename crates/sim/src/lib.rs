//! The virtual-time world: hosts, gateways, forwarders and links in one event loop.
//!
//! Everything in it is a state machine without a clock: [`World`] holds the time, asks each of
//! them when it wants to be woken, and carries packets from one to the next. The same seed gives
//! the same run, packet by packet ([`World::trace`]).
#![forbid(unsafe_code)]

mod agenda;
mod application;
mod host;
mod line;
mod packet;
mod world;

pub use application::{Application, Close, Pace, Report, Start};
pub use host::{Host, SessionKey};
pub use line::{Faults, Line};
pub use packet::Packet;
pub use world::{Node, NodeId, World};

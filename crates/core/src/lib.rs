//! TCP and links as pure state machines: no I/O, no clock of their own, no threads, no `unsafe`.
//!
//! The same code runs in virtual time in the simulator and on real packets in the gateway.
#![forbid(unsafe_code)]

mod fixed;
pub mod link;
pub mod snapshot;
pub mod tcp;
pub mod text;
pub mod time;
pub mod units;
pub mod wire;

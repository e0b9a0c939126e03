//! Linux: TUN devices, programs for its packet paths, namespaces, clock and poll loop.

pub mod bump;
pub mod control;
mod events;
pub mod flows;
pub mod gateway;
pub mod network;
mod origin;
pub mod records;
pub mod routes;
pub mod tap;
pub mod testbed;
pub mod watchdog;

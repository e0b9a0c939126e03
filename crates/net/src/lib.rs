//! Linux: TUN devices, programs for its packet paths, namespaces, clock and poll loop.

pub mod flows;
pub mod network;
pub mod testbed;

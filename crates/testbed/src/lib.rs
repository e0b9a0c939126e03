//! A scenario on real stacks: its network as namespaces, its flows on Linux's sockets, its gateways
//! and links as processes, and what is measured of all that.
#![forbid(unsafe_code)]

mod browser;
pub mod congestion_control;
pub mod ephemeral;
pub mod five_hosts;
pub mod flows;
pub mod icmp_echo;
pub mod kernel_settings;
pub mod network;
pub mod plan;
pub mod play;
pub mod proxy;
mod results;

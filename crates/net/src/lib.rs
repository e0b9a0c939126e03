//! Linux: TUN devices, namespaces, policy routing, clock and poll loop.

pub mod clock;
mod command;
pub mod control;
mod datagram;
pub mod divert;
pub mod emulator;
mod events;
pub mod flows;
pub mod gateway;
pub mod instance;
pub mod interface;
pub mod lateness;
pub mod netns;
pub mod netns_command;
pub mod network;
pub mod poll;
pub mod privileges;
pub mod runtime_dir;
pub mod self_test;
pub mod serve;
pub mod signals;
pub mod steal;
pub mod testbed;
pub mod tun;
pub mod vnet_hdr;
pub mod watchdog;
pub mod way;

//! Linux: TUN devices, namespaces, policy routing, clock and poll loop.

pub mod clock;
mod command;
pub mod divert;
pub mod emulator;
pub mod enclosed;
pub mod instance;
pub mod signals;
pub mod tun;
pub mod vnet_hdr;

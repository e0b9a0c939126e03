//! The transparent TCP-splitting gateway (bharadwaj-1999 and -2001; RFC 3135) as a pure state
//! machine: packets and time come in, packets come out. No I/O, no clock, no threads.
//!
//! [`Gateway::handle_packet`] takes each TCP packet that crosses the box. What the gateway does
//! not split, it says to forward unchanged; for what it splits, it becomes the far host towards
//! each of the two, with the same addresses, ports and sequence numbers.
#![forbid(unsafe_code)]

mod announce;
mod config;
mod flow;
mod gateway;
mod key;
pub mod policy;
mod stats;
#[cfg(test)]
mod tests;
mod view;

pub use config::{
    AddOptions, Config, Discard, FinMode, Handshake, LegConfig, LegError, Losses, MssLimit,
};
pub use flow::Departure;
pub use gateway::{Disposition, Emission, Gateway};
pub use stats::{Reason, SideStats, Summary, Traffic};
pub use view::{FlowState, FlowView, LegView, LinkView, TakenFor};

/// A side of the gateway.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Side {
    /// The network of the near hosts.
    Lan = 0,
    /// The satellite link.
    Satellite = 1,
}

impl Side {
    /// The opposite side.
    pub fn other(self) -> Side {
        match self {
            Side::Lan => Side::Satellite,
            Side::Satellite => Side::Lan,
        }
    }

    /// A word for logs and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Side::Lan => "lan",
            Side::Satellite => "satellite",
        }
    }
}

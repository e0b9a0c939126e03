//! The transparent TCP-splitting gateway (bharadwaj-1999 and -2001; RFC 3135) as a pure state
//! machine: packets and time come in, packets come out. No I/O, no clock, no threads.
//!
//! [`Gateway::handle_datagram`] takes each packet that crosses the box. What the gateway does
//! not split, it says to forward unchanged; for what it splits, it becomes the far host towards
//! each of the two, with the same addresses, ports and sequence numbers.
#![forbid(unsafe_code)]

mod announce;
pub mod benefit;
mod config;
mod forwarded;
mod handshake;
mod hop_limit;
mod ingress;
mod key;
mod leg;
mod lifecycle;
mod mechanisms;
mod observe;
pub mod policy;
mod prefix;
mod segment;
mod side;
mod splice;
mod table;
#[cfg(test)]
mod tests;

pub use announce::{PairKey, PairKeyError, ToldLink};
pub use config::{
    AddOptions, Config, Discard, FinMode, FirstWindow, FoundBy, Handshake, LegConfig, LegError,
    Losses, MssLimit, Told,
};
pub use handshake::{
    SessionRecord, SessionRecordError, parse_session_records, write_session_records,
};
pub use ingress::{Checksums, Datagram, Forward, Ingress, Packets};
pub use observe::{Event, Hosts, Reason, Release, Severity, SideStats, Summary, Traffic, Unsplit};
pub use prefix::SitePrefix;
pub use side::{PerSide, Side};
pub use table::{
    Disposition, FlowState, FlowView, Gateway, LegObservation, LegView, LinkView, Prospect,
    RememberedLink, RemoteName, RemoteView, TakenFor, Transmit,
};

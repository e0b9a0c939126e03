//! From the SYN to the client's acknowledgment of the SYN-ACK: relayed with the same sequence
//! numbers, with options added and taken off on the way. What the legs are made from comes of it.

mod negotiated;
mod obstacle;
mod opening;
mod passed;
mod promise;
mod session_record;
mod spoofed_synack;
mod syn;

pub(crate) use negotiated::{LegHandshake, NegotiatedOptions};
pub(crate) use obstacle::Obstacle;
pub(crate) use opening::{Added, Completed, Opening, Step};
pub(crate) use passed::PassedSyn;
pub use session_record::{
    SessionRecord, SessionRecordError, parse_session_records, write_session_records,
};
pub(crate) use spoofed_synack::{Answer, Expired, Restart, SpoofedSynAck};
pub(crate) use syn::{Relay, Syn, without_ecn};

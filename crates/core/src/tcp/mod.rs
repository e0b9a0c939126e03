//! TCP without I/O (RFC 9293): a [`sender`], a [`receiver`], the [`tcb`] that joins them, and a
//! host's [`connection`] around it.
//!
//! Positions in a stream are [`Offset`](crate::units::Offset)s: the SYN is 0, the first byte 1, the
//! FIN follows the last byte. They become 32-bit sequence numbers only in headers.
//!
//! The sender asks two strategies: [`recovery`] says what is lost and what to send next, reading
//! the facts in the [`ledger`]; [`congestion`] says how much may be in flight. They return
//! decisions and hold no reference to their sender.

pub mod buffer;
pub mod cause;
pub mod congestion;
pub mod connection;
pub mod delivery_rate;
pub mod ecn;
pub mod ledger;
pub mod limiter;
pub mod observation;
pub mod pacing;
pub mod presets;
pub mod prr;
pub mod ranges;
pub mod receiver;
pub mod recovery;
pub mod rtt;
pub mod sender;
pub mod tcb;
mod timestamps;
pub mod transaction;
pub mod window_rule;

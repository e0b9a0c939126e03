//! Captures of packets: which TCP connections are in them, and what happened in each.
//!
//! [`read`] takes a pcap or pcapng file of anyone's, or a recording in qlog, as a stream, and
//! returns its [`Connection`]s. [`analyse`] says of each segment what can be inferred from the
//! capture alone: retransmissions and their causes, round-trip times, what was outstanding.
//! [`pcapng`] writes captures of our own. [`xpl`] writes that as a graph for xplot.org.
//!
//! Captures come from anywhere. No file makes this crate panic, and memory is bounded by the file's
//! length.
#![forbid(unsafe_code)]

mod analysis;
mod capture;
mod class;
mod connection;
mod direction;
pub mod explain;
mod file;
mod filter;
mod link_layer;
mod packet;
pub mod page;
pub mod pcapng;
mod qlog;
mod recorded;
mod series;
mod silence;
mod table;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
pub mod tshark;
pub mod xpl;

pub use analysis::{Analysis, Cause, Fact, Mark, Marks, Summary, analyse};
pub use capture::{Capture, Counts};
pub use class::{Class, ClassKind};
pub use connection::{Connection, Flags, Offer, Sack, Segment};
pub use direction::Direction;
pub use file::{Damage, ReadError};
pub use filter::{Filter, FilterError};
pub use recorded::words;
pub use series::{Quantity, Recorded};
pub use table::read;

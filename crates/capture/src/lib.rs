//! Captures of packets: which TCP connections are in them, and what happened in each.
//!
//! [`read`] takes a pcap or pcapng file of anyone's, or a recording in qlog, as a stream, and
//! returns its [`Connection`]s. [`Reading`] takes a part of it. [`analyse`] says of each segment
//! what can be inferred from the capture alone: retransmissions and their causes, round-trip times,
//! what was outstanding. [`pcapng`] writes captures of our own. [`xpl`] writes that as a graph for
//! xplot.org, [`csv`] as a table.
//!
//! Captures come from anywhere. No file makes this crate panic, and memory is bounded by the file's
//! length.
#![forbid(unsafe_code)]

mod analysis;
mod capture;
mod class;
mod compression;
mod connection;
mod copies;
pub mod csv;
mod direction;
mod evidence;
pub mod explain;
mod file;
#[cfg(test)]
mod file_tests;
mod filter;
mod fragments;
mod identity;
mod interface;
mod ip;
mod layers;
mod limiter;
mod old_pcap;
mod options;
mod packet;
pub mod page;
pub mod pair;
pub mod pcapng;
mod place;
mod qlog;
mod reading;
mod recorded;
mod series;
mod silence;
#[cfg(test)]
mod standing_tests;
mod table;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
pub mod tshark;
mod unread;
mod via;
pub mod xpl;

pub use analysis::{
    Analysis, Cause, Fact, Mark, Marks, Proof, Repeat, RoundTrips, Summary, Vantage, analyse,
};
pub use capture::{Capture, Counts};
pub use class::{Class, ClassKind};
pub use connection::{Connection, Flags, Offer, Sack, Segment, Standing};
pub use direction::Direction;
pub use evidence::{Evidence, Reason, Said};
pub use file::{Damage, ReadError};
pub use filter::{Filter, FilterError};
pub use limiter::Limiter;
pub use reading::{Moment, Reading};
pub use recorded::words;
pub use series::{Quantity, Recorded};
pub use silence::{Basis, Silence};
pub use table::read;
pub use unread::Unread;
pub use via::{Tag, Tunnel, Via};

//! What goes between a [`Tcb`](super::Tcb) and its owner.

use super::bypass::Bypass;
use crate::tcp::cause::Cause;
use crate::tcp::ecn::Ecn;
use crate::units::{Bytes, Offset};
use crate::wire::TcpHeader;
use std::ops::Range;

/// What became of an arriving segment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arrival {
    /// What it means for the connection.
    pub fate: Fate,
    /// Offsets of the new data, to be stored now; empty if none.
    pub store: Range<Offset>,
    /// Where in the payload the new data begins.
    pub skip: usize,
    /// Bytes newly acknowledged; they may be released.
    pub acked: Bytes,
    /// `rcv_nxt` has moved.
    pub advanced: bool,
    /// It shows that the peer hears somebody else in our name.
    pub bypass: Option<Bypass>,
}

/// What an arriving segment means for the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fate {
    /// It was taken.
    Consumed,
    /// It was not acceptable; an acknowledgment may be owed for it.
    #[default]
    Dropped,
    /// A valid RST: the peer has reset the connection.
    Reset,
}

/// Whether there is memory for a segment's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Take the data.
    Accept,
    /// Take the acknowledgment; treat the data as if the network had lost it.
    Refuse,
}

/// A segment to be sent. Ports are the owner's to fill in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The header.
    pub tcp: TcpHeader,
    /// Offsets of the payload.
    pub data: Range<Offset>,
    /// What the IP header is to say about ECN.
    pub ecn: Ecn,
    /// Why it is sent.
    pub cause: Cause,
}

impl Outgoing {
    /// A segment outside the streams.
    pub fn control(tcp: TcpHeader) -> Outgoing {
        let cause = Cause::of_control(&tcp);
        Outgoing { tcp, data: Offset::SYN..Offset::SYN, ecn: Ecn::NotCapable, cause }
    }
}

//! A segment as it comes in.

use crate::Side;
use bentpipe_core::tcp::buffer::Payload;
use bentpipe_core::wire::{IpHeader, TcpHeader};

/// A TCP segment, with where it came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment<'a> {
    /// The side on which it came in.
    pub(crate) from: Side,
    pub(crate) ip: &'a IpHeader,
    pub(crate) tcp: &'a TcpHeader,
    pub(crate) payload: Payload<'a>,
}
